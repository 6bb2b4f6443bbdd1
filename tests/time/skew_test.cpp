// SPDX-License-Identifier: MIT
/// Two machines' clocks that are apart by less than was assumed, and by more.
#include <algorithm>
#include <future>
#include <optional>

#include <leasehold/assume_synchronised.hpp>

#include "time/places.hpp"

namespace {

using namespace places;

constexpr millis skew = 50ms;
using assumed = assume_synchronised<manual_clock, skew>;
static_assert(assumed::holds == reach::network && assumed::axis == clock_axis::manual);
static_assert(clock_for<assume_synchronised<wall_clock, skew>, typename places::memory::store_type>);

/// One store, and two who use it, each by its own machine's clock.
template <class Place>
struct two_machines : Place {
    using queue_type = basic_lease_queue<assumed, typename Place::store_type>;
    manual_clock clock_of_a{};
    manual_clock clock_of_b{};
    queue_type a{Place::store(), assumed{clock_of_a}};
    queue_type b{Place::store(), assumed{clock_of_b}};

    /// In truth it is `now`; B's clock is ahead of A's.
    void set(instant now, millis b_is_ahead) {
        clock_of_a.set(now);
        clock_of_b.set(saturating_add(now, b_is_ahead));
    }
};

constexpr instant start = at(1'000'000);

TEMPLATE_TEST_CASE("between a lease's end and the skew after it the job is nobody's", "[time][skew]", TIMED_STORES) {
    two_machines<TestType> m;
    m.set(start, 0ms);
    m.a.enqueue({.payload = "x"});
    const auto held = m.a.claim("A", 100ms);
    REQUIRE(held);
    m.set(start + 99ms, 0ms);
    CHECK(m.a.checkpoint(*held, "c"));
    for (const instant now : {start + 100ms, start + 149ms}) {
        m.set(now, 0ms);
        CHECK(m.a.finish(*held).why == verdict::expired);
        CHECK_FALSE(m.a.claim("A", 100ms));
        CHECK_FALSE(m.b.claim("B", 100ms));
    }
    m.set(start + 150ms, 0ms);
    CHECK(m.b.claim("B", 100ms)->token == claim_token{2});
}

TEMPLATE_TEST_CASE("clocks apart by no more than the skew never give a job away that its holder may still finish",
                   "[time][skew]", TIMED_STORES) {
    for (const millis ahead : {millis{-60ms}, millis{-50ms}, millis{-1ms}, millis{0ms}, millis{49ms}, millis{50ms}}) {
        INFO("B's clock is " << ahead.count() << " ms ahead");
        two_machines<TestType> m;
        m.set(start, ahead);
        m.a.enqueue({.payload = "x"});
        const auto held = m.a.claim("A", 100ms);
        const instant taken_at = start + 150ms - ahead.to_chrono();
        for (instant now = start + 90ms; now < taken_at; now += 1ms) {
            m.set(now, ahead);
            REQUIRE(static_cast<bool>(m.a.checkpoint(*held, "c")) == (now < held->lease_until));
            REQUIRE_FALSE(m.b.claim("B", 100ms));
        }
        m.set(taken_at, ahead);
        CHECK_FALSE(m.a.checkpoint(*held, "c"));
        CHECK(m.b.claim("B", 100ms));
    }
}

TEMPLATE_TEST_CASE("clocks apart by more than the skew overtake a holder, whose finish is refused then", "[time][skew]",
                   TIMED_STORES) {
    two_machines<TestType> m;
    constexpr millis ahead = 51ms;
    m.set(start, ahead);
    m.a.enqueue({.payload = "x"});
    const auto held = m.a.claim("A", 100ms);
    m.set(start + 99ms, ahead);
    CHECK(m.a.checkpoint(*held, "c"));  // still A's, and at the same moment
    const auto next = m.b.claim("B", 100ms);
    REQUIRE(next);
    CHECK(m.a.finish(*held).why == verdict::superseded);  // the job is finished once all the same
    CHECK(m.b.finish(*next));
}

TEMPLATE_TEST_CASE("the skew holds up no job that nobody holds", "[time][skew]", TIMED_STORES) {
    two_machines<TestType> m;
    m.set(start, 0ms);
    m.a.enqueue({.payload = "delayed", .delay = 10ms});
    m.set(start + 10ms, 0ms);
    CHECK(m.b.claim("B", 100ms));
}

TEMPLATE_TEST_CASE("who waits for another's lease has the job when the skew is over", "[time][skew]", TIMED_STORES) {
    two_machines<TestType> m;
    m.a.enqueue({.payload = "x"});
    REQUIRE(m.a.claim("A", 100ms));
    auto waits = std::async(std::launch::async,
                            [&] { return m.b.wait_claim({}, {.owner = "B", .lease_for = 100ms, .wait = longest}); });
    m.set(at(100), 0ms);
    CHECK(waits.wait_for(60ms) == std::future_status::timeout);
    m.set(at(149), 0ms);
    CHECK(waits.wait_for(60ms) == std::future_status::timeout);
    m.set(at(150), 0ms);
    CHECK(waits.get()->granted == at(150));
}

TEMPLATE_TEST_CASE("and has it then, not with the next look that is due anyway", "[time][skew]", TIMED_STORES) {
    const TestType place;
    basic_lease_queue<assume_synchronised<wall_clock, skew>, typename TestType::store_type> queue{place.store()};
    millis soonest = longest;  // of a few, since the machine may have other work
    for (int tries = 0; tries < 5 && soonest >= millis{300ms}; ++tries) {
        queue.enqueue({.payload = "x"});
        const auto held = queue.claim("A", 20ms);
        REQUIRE(held);
        const auto next = queue.wait_claim({}, {.owner = "B", .lease_for = 1h, .wait = 60s});
        REQUIRE(next);
        CHECK(next->granted >= held->lease_until + skew.to_chrono());
        soonest = std::min(soonest, saturating_subtract(next->granted, held->lease_until));
        CHECK(queue.finish(*next));
    }
    CHECK(soonest < millis{300ms});
}

}  // namespace
