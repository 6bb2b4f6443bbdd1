// SPDX-License-Identifier: MIT
/// Time is saturating arithmetic on whole milliseconds: `millis`, `saturating_add`, `saturating_subtract`.
#include <leasehold/time.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>

#include "literals.hpp"

namespace {

using namespace literals;
using namespace std::chrono_literals;

// A length is made from whole milliseconds or coarser, and from nothing finer or fractional.
static_assert(std::convertible_to<std::chrono::milliseconds, millis>);
static_assert(std::convertible_to<std::chrono::seconds, millis>);
static_assert(std::convertible_to<std::chrono::years, millis>);
static_assert(std::convertible_to<std::chrono::duration<std::uint8_t, std::ratio<1>>, millis>);
static_assert(!std::convertible_to<std::chrono::microseconds, millis>);
static_assert(!std::convertible_to<std::chrono::duration<int, std::ratio<1, 3>>, millis>);
static_assert(!std::convertible_to<std::chrono::duration<double>, millis>);
static_assert(!std::convertible_to<int, millis>);

static_assert(millis{2s}.count() == 2000);
static_assert(millis{-3s}.count() == -3000);
static_assert(millis{}.count() == 0);
static_assert(millis{1s} == millis{1000ms} && millis{1s} < millis{1001ms});
static_assert(longest == millis::max());
static_assert(millis{2s}.to_chrono() == 2000ms);

// What is too long is held at the end of the range; one less is exact.
static_assert(millis{std::chrono::hours::max()} == millis::max());
static_assert(millis{std::chrono::hours::min()} == millis::min());
static_assert(millis{std::chrono::seconds{highest / 1000}}.count() == highest / 1000 * 1000);
static_assert(millis{std::chrono::seconds{highest / 1000 + 1}} == millis::max());
static_assert(millis{std::chrono::seconds{lowest / 1000}}.count() == lowest / 1000 * 1000);
static_assert(millis{std::chrono::seconds{lowest / 1000 - 1}} == millis::min());
static_assert(millis{std::chrono::milliseconds::max()}.count() == highest);
static_assert(millis{std::chrono::milliseconds::min()}.count() == lowest);
static_assert(millis{std::chrono::duration<std::uint64_t, std::milli>{~std::uint64_t{0}}} == millis::max());

// Sums and differences of counts.
static_assert(saturating_add(1, 2) == 3 && saturating_add(-1, -2) == -3 && saturating_add(5, -7) == -2);
static_assert(saturating_add(highest, 0) == highest && saturating_add(highest, 1) == highest);
static_assert(saturating_add(1, highest) == highest && saturating_add(highest - 1, 1) == highest);
static_assert(saturating_add(highest - 2, 1) == highest - 1 && saturating_add(highest, highest) == highest);
static_assert(saturating_add(lowest, 0) == lowest && saturating_add(lowest, -1) == lowest);
static_assert(saturating_add(-1, lowest) == lowest && saturating_add(lowest + 1, -1) == lowest);
static_assert(saturating_add(lowest + 2, -1) == lowest + 1 && saturating_add(lowest, lowest) == lowest);
static_assert(saturating_add(highest, lowest) == -1 && saturating_add(lowest, highest) == -1);
static_assert(saturating_add(0, highest) == highest && saturating_add(0, lowest) == lowest);

static_assert(saturating_subtract(3, 2) == 1 && saturating_subtract(-3, -2) == -1 && saturating_subtract(2, 3) == -1);
static_assert(saturating_subtract(highest, -1) == highest && saturating_subtract(highest - 1, -1) == highest);
static_assert(saturating_subtract(highest - 2, -1) == highest - 1 && saturating_subtract(0, lowest) == highest);
static_assert(saturating_subtract(-1, lowest) == highest && saturating_subtract(-2, lowest) == highest - 1);
static_assert(saturating_subtract(lowest, 1) == lowest && saturating_subtract(lowest + 1, 1) == lowest);
static_assert(saturating_subtract(lowest + 2, 1) == lowest + 1 && saturating_subtract(-2, highest) == lowest);
static_assert(saturating_subtract(-1, highest) == lowest && saturating_subtract(0, highest) == lowest + 1);
static_assert(saturating_subtract(highest, lowest) == highest && saturating_subtract(lowest, highest) == lowest);
static_assert(saturating_subtract(highest, highest) == 0 && saturating_subtract(lowest, lowest) == 0);
static_assert(saturating_subtract(1, -highest) == highest && saturating_subtract(0, -highest) == highest);

// The same for instants, and for points on the pace.
static_assert(saturating_add(at(1), ms(2)) == at(3) && saturating_add(at(highest - 1), ms(5)) == instant::max());
static_assert(saturating_add(at(lowest + 1), ms(-5)) == instant::min());
static_assert(saturating_subtract(at(3), at(1)) == ms(2) && saturating_subtract(instant::max(), at(-1)) == longest);
static_assert(saturating_subtract(at(3), ms(1)) == at(2) && saturating_subtract(at(3), longest) == at(3 - highest));
static_assert(saturating_subtract(at(-3), longest) == instant::min());
static_assert(saturating_add(pace_point{}, ms(2)) == pace_point{2ms});

}  // namespace
