// SPDX-License-Identifier: MIT
/// What a queue does when its clock steps, and whose clock it is.
#include <array>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

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

/// A manual clock that looks, whenever it is read, whether somebody else could have the file's write lock.
struct suspicious_clock {
    static constexpr clock_axis axis = clock_axis::manual;
    static constexpr reach holds = reach::network;
    manual_clock time{};
    const std::string* path = nullptr;
    int* readings = nullptr;
    int* too_early = nullptr;

    instant now() const {
        if (path != nullptr) {
            ++*readings;
            SQLite::Database other{*path, SQLite::OPEN_READWRITE};
            *too_early += other.tryExec("BEGIN IMMEDIATE") == SQLITE_OK ? 1 : 0;
        }
        return time.now();
    }
    pace_point pace() const { return time.pace(); }
};

TEMPLATE_TEST_CASE("the clock is read once for every verb that writes, and only while the write lock is held",
                   "[clock]", places::rollback_file, places::wal_file) {
    TestType place;
    const std::string path = place.path();
    int readings = 0;
    int too_early = 0;
    suspicious_clock clock;
    basic_lease_queue<suspicious_clock, sqlite_store> queue{
        place.store(), {.time = clock.time, .path = &path, .readings = &readings, .too_early = &too_early}};
    const auto once = [&](const char* verb, const auto& call) {
        readings = 0;
        (void)call();
        INFO(verb);
        CHECK(readings == 1);
        CHECK(too_early == 0);
    };
    lease held;
    once("enqueue", [&] { return queue.enqueue({.payload = "x", .max_attempts = 100}); });
    once("enqueue_many", [&] { return queue.enqueue_many(std::vector<job>(5, {.payload = "x"})); });
    const auto claim = [&] { return once("claim", [&] { return (held = std::move(*queue.claim("A", 1h))), 0; }); };
    claim();
    once("renew", [&] { return queue.renew(held, 2h); });
    once("refresh", [&] { return queue.refresh(held); });
    once("checkpoint", [&] { return queue.checkpoint(held, "c"); });
    once("leave_receipt", [&] { return queue.leave_receipt(held, "n"); });
    once("fail", [&] { return queue.fail(held, "e"); });
    claim();
    once("release", [&] { return queue.release(held); });
    claim();
    once("revoke", [&] { return queue.revoke(held.id, held.token); });
    claim();
    once("quarantine", [&] { return queue.quarantine(held, "q"); });
    once("requeue", [&] { return queue.requeue(held.id, held.token); });
    once("cancel", [&] { return queue.cancel(held.id); });
    claim();
    once("finish_and_claim", [&] {
        return (held = std::move(*queue.finish_and_claim(held, "", {.owner = "A", .lease_for = 1h}).next)), 0;
    });
    once("finish", [&] { return queue.finish(held, "r"); });
    once("finish, refused", [&] { return queue.finish(held, "r"); });
    std::vector<lease> many;
    once("claim_many", [&] { return (many = queue.claim_many("A", 1h, 2)).size(); });
    once("renew_many", [&] { return queue.renew_many(std::array{&many[0], &many[1]}, 2h); });
    once("release_many", [&] { return queue.release_many(std::array<marker, 1>{many[0]}); });
    once("finish_many", [&] { return queue.finish_many(many); });
    once("prune", [&] { return queue.prune({}); });
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
