// SPDX-License-Identifier: MIT
#pragma once

/// The queue over a PostgreSQL database. Needs libpq 14 or newer, and a server of version 12 or newer.
#include <leasehold/leasehold.hpp>
#include <leasehold/postgres/options.hpp>
#include <leasehold/postgres/server_clock.hpp>
#include <leasehold/postgres/store.hpp>

namespace leasehold::inline v0_1_0 {

/// The queue that most need: on a server, by the server's own clock.
using postgres_lease_queue = basic_lease_queue<server_clock, postgres_store>;

}  // namespace leasehold::inline v0_1_0
