// SPDX-License-Identifier: MIT
// error: Clock is not readable in this Store: .* server_clock with a server alone
#include <leasehold/postgres/server_clock.hpp>
#include <leasehold/sqlite.hpp>

const auto size = sizeof(leasehold::basic_lease_queue<leasehold::server_clock, leasehold::sqlite_store>);
