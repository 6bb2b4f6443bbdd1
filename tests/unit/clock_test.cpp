// SPDX-License-Identifier: MIT
/// Clocks: one reading, floored once, and a pace that is never later than the truth.
#include <chrono>
#include <limits>

#include <leasehold/leasehold.hpp>
#include <leasehold/memory_store.hpp>

#include "support/catch.hpp"

namespace {

using namespace leasehold;
using namespace std::chrono_literals;

/// A clock of nanoseconds that shows what it is told.
struct fine_clock {
    static constexpr clock_axis axis = clock_axis::manual;
    static constexpr reach holds = reach::network;
    std::chrono::sys_time<std::chrono::nanoseconds> wall{};
    std::chrono::time_point<pace_axis, std::chrono::nanoseconds> beat{};
    int* readings = nullptr;

    auto now() const {
        if (readings != nullptr) {
            ++*readings;
        }
        return wall;
    }
    auto pace() const { return beat; }
};
static_assert(local_clock<fine_clock>);

TEST_CASE("a finer clock is floored once, before the epoch too, and the pace never promises more", "[clock]") {
    using wall = std::chrono::sys_time<std::chrono::nanoseconds>;
    using beat = std::chrono::time_point<pace_axis, std::chrono::nanoseconds>;
    const auto read = [](std::chrono::nanoseconds now, std::chrono::nanoseconds pace) {
        return take_reading(fine_clock{wall{now}, beat{pace}});
    };
    CHECK(read(1'999'999ns, 0ns).at == instant{1ms});
    CHECK(read(-1ns, 0ns).at == instant{-1ms});
    for (const auto now : {1'000'000ns, 1'000'001ns, 1'999'999ns, -1ns, -999'999ns}) {
        for (const auto pace : {5'000'000ns, 5'000'001ns, 5'999'999ns}) {
            const reading got = read(now, pace);
            // A lease of 10 ms ends when the clock shows at + 10 ms; on the pace that is this point:
            const beat truth = beat{pace} + (wall{got.at} + 10ms - wall{now});
            CHECK(rules::local_end(got.pace, got.at, got.at + 10ms) <= truth);
            CHECK(truth - rules::local_end(got.pace, got.at, got.at + 10ms) < 1ms);
        }
    }
}

TEST_CASE("a transaction reads its clock once, and not before it is asked", "[clock]") {
    int readings = 0;
    memory_store store;
    basic_lease_queue queue{store, fine_clock{.readings = &readings}};
    queue.enqueue({.payload = "a"});
    CHECK(readings == 1);
    CHECK(queue.claim_many("A", 1h, 10).size() == 1);
    CHECK(readings == 2);
    queue.list();
    CHECK(readings == 2);
}

TEST_CASE("a manual clock stands still, steps both ways, saturates, and is shared by its copies", "[clock]") {
    manual_clock clock;
    const manual_clock copy = clock;
    CHECK(clock.now() == instant{});
    clock.advance(5ms);
    CHECK(copy.now() == instant{5ms});
    CHECK(copy.pace() == pace_point{5ms});
    clock.advance(-7ms);
    CHECK(copy.now() == instant{-2ms});
    clock.set(instant::max() - 1ms);
    clock.advance(longest);
    CHECK(copy.now() == instant::max());
    CHECK(manual_clock{instant{3ms}}.now() == instant{3ms});
}

TEST_CASE("the system's clocks move, and what is left of a lease shrinks on the pace", "[clock]") {
    memory_store store;
    basic_lease_queue<wall_clock, memory_store> queue{store};
    queue.enqueue({.payload = "a"});
    const auto held = queue.claim("A", 1h);
    CHECK(held->granted <= queue.now());
    CHECK(queue.time_left(*held) <= millis{1h});
    CHECK(queue.time_left(*held) > millis{59min});
    CHECK(rules::time_left(held->local_until, held->local_until + 1ms) == millis{});
}

TEST_CASE("a process clock and a store of one process fit", "[clock]") {
    basic_lease_queue<process_clock, memory_store> queue{memory_store{}};
    queue.enqueue({.payload = "a"});
    const auto held = queue.claim("A", 1h);
    REQUIRE(held);
    CHECK(queue.finish(*held));
}

TEST_CASE("a manual clock tells of every step, to who still listens", "[clock]") {
    manual_clock clock;
    const manual_clock same = clock;
    int steps = 0;
    const auto count = [&steps] { ++steps; };
    {
        const manual_clock::step_listener first{clock, count};
        const manual_clock::step_listener second{same, count};
        clock.set(instant{5ms});
        CHECK(steps == 2);
    }
    const manual_clock::step_listener third{same, count};
    clock.advance(-10ms);
    CHECK(steps == 3);
    CHECK(same.now() == instant{-5ms});
}

}  // namespace
