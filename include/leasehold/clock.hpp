// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <concepts>
#include <ctime>
#include <optional>

#include <leasehold/errors.hpp>
#include <leasehold/rules.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0 {

namespace detail {

template <class T>
concept pace_reading = requires(T point) {
    std::chrono::floor<std::chrono::milliseconds>(point) - pace_point{};
};

template <class T>
concept wall_reading = requires(T point) {
    std::chrono::floor<std::chrono::milliseconds>(point) - instant{};
};

}  // namespace detail

/// A clock says which axis its instants are on, how far its answer holds, and keeps a pace that never steps.
template <class Clock>
concept clock_policy = std::copyable<Clock> && requires(const Clock& clock) {
    { Clock::axis } -> std::convertible_to<clock_axis>;
    { Clock::holds } -> std::convertible_to<reach>;
    { clock.pace() } -> detail::pace_reading;
};

/// A clock that is read where the call runs; another kind is read in its store.
template <class Clock>
concept local_clock = clock_policy<Clock> && requires(const Clock& clock) {
    { clock.now() } -> detail::wall_reading;
};

/// A point on the clock's pace, floored: for waits.
template <clock_policy Clock>
pace_point pace_of(const Clock& clock) {
    return std::chrono::floor<std::chrono::milliseconds>(clock.pace());
}

/// What a transaction knows of time: one instant, by which all its verbs judge.
struct reading {
    instant at{};         ///< settles, grants, and takes rows that are ready
    instant taking_at{};  ///< takes leases that lapsed: `at`, less the skew of a clock that has one
    pace_point pace{};    ///< so that `pace + (t - at)` is never after the moment at which the clock shows t
};

/// A clock that runs on its own pace: one reading is enough for both.
template <class Clock>
concept paced_clock = local_clock<Clock> && requires(const Clock& clock) {
    { clock.at(clock.pace()) } -> detail::wall_reading;
};

/// How far two of its kind may be apart without harm: for a clock that is only assumed to be synchronised.
template <class Clock>
constexpr millis skew_of() noexcept {
    if constexpr (requires { Clock::skew; }) {
        return Clock::skew;
    } else {
        return {};
    }
}

/// Reads the clock once. Throws `store_unsupported` where it shows an end of the range.
template <local_clock Clock>
reading take_reading(const Clock& clock) {
    const auto pace = clock.pace();
    const auto now = [&] {
        if constexpr (paced_clock<Clock>) {
            return clock.at(pace);
        } else {
            return clock.now();
        }
    }();
    const instant at = std::chrono::floor<std::chrono::milliseconds>(now);
    if (!rules::is_readable(at)) {
        throw store_unsupported{"the clock shows " + to_text(at) + ", an end of the range of instants"};
    }
    // What is floored off the clock comes off the pace as well, or the holder would think the lease that much longer.
    return {at, saturating_subtract(at, skew_of<Clock>()),
            std::chrono::floor<std::chrono::milliseconds>(pace - (now - at))};
}

/// A transaction's reading of its clock, whatever the clock's type: taken when first asked for, and only once.
class single_reading {
public:
    /// Of a clock that outlives it.
    template <local_clock Clock>
    static single_reading of(const Clock& clock) noexcept {
        return {&clock, [](const void* source) { return take_reading(*static_cast<const Clock*>(source)); }};
    }

    /// Takes it when first asked; the same one after that. Throws `store_unsupported` as `take_reading` does.
    const reading& get() {
        if (!taken_) {
            taken_ = take_(clock_);
        }
        return *taken_;
    }

private:
    single_reading(const void* clock, reading (*take)(const void*)) noexcept : clock_{clock}, take_{take} {}

    const void* clock_;
    reading (*take_)(const void*);
    std::optional<reading> taken_{};
};

namespace detail {

/// The machine's own pace, which counts time asleep where the system can tell.
inline std::chrono::time_point<pace_axis, std::chrono::nanoseconds> machine_pace() noexcept {
    using point = std::chrono::time_point<pace_axis, std::chrono::nanoseconds>;
#ifdef CLOCK_BOOTTIME
    std::timespec now{};
    if (clock_gettime(CLOCK_BOOTTIME, &now) == 0) {
        return point{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
    }
#endif
    return point{std::chrono::steady_clock::now().time_since_epoch()};
}

}  // namespace detail

/// The system's clock. Holds on one machine; whoever steps it moves the ends of running leases.
struct wall_clock {
    static constexpr clock_axis axis = clock_axis::wall;
    static constexpr reach holds = reach::machine;
    std::chrono::system_clock::time_point now() const noexcept { return std::chrono::system_clock::now(); }
    auto pace() const noexcept { return detail::machine_pace(); }
};

/// The steady clock of one process, for a store that lives no longer: the machine's pace.
struct process_clock {
    static constexpr clock_axis axis = clock_axis::process;
    static constexpr reach holds = reach::process;
    /// A point of its pace, finer than a millisecond.
    using paced = std::chrono::time_point<pace_axis, std::chrono::nanoseconds>;
    paced pace() const noexcept { return detail::machine_pace(); }
    /// What it shows at a point of its pace.
    std::chrono::sys_time<std::chrono::nanoseconds> at(paced point) const noexcept {
        return std::chrono::sys_time<std::chrono::nanoseconds>{point.time_since_epoch()};
    }
    std::chrono::sys_time<std::chrono::nanoseconds> now() const noexcept { return at(pace()); }
};

static_assert(local_clock<wall_clock> && local_clock<process_clock>);

}  // namespace leasehold::inline v0_1_0
