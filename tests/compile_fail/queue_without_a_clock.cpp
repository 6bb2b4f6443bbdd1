// SPDX-License-Identifier: MIT
// error: Clock is not a clock: use wall_clock
#include <leasehold/leasehold.hpp>
#include <leasehold/memory_store.hpp>

const auto size = sizeof(leasehold::basic_lease_queue<int, leasehold::memory_store>);
