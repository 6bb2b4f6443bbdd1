// SPDX-License-Identifier: MIT
/// What a claim has the server look at, whatever else is in the table, and whatever somebody's old snapshot keeps
/// there.
#include <cstdint>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "postgres/place.hpp"

namespace {

using namespace places;
using leasehold::detail::postgres::low_water;
using leasehold::detail::postgres::statements;

/// Marks as SQL writes three arrays.
std::string written(const std::vector<low_water::mark>& marks) {
    std::string priorities;
    std::string lows;
    std::string ids;
    for (const low_water::mark& each : marks) {
        const char* const between = priorities.empty() ? "" : ",";
        priorities += between + std::to_string(each.priority);
        lows += between + to_text(each.from);
        ids += between + to_text(each.id);
    }
    return "'{" + priorities + "}', '{" + lows + "}', '{" + ids + "}'";
}

/// What a claim of one job has the server do, as the server says.
std::string plan_of_a_claim(servers::client& with, const std::string& how, const std::vector<low_water::mark>& marks) {
    const statements says{"leasehold"};
    for (const char* setting : {"enable_seqscan", "enable_bitmapscan", "enable_sort", "jit"}) {
        with.run("SET " + std::string{setting} + " = off");
    }
    with.run("SET plan_cache_mode = force_generic_plan");
    with.run("PREPARE claim AS " + says.vested.text);
    const std::string plan =
        with.run("EXPLAIN " + how + " EXECUTE claim('default', 1, NULL, NULL, " + written(marks) + ")");
    with.run("DEALLOCATE claim");
    return plan;
}

/// Pages that the server looked at for it.
long pages_of_a_claim(servers::client& with, const std::vector<low_water::mark>& marks = {}) {
    const std::string plan = plan_of_a_claim(with, "(ANALYZE, BUFFERS, TIMING OFF)", marks);
    const std::size_t at = plan.find("shared hit=");
    REQUIRE(at != std::string::npos);
    return std::stol(plan.substr(at + 11));
}

TEST_CASE("the instant bounds the index scan of a claim, which is no filter over all that waits", "[plan]") {
    postgres place;
    postgres_lease_queue queue{place.store()};
    servers::client with = place.caller();
    const std::string plan = plan_of_a_claim(with, "(COSTS OFF)", {});
    INFO(plan);
    const std::size_t at = plan.find("Index Scan using leasehold_open on leasehold_job j");
    REQUIRE(at != std::string::npos);
    const std::string condition = plan.substr(at, plan.find('\n', plan.find("Index Cond", at)) - at);
    CHECK_THAT(condition, contains("Index Cond") && contains("vests_at <= $"));
    CHECK_THAT(plan, contains("Index Scan using leasehold_line on leasehold_job j"));
    CHECK_THAT(plan, !contains("Seq Scan") && !contains("Sort"));
}

TEST_CASE("a claim looks at as many pages, whatever else is in the table", "[plan]") {
    postgres place;
    postgres_lease_queue queue{place.store()};
    servers::client with = place.caller();
    queue.enqueue_many(std::vector<job>(10, {.payload = "x"}));
    const long alone = pages_of_a_claim(with);
    const auto measure = [&](const char* what) {
        const long pages = pages_of_a_claim(with);
        CAPTURE(what, alone, pages);
        CHECK(pages <= alone + 30);  // deeper indexes, and two more priorities
        std::cout << "figure: postgres pages of a claim, " << what << ": " << pages << " (alone " << alone << ")\n";
    };
    queue.enqueue_many(std::vector<job>(20'000, {.payload = "x", .priority = 1, .delay = 24h}));
    measure("20,000 delayed of a higher priority");
    queue.enqueue_many(std::vector<job>(20'000, {.payload = "x", .priority = 2}));
    for (int i = 0; i < 20; ++i) {
        queue.claim_many("A", 24h, 1000);
    }
    with.run("VACUUM leasehold.leasehold_job");
    measure("and 20,000 leased");
    queue.enqueue_many(std::vector<job>(20'000, {.payload = "x"}));
    measure("and 20,000 ready");
    with.run("UPDATE leasehold.leasehold_job SET state = 2, ended_by = 0, ended_at = 1 WHERE state = 1");
    with.run("VACUUM leasehold.leasehold_job");
    measure("and those leased are finished");
}

/// A look by the queue's own statement.
low_water::look look(servers::client& with) {
    with.run("PREPARE look AS " + statements{"leasehold"}.first_open.text);
    std::istringstream lines{with.run("EXECUTE look('default')")};
    with.run("DEALLOCATE look");
    low_water::look seen;
    for (std::string line; std::getline(lines, line);) {
        std::int64_t began = 0;
        std::int64_t priority = 0;
        std::int64_t first = 0;
        std::int64_t id = 0;
        char bar = 0;
        std::istringstream in{line};
        in >> seen.oldest_running >> bar >> seen.next >> bar >> began >> bar;
        seen.began = at(began);
        if (in >> priority >> bar >> first >> bar >> id) {
            seen.first.push_back({priority, at(first), job_id{id}});
        }
    }
    return seen;
}

TEST_CASE("while an old snapshot is kept, a claim passes over no more than was claimed since the last looks",
          "[plan]") {
    postgres place;
    postgres_lease_queue queue{place.store()};
    servers::client old = place.caller();
    servers::client with = place.caller();
    queue.enqueue_many(std::vector<job>(12'000, {.payload = "x"}));
    old.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    old.run("SELECT count(*) FROM leasehold.leasehold_job");
    for (int i = 0; i < 10; ++i) {
        queue.finish_many(queue.claim_many("A", 1h, 1000));
    }
    low_water lows;
    REQUIRE(lows.is_due("default"));
    lows.saw("default", look(with), 0s);
    const long without = pages_of_a_claim(with, lows.marks("default"));
    lows.saw("default", look(with), 0s);
    const long knowing = pages_of_a_claim(with, lows.marks("default"));
    std::cout << "figure: postgres pages of a claim behind 10,000 that an old snapshot keeps: " << knowing
              << " (without a low water " << without << ")\n";
    CHECK(without > 300);  // else nothing is kept, and nothing is shown
    CHECK(knowing <= 30);
    // By the queue's own claims too: it has looked again by the second of these.
    for (int i = 0; i < 3; ++i) {
        std::this_thread::sleep_for(110ms);
        CHECK(queue.claim("A", 1h));
    }
}

TEST_CASE("a job that was on its way in for long is claimed in its place all the same", "[order]") {
    postgres place;
    postgres_lease_queue queue{place.store()};
    servers::client slow = place.caller();
    queue.enqueue_many(std::vector<job>(3, {.payload = "early"}));
    slow.begin();
    queue.join(slow.connection()).enqueue({.payload = "slow"});
    queue.enqueue_many(std::vector<job>(20, {.payload = "late"}));
    const auto claim_some = [&](int count, const char* expected) {
        for (int i = 0; i < count; ++i) {
            std::this_thread::sleep_for(40ms);  // some of these claims look where the open rows begin
            CHECK(queue.claim("A", 1h)->payload == expected);
        }
    };
    claim_some(3, "early");
    claim_some(10, "late");
    slow.commit();
    CHECK(queue.claim("A", 1h)->payload == "slow");
    CHECK(queue.claim("A", 1h)->payload == "late");
}

TEST_CASE("a queue's low water rises to where an earlier look began, once the transactions of that look are over",
          "[low_water]") {
    low_water lows;
    const auto now = low_water::steady::now();
    const auto saw = [&](const low_water::look& seen) { lows.saw("q", seen, 0s, now); };
    const auto marks = [&] { return lows.marks("q"); };
    using mark = low_water::mark;
    REQUIRE(lows.is_due("q", now));
    CHECK(marks().empty());
    saw({10, 15, at(1000), {{0, at(100), job_id{5}}}});
    CHECK(marks() == std::vector<mark>{{0, instant::min()}});  // 10 to 14 may still bring in earlier ones
    saw({14, 30, at(2000), {{0, at(500)}}});
    CHECK(marks() == std::vector<mark>{{0, instant::min()}});
    saw({15, 40, at(3000), {{0, at(600), job_id{5}}}});
    CHECK(marks() == std::vector<mark>{{0, at(600), job_id{5}}});
    saw({39, 50, at(4000), {}});  // nothing is open, but 39 is not over
    CHECK(marks() == std::vector<mark>{{0, at(1000)}});
    saw({40, 60, at(5000), {{7, at(4900)}, {-3, at(10)}}});
    CHECK(marks() == std::vector<mark>{{7, at(3000)}, {0, at(3000)}, {-3, at(10)}});
    CHECK(lows.mark_of("q", 0) == at(3000));
    CHECK(lows.mark_of("q", 1) == instant::min());
    CHECK(lows.mark_of("other", 0) == instant::min());

    SECTION("and is forgotten where the server's clock steps back") {
        saw({70, 70, at(4999), {{0, at(10)}}});
        CHECK(marks() == std::vector<mark>{{0, instant::min()}});
    }
    SECTION("and where the server's data have become older") {
        saw({59, 59, at(6000), {{0, at(10)}}});
        CHECK(marks() == std::vector<mark>{{0, instant::min()}});
    }
}

TEST_CASE("looks at a queue's low water take a small part of the time", "[low_water]") {
    low_water lows;
    auto now = low_water::steady::now();
    CHECK(lows.is_due("q", now));
    CHECK_FALSE(lows.is_due("q", now));
    CHECK(lows.is_due("other", now));
    CHECK(lows.is_due("q", now += 100ms));
    lows.saw("q", {}, 50ms, now);
    CHECK_FALSE(lows.is_due("q", now + 999ms));
    CHECK(lows.is_due("q", now + 1s));
}

}  // namespace
