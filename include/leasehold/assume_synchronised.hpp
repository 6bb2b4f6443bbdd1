// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include <leasehold/clock.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0 {

/// The machines' own clocks, for whoever answers for that no two of them are ever more than `Skew` apart. A lease that
/// lapsed is taken over only when that much more has passed: `[lease_until, lease_until + Skew)` is nobody's. Where two
/// clocks are further apart, a holder may be overtaken before its lease is over by its own clock; the queue refuses it
/// from then on, and what it does outside the queue meanwhile is done twice.
template <local_clock Clock, millis Skew>
class assume_synchronised : public Clock {
    static_assert(Clock::holds >= reach::machine,
                  "Clock shows one process's own time, which is no other's: assume_synchronised is for wall_clock");
    static_assert(Skew >= millis{}, "Skew is a length of time: zero or more");

public:
    static constexpr reach holds = reach::network;
    static constexpr millis skew = Skew;  ///< how far two machines' clocks are apart at most

    /// Of a default clock.
    assume_synchronised() = default;
    /// Shows what `clock` shows.
    explicit assume_synchronised(Clock clock) : Clock{std::move(clock)} {}
};

}  // namespace leasehold::inline v0_1_0
