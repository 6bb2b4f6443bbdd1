// SPDX-License-Identifier: MIT
/// Leases at the ends of the range of instants: no sum wraps, and no lease is cut short or outlives its end.
#include <optional>
#include <vector>

#include <leasehold/leasehold.hpp>

#include "time/places.hpp"

namespace {

using namespace places;

constexpr instant earliest = instant::min() + 1ms;  ///< the earliest that can be judged by
constexpr instant latest = instant::max() - 1ms;    ///< the latest
constexpr millis forever = std::chrono::hours::max();

TEMPLATE_TEST_CASE("a lease at the earliest instants ends where it should", "[time][range]", TIMED_STORES) {
    queue_in<TestType> q;
    q.clock.set(earliest);
    q.queue.enqueue({.payload = "x"});
    const lease held = q.taken("A", 2ms);
    CHECK(held.granted == earliest);
    CHECK(held.lease_until == earliest + 2ms);
    CHECK(q.queue.time_left(held) == millis{2ms});
    q.clock.set(earliest + 1ms);
    CHECK(q.queue.checkpoint(held, "c"));
    CHECK_FALSE(q.queue.claim("B", 1ms));
    q.clock.set(earliest + 2ms);
    CHECK(q.queue.finish(held).why == verdict::expired);
    const lease next = q.taken("B", 1ms);
    CHECK(next.token == claim_token{2});
    CHECK(q.queue.finish(next));
}

TEMPLATE_TEST_CASE("a lease from before the epoch to after it ends where it should", "[time][range]", TIMED_STORES) {
    queue_in<TestType> q;
    q.clock.set(at(-500));
    q.queue.enqueue({.payload = "x"});
    const lease held = q.taken("A", 1000ms);
    CHECK(held.lease_until == at(500));
    for (const instant now : {at(-1), at(0), at(499)}) {
        q.clock.set(now);
        CHECK(q.queue.checkpoint(held, "c"));
        CHECK_FALSE(q.queue.claim("B", 1ms));
    }
    q.clock.set(at(500));
    CHECK(q.queue.finish(held).why == verdict::expired);
    CHECK(q.taken("B").token == claim_token{2});
}

TEMPLATE_TEST_CASE("a lease that is longer than the range ends with it, and never while a clock can be read",
                   "[time][range]", TIMED_STORES) {
    for (const instant start : {earliest, at(0), latest}) {
        queue_in<TestType> q;
        INFO("from " << to_text(start));
        q.clock.set(start);
        q.queue.enqueue({.payload = "x"});
        lease held = q.taken("A", forever);
        // From the earliest instant even the longest length does not reach the end of the range.
        const instant end = saturating_add(start, longest);
        CHECK(held.lease_until == end);
        CHECK(q.queue.time_left(held) == saturating_subtract(end, start));
        CHECK(q.queue.renew(held, forever));
        CHECK(held.lease_until == end);
        q.clock.set(std::min(latest, end - 1ms));
        CHECK(q.queue.checkpoint(held, "c"));
        CHECK_FALSE(q.queue.claim("B", 1ms));
        CHECK(q.queue.renew(held, forever));
        CHECK(held.lease_until == saturating_add(q.clock.now(), longest));
        // Nobody waits for that: it is revoked.
        CHECK(q.queue.revoke(held.id, held.token));
        CHECK(q.queue.finish(held).why == verdict::not_leased);
        CHECK(q.taken("B", 1ms).token == claim_token{2});
    }
}

TEMPLATE_TEST_CASE("the last millisecond of the range is a lease like another", "[time][range]", TIMED_STORES) {
    queue_in<TestType> q;
    q.clock.set(latest - 1ms);
    q.queue.enqueue({.key = "1"});
    q.queue.enqueue({.key = "2"});
    const lease short_one = q.taken("A", 1ms);
    const lease at_the_end = q.taken("A", 2ms);
    CHECK(at_the_end.lease_until == instant::max());
    q.clock.set(latest);
    CHECK(q.queue.finish(short_one).why == verdict::expired);
    CHECK(q.queue.finish(at_the_end));
    CHECK(q.taken("B", 1ms).key == "1");
    q.clock.set(instant::max());  // no reading: nothing is judged by it
    CHECK_THROWS_AS(q.queue.claim("C", 1ms), store_unsupported);
    CHECK_THROWS_AS(q.queue.finish(at_the_end), store_unsupported);
    q.clock.set(latest);
    CHECK_FALSE(q.queue.claim("C", 1ms));
}

TEMPLATE_TEST_CASE("delays, retries and deadlines are held at the end of the range", "[time][range]", TIMED_STORES) {
    queue_in<TestType> q;
    q.clock.set(latest);
    const job_id delayed = q.queue.enqueue({.delay = forever}).id;
    const job_id retried = q.queue.enqueue({.payload = "x", .expires_in = forever}).id;
    CHECK(q.queue.fail(q.taken(), "e", forever));
    for (const job_id id : {delayed, retried}) {
        CHECK(q.queue.find(id)->vests_at == instant::max());
    }
    CHECK(q.queue.find(retried)->deadline == instant::max());
    CHECK_FALSE(q.queue.claim("B", forever));
    CHECK_THROWS_AS(q.queue.enqueue({.deadline = latest}), std::invalid_argument);
    // Nobody waits for that either: cancelled and requeued, they are there at once.
    for (const auto& [id, token] : {std::pair{delayed, claim_token{0}}, std::pair{retried, claim_token{1}}}) {
        CHECK(q.queue.cancel(id));
        CHECK(q.queue.requeue(id, token));
    }
    CHECK(q.queue.claim_many("B", forever, 3).size() == 2);
}

TEMPLATE_TEST_CASE("a clock that runs from one end of the range to the other ends every lease on its way",
                   "[time][range]", TIMED_STORES) {
    queue_in<TestType> q;
    q.clock.set(earliest);
    q.queue.enqueue({.payload = "x", .max_attempts = 100});
    std::vector<lease> rounds;
    for (const instant now : {earliest, at(-1), at(0), at(1), latest}) {
        q.clock.set(now);
        for (const lease& before : rounds) {
            CHECK(q.queue.finish(before).why != verdict::applied);
        }
        rounds.push_back(q.taken("A", 1ms));
        CHECK(rounds.back().token.value == static_cast<std::int64_t>(rounds.size()));
    }
    // And back: a lease that ends at the end of the range is held until somebody revokes it.
    q.clock.set(earliest);
    CHECK_FALSE(q.queue.claim("B", 1ms));
    CHECK(q.queue.time_left(rounds.back()) > millis{});
    CHECK(q.queue.revoke(rounds.back().id, rounds.back().token));
    CHECK(q.taken("B").token.value == 6);
    CHECK(q.queue.finish(rounds.back()).why == verdict::superseded);
}

}  // namespace
