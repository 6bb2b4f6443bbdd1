// SPDX-License-Identifier: MIT
// error: Clock is not readable in this Store: .* process_clock or wall_clock in memory
#include <leasehold/leasehold.hpp>
#include <leasehold/memory_store.hpp>

/// Read inside the transactions of a store that is not this one.
struct distant_clock {
    static constexpr auto axis = leasehold::clock_axis::server;
    static constexpr auto holds = leasehold::reach::network;
    leasehold::pace_point pace() const { return {}; }
};

const auto size = sizeof(leasehold::basic_lease_queue<distant_clock, leasehold::memory_store>);
