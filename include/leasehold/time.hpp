// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ratio>
#include <utility>

namespace leasehold::inline v0_1_0 {

/// A point in time as the queue judges by it: whole milliseconds of the system's epoch, 64 bits.
using instant = std::chrono::sys_time<std::chrono::milliseconds>;

/// `a + b`, held at the ends of the range.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) noexcept {
    using limits = std::numeric_limits<std::int64_t>;
    const std::int64_t lowest = limits::min() - std::min<std::int64_t>(a, 0);
    const std::int64_t highest = limits::max() - std::max<std::int64_t>(a, 0);
    return a + std::clamp(b, lowest, highest);
}

/// `a - b`, held at the ends of the range.
constexpr std::int64_t saturating_subtract(std::int64_t a, std::int64_t b) noexcept {
    using limits = std::numeric_limits<std::int64_t>;
    const std::int64_t lowest = std::max<std::int64_t>(a, -1) - limits::max();
    const std::int64_t highest = std::min<std::int64_t>(a, -1) - limits::min();
    return a - std::clamp(b, lowest, highest);
}

/// `count * factor` for a factor above zero, held at the ends of the range.
template <std::integral Count>
constexpr std::int64_t saturating_multiply(Count count, std::int64_t factor) noexcept {
    using limits = std::numeric_limits<std::int64_t>;
    if (std::cmp_greater(count, limits::max() / factor)) {
        return limits::max();
    }
    if (std::cmp_less(count, limits::min() / factor)) {
        return limits::min();
    }
    return static_cast<std::int64_t>(count) * factor;
}

/// Whether a period is a whole number of milliseconds, so that nothing is rounded on the way in.
template <class Period>
concept whole_milliseconds = std::ratio_divide<Period, std::milli>::den == 1;

/// A length of time in milliseconds. Made implicitly from any integral `std::chrono` duration of milliseconds or
/// coarser; a finer or fractional one does not compile. What is too long for 64 bits is held at the end of the range:
/// `std::chrono::hours::max()` is long, never negative.
class millis {
public:
    constexpr millis() noexcept = default;

    /// The same length, held at the end of the range.
    template <std::integral Rep, whole_milliseconds Period>
        requires(sizeof(Rep) <= sizeof(std::int64_t))
    constexpr millis(std::chrono::duration<Rep, Period> length) noexcept  // NOLINT(google-explicit-constructor)
        : count_{saturating_multiply(length.count(), std::ratio_divide<Period, std::milli>::num)} {}

    /// Milliseconds.
    constexpr std::int64_t count() const noexcept { return count_; }
    /// For whatever takes the standard's lengths, such as `std::this_thread::sleep_for`.
    constexpr std::chrono::milliseconds to_chrono() const noexcept { return std::chrono::milliseconds{count_}; }

    /// The longest there is.
    static constexpr millis max() noexcept { return std::chrono::milliseconds::max(); }
    /// The most negative there is.
    static constexpr millis min() noexcept { return std::chrono::milliseconds::min(); }

    friend constexpr auto operator<=>(millis, millis) noexcept = default;

    std::int64_t count_ = 0;  ///< to be read by `count()`; public so that a length can be a template's argument
};

/// The longest length of time: as long as it takes.
inline constexpr millis longest = millis::max();

/// The tag of a clock policy's pace: see `pace_point`.
struct pace_axis {
    using duration = std::chrono::milliseconds;  ///< whole milliseconds
};

/// A point on a clock policy's pace, the axis that waits and holders' own reckoning run on: it never steps. Its epoch
/// means nothing outside the process that read it.
using pace_point = std::chrono::time_point<pace_axis, std::chrono::milliseconds>;

/// `point + length`, held at the ends of the range. For instants and for points on the pace.
template <class Axis>
constexpr auto saturating_add(std::chrono::time_point<Axis, std::chrono::milliseconds> point, millis length) noexcept {
    const std::int64_t count = saturating_add(std::int64_t{point.time_since_epoch().count()}, length.count());
    return std::chrono::time_point<Axis, std::chrono::milliseconds>{std::chrono::milliseconds{count}};
}

/// `point - length`, held at the ends of the range. For instants and for points on the pace.
template <class Axis>
constexpr auto saturating_subtract(std::chrono::time_point<Axis, std::chrono::milliseconds> point,
                                   millis length) noexcept {
    const std::int64_t count = saturating_subtract(std::int64_t{point.time_since_epoch().count()}, length.count());
    return std::chrono::time_point<Axis, std::chrono::milliseconds>{std::chrono::milliseconds{count}};
}

/// `later - earlier`, held at the ends of the range. For instants and for points on the pace.
template <class Axis>
constexpr millis saturating_subtract(std::chrono::time_point<Axis, std::chrono::milliseconds> later,
                                     std::chrono::time_point<Axis, std::chrono::milliseconds> earlier) noexcept {
    return std::chrono::milliseconds{
        saturating_subtract(std::int64_t{later.time_since_epoch().count()}, earlier.time_since_epoch().count())};
}

}  // namespace leasehold::inline v0_1_0
