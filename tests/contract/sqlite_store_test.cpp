// SPDX-License-Identifier: MIT
/// What every store must do, of the store in a file, with either journal.
#include "support/contract.hpp"
#include "support/places.hpp"

namespace {

[[maybe_unused]] const bool files_are_held = places::hold_to_the_contract<places::rollback_file>("rollback file") &&
                                             places::hold_to_the_contract<places::wal_file>("wal file");

}  // namespace
