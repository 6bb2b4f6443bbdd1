// SPDX-License-Identifier: MIT
// Two units that include everything, and link.
#include "everything.hpp"

int unit_two() {
    leasehold::basic_lease_queue queue{leasehold::memory_store{}, leasehold::manual_clock{}};
    return queue.claim("two", std::chrono::hours{1}) ? 1 : 0;
}
