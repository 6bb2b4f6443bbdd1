// SPDX-License-Identifier: MIT
/// How often a verb goes to the server and back, and what it locks there.
#include <cstdlib>
#include <future>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <dlfcn.h>

#include "postgres/place.hpp"

namespace {

thread_local int round_trips = 0;

template <class Function>
Function libpqs(const char* name) {
    return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));  // NOLINT: what dlsym is for
}

}  // namespace

// Each way to the server and back, counted: the store has this one, and a test's own SQL the other.
extern "C" int PQpipelineSync(PGconn* on) {
    static const auto real = libpqs<int (*)(PGconn*)>("PQpipelineSync");
    ++round_trips;
    return real(on);
}
extern "C" PGresult* PQexec(PGconn* on, const char* sql) {
    static const auto real = libpqs<PGresult* (*)(PGconn*, const char*)>("PQexec");
    ++round_trips;
    return real(on, sql);
}

namespace {

using namespace places;

template <class Call>
int trips_of(const Call& call) {
    const int before = round_trips;
    call();
    return round_trips - before;
}

TEMPLATE_TEST_CASE("a verb goes to the server as seldom as the protocol lets it", "[trips]", server_clock,
                   manual_clock) {
    postgres place;
    basic_lease_queue<TestType, postgres_store> queue{place.store()};
    queue.enqueue({.payload = "the connection is there now"});
    std::optional<lease> held;
    std::vector<lease> hundred;
    std::vector<std::pair<std::string, int>> seen;
    const auto count = [&](const std::string& what, int most, const auto& call) {
        const int trips = trips_of(call);
        CAPTURE(what);
        CHECK(trips <= most);
        seen.emplace_back(what, trips);
    };
    count("enqueue", 3, [&] { queue.enqueue({.payload = "x"}); });
    count("enqueue_many of 1,000", 3, [&] { queue.enqueue_many(std::vector<job>(1000, {.payload = "x"})); });
    count("claim", 2, [&] { held = queue.claim("A", 1h); });
    REQUIRE(held);
    count("renew", 2, [&] { CHECK(queue.renew(*held, 2h)); });
    count("finish", 2, [&] { CHECK(queue.finish(*held, "result")); });
    count("finish, refused", 2, [&] { CHECK_FALSE(queue.finish(*held)); });
    count("claim_many of 100", 3, [&] { hundred = queue.claim_many("A", 1h, 100); });
    REQUIRE(hundred.size() == 100);
    count("finish_many of 100", 3, [&] { CHECK(queue.finish_many(hundred).size() == 100); });
    held = queue.claim("A", 1h);
    count("finish_and_claim", 3, [&] {
        held = queue.finish_and_claim(*held, "", {.owner = "A", .lease_for = 1h, .queues = {"default"}}).next;
    });
    REQUIRE(held);
    count("fail", 3, [&] { CHECK(queue.fail(*held, "error")); });
    std::cout << "figure: postgres round trips:";
    for (const auto& [what, trips] : seen) {
        std::cout << ' ' << what << ' ' << trips << (what == "fail" ? "\n" : ",");
    }
}

/// How many rows of the queue nobody holds.
long free_rows(servers::client& other) {
    other.begin();
    const long count = other.number(
        "SELECT count(*) FROM (SELECT 1 FROM leasehold.leasehold_job WHERE state <= 1 FOR UPDATE SKIP LOCKED) AS free");
    other.roll_back();
    return count;
}

TEST_CASE("a claim locks as many rows as it takes, whatever the server believes of its tables", "[picking]") {
    postgres place;
    basic_lease_queue<manual_clock, postgres_store> queue{place.store()};
    servers::client other = place.caller();
    other.run("ALTER TABLE leasehold.leasehold_job SET (autovacuum_enabled = off)");
    const auto look = [&](const char* when, long rows) {
        CAPTURE(when);
        for (const std::size_t limit : {1U, 7U}) {
            postgres_store store = place.store();
            store.attach(manual_clock::axis);
            const manual_clock clock;
            auto transaction = store.begin(clock);
            CHECK(transaction.vested("default", limit).size() == limit);
            CHECK(free_rows(other) == rows - static_cast<long>(limit));
        }
    };
    other.run("ANALYZE leasehold.leasehold_job");  // of an empty table
    queue.enqueue_many(std::vector<job>(5000, {.payload = "x"}));
    look("it believes that there is nothing", 5000);
    other.run("ANALYZE leasehold.leasehold_job");
    other.run("DELETE FROM leasehold.leasehold_job WHERE id > 20");
    look("it believes that there are many", 20);
}

TEST_CASE("claims pass over what another holds, and take the next in line", "[picking]") {
    postgres place;
    basic_lease_queue<manual_clock, postgres_store> queue{place.store()};
    queue.enqueue({.payload = "low", .priority = -1});
    queue.enqueue({.payload = "first"});
    queue.enqueue({.payload = "second"});
    servers::client other = place.caller();
    other.begin();
    other.run("SELECT 1 FROM leasehold.leasehold_job WHERE payload = 'first' FOR UPDATE");
    const std::optional<lease> taken = queue.claim("A", 1h);
    REQUIRE(taken);
    CHECK(taken->payload == "second");
    other.roll_back();
    CHECK(queue.claim("A", 1h)->payload == "first");
    CHECK(queue.claim("A", 1h)->payload == "low");
}

TEST_CASE("a completion that waited for its row beyond the lease's end is expired, by the server's clock", "[clock]") {
    postgres place;
    postgres_lease_queue queue{place.store()};
    queue.enqueue({.payload = "x"});
    const std::optional<lease> held = queue.claim("A", 300ms);
    REQUIRE(held);
    servers::client other = place.caller();
    other.begin();
    other.run("SELECT 1 FROM leasehold.leasehold_job FOR UPDATE");
    std::future<settlement> finish = std::async(std::launch::async, [&] { return queue.finish(*held); });
    servers::client watching = place.caller();
    while (watching.number("SELECT count(*) FROM pg_locks WHERE NOT granted") == 0) {
        std::this_thread::sleep_for(1ms);
    }
    CHECK(queue.now() < held->lease_until);  // it came in time, and waits
    while (queue.now() < held->lease_until) {
        std::this_thread::sleep_for(1ms);
    }
    other.roll_back();
    const settlement answer = finish.get();
    CHECK(answer.why == verdict::expired);
    CHECK(answer.at >= held->lease_until);
}

TEST_CASE("each lock of a transaction that carries several calls is followed by a look at the clock", "[clock]") {
    postgres place;
    postgres_lease_queue queue{place.store()};
    queue.enqueue_many(std::vector<job>(2, {.payload = "x"}));
    const std::vector<record> rows = queue.list().items;
    servers::client other = place.caller();
    other.begin();
    other.run("SELECT 1 FROM leasehold.leasehold_job WHERE id = " + to_text(rows[1].id) + " FOR UPDATE");
    const std::vector<job_id> first{rows[0].id};
    const std::vector<job_id> both{rows[0].id, rows[1].id};
    for (const std::vector<job_id>& second : {std::vector<job_id>{rows[1].id}, both}) {
        postgres_store store = place.store();
        auto transaction = store.begin(server_clock{});
        CHECK(transaction.hold(first).size() == 1);
        const instant before = transaction.now().at;
        auto waiting = std::async(std::launch::async, [&] {
            CHECK(transaction.hold(second).size() == second.size());
            return transaction.now().at;
        });
        servers::client watching = place.caller();
        while (watching.number("SELECT count(*) FROM pg_locks WHERE NOT granted") == 0) {
            std::this_thread::sleep_for(1ms);
        }
        while (queue.now() < before + 50ms) {
            std::this_thread::sleep_for(1ms);
        }
        const instant freed = queue.now();
        other.roll_back();
        CHECK(waiting.get() >= freed);
        transaction.commit();
        other.begin();
        other.run("SELECT 1 FROM leasehold.leasehold_job WHERE id = " + to_text(rows[1].id) + " FOR UPDATE");
    }
    other.roll_back();
}

}  // namespace
