// SPDX-License-Identifier: MIT
// error: Skew is a length of time: zero or more
#include <leasehold/assume_synchronised.hpp>

const auto size = sizeof(leasehold::assume_synchronised<leasehold::wall_clock, leasehold::millis::min()>);
