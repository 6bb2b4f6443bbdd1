// SPDX-License-Identifier: MIT
/// What a queue does when its clock steps, and whose clock it is.
#include <string>
#include <thread>
#include <vector>

#include "support/places.hpp"

namespace {

using namespace places;

TEMPLATE_TEST_CASE("a clock that steps back an hour holds up nothing that asked for no delay", "[clock]", EVERY_STORE) {
    queue_in<TestType> q;
    q.clock.set(at(0) + 2h);
    q.queue.enqueue({.payload = "enqueued before"});
    q.queue.enqueue({.payload = "released before"});
    q.queue.enqueue({.payload = "leased"});
    q.queue.enqueue({.payload = "delayed", .delay = 10s});
    std::vector<lease> held = q.queue.claim_many("A", 30s, 3);
    q.clock.advance(1ms);
    CHECK(q.queue.release(held[0]));
    CHECK(q.queue.release(held[1]));

    q.clock.advance(-1h);
    q.queue.enqueue({.payload = "enqueued after"});
    CHECK(q.queue.find(job_id{5})->vests_at == at(1) + 2h);  // behind those that stood in line
    CHECK(q.taken("B").payload == "enqueued before");
    CHECK(q.taken("B").payload == "released before");
    CHECK(q.taken("B").payload == "enqueued after");
    CHECK_FALSE(q.queue.claim("B", 1s));

    // Delays and leases keep their instants; revoke is the way out of a lease.
    CHECK(q.queue.find(job_id{4})->vests_at == at(0) + 2h + 10s);
    CHECK(q.queue.find(job_id{3})->lease_until == at(0) + 2h + 30s);
    CHECK(q.queue.revoke(job_id{3}, {1}));
    CHECK(q.queue.find(job_id{3})->vests_at == at(1) + 1h);  // the line is empty: now
    CHECK(q.taken("B").payload == "leased");
    q.clock.set(at(0) + 2h + 10s);
    CHECK(q.taken("B").token == claim_token{3});  // the first that lapsed on the way
}

TEMPLATE_TEST_CASE("a store keeps to the axis of the clock that it was made with", "[clock]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x"});
    using other_queue = basic_lease_queue<wall_clock, typename TestType::store_type>;
    CHECK_THROWS_AS(other_queue{q.store()}, store_unsupported);
    CHECK_THROWS_WITH(other_queue{q.store()}, contains("manual clock") && contains("wall clock"));
    CHECK(q.taken().payload == "x");
}

TEMPLATE_TEST_CASE("a marker of another store, or of the one before a backup was restored, is foreign", "[clock]",
                   EVERY_STORE) {
    queue_in<TestType> here;
    queue_in<TestType> there;
    here.queue.enqueue({.payload = "x"});
    there.queue.enqueue({.payload = "x"});
    const lease held = here.taken();
    const lease other = there.taken();
    CHECK(held.id == other.id);
    CHECK(held.token == other.token);
    CHECK(here.queue.finish(other).why == verdict::foreign);

    const store_id fresh = here.queue.new_store_id();
    CHECK(fresh != held.store);
    CHECK(here.queue.finish(held).why == verdict::foreign);
    CHECK(here.queue.find(held.id)->store == fresh);
    here.clock.set(at(1000));
    const lease again = here.taken();
    CHECK(again.store == fresh);
    CHECK(here.queue.finish(again));
}

TEMPLATE_TEST_CASE("the clock is read after the lock is held: a lease is measured from there", "[clock]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x"});
    q.queue.enqueue({.payload = "y"});
    const lease held = q.taken("A", 1000ms);

    auto other = q.store();
    std::optional<lease> late;
    std::optional<settlement> finish;
    std::thread claims;
    std::thread finishes;
    {
        auto lock = other.begin(q.clock);
        (void)lock.now();
        claims = std::thread{[&] { late = q.queue.claim("B", 500ms); }};
        finishes = std::thread{[&] { finish = q.queue.finish(held); }};
        std::this_thread::sleep_for(100ms);  // both are waiting for the lock by now, and would have read the clock
        q.clock.set(at(5000));
    }
    claims.join();
    finishes.join();
    REQUIRE(late);
    CHECK(late->granted == at(5000));
    CHECK(late->lease_until == at(5500));
    REQUIRE(finish);
    CHECK(finish->at == at(5000));
    CHECK((finish->why == verdict::expired || finish->why == verdict::superseded));
}

}  // namespace
