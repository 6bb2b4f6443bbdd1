// SPDX-License-Identifier: MIT
#pragma once

/// The queue over a SQLite file. Needs SQLiteCpp and SQLite 3.37 or newer.
#include <leasehold/leasehold.hpp>
#include <leasehold/sqlite/options.hpp>
#include <leasehold/sqlite/store.hpp>

namespace leasehold::inline v0_1_0 {

/// The queue that most need: in a file, by the machine's wall clock.
using lease_queue = basic_lease_queue<wall_clock, sqlite_store>;

}  // namespace leasehold::inline v0_1_0
