// SPDX-License-Identifier: MIT
// error: Codec is not a codec of T
#include <string>

#include <leasehold/leasehold.hpp>
#include <leasehold/memory_store.hpp>
#include <leasehold/typed_queue.hpp>

using queue = leasehold::basic_lease_queue<leasehold::process_clock, leasehold::memory_store>;
const auto size = sizeof(leasehold::typed_queue<std::string, queue, int>);
