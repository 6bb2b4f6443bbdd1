// SPDX-License-Identifier: MIT
// error: Clock shows one process's own time
#include <leasehold/assume_synchronised.hpp>

const auto size = sizeof(leasehold::assume_synchronised<leasehold::process_clock, leasehold::millis{}>);
