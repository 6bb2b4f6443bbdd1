// SPDX-License-Identifier: MIT
// error: no viable conversion|conversion from
#include <leasehold/time.hpp>

const leasehold::millis refused = std::chrono::duration<double>{1};
