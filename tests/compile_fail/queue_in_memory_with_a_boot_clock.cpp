// SPDX-License-Identifier: MIT
// error: Clock is not readable in this Store: use boot_clock with a file alone
#include <leasehold/memory_store.hpp>
#include <leasehold/sqlite/boot_clock.hpp>

const auto size = sizeof(leasehold::basic_lease_queue<leasehold::boot_clock, leasehold::memory_store>);
