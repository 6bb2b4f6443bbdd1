// SPDX-License-Identifier: MIT
// error: Clock holds less far than Store reaches: use wall_clock or boot_clock with a file
#include <leasehold/sqlite.hpp>

const auto size = sizeof(leasehold::basic_lease_queue<leasehold::process_clock, leasehold::sqlite_store>);
