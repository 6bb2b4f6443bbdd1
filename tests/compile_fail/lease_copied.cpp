// SPDX-License-Identifier: MIT
// error: deleted
#include <leasehold/leasehold.hpp>

leasehold::lease held;
leasehold::lease copied = held;
