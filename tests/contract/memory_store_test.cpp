// SPDX-License-Identifier: MIT
/// What every store must do, of the store in memory.
#include "support/contract.hpp"
#include "support/places.hpp"

namespace {

[[maybe_unused]] const bool memory_is_held = places::hold_to_the_contract<places::memory>("memory");

}  // namespace
