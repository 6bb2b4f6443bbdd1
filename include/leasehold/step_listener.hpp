// SPDX-License-Identifier: MIT
#pragma once

namespace leasehold::inline v0_1_0::detail {

/// For a clock that nobody sets.
struct no_step_listener {
    template <class Clock, class Told>
    no_step_listener(const Clock&, const Told&) noexcept {}
};

template <class Clock>
struct step_listener_of {
    using type = no_step_listener;
};
template <class Clock>
    requires requires { typename Clock::step_listener; }
struct step_listener_of<Clock> {
    using type = typename Clock::step_listener;
};

/// Hears of it when somebody sets the clock, where that can be.
template <class Clock>
using step_listener = typename step_listener_of<Clock>::type;

}  // namespace leasehold::inline v0_1_0::detail
