// SPDX-License-Identifier: MIT
// error: nodiscard
#include <leasehold/leasehold.hpp>
#include <leasehold/memory_store.hpp>

void refused(leasehold::basic_lease_queue<leasehold::manual_clock, leasehold::memory_store>& queue,
             const leasehold::marker& round) {
    queue.finish(round);
}
