// SPDX-License-Identifier: MIT
#pragma once

#include <leasehold/clock.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0 {

/// The server's own clock, read in the transaction after its last lock, in the request that takes the lock. It holds
/// for whoever reaches the server, whatever the clocks of their machines show. Steps of the server's clock are steps.
struct server_clock {
    static constexpr clock_axis axis = clock_axis::server;
    static constexpr reach holds = reach::network;
    /// Of the machine that asks: for waits and the holder's own reckoning.
    auto pace() const noexcept { return detail::machine_pace(); }
};

static_assert(clock_policy<server_clock> && !local_clock<server_clock>);

}  // namespace leasehold::inline v0_1_0
