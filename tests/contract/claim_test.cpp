// SPDX-License-Identifier: MIT
/// Who gets which job, and what is set aside on the way.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/places.hpp"

namespace {

using namespace places;

/// Takes all there is, one by one, and gives the payloads in their order.
template <class Queue>
std::vector<std::string> drained(Queue& queue, const char* name = "default") {
    std::vector<std::string> payloads;
    while (auto held = queue.claim("drain", longest, name)) {
        payloads.push_back(held->payload);
    }
    return payloads;
}

TEMPLATE_TEST_CASE("an empty queue gives nothing, and a queue knows only its own jobs", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    CHECK_FALSE(q.queue.claim("A", 1000ms));
    q.queue.enqueue({.queue = "other", .payload = "x"});
    CHECK_FALSE(q.queue.claim("A", 1000ms));
    CHECK_FALSE(q.queue.claim("A", 1000ms, "Other"));
    CHECK(q.queue.claim("A", 1000ms, "other")->queue == "other");
}

TEMPLATE_TEST_CASE("a lease says all that its holder needs", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    q.clock.set(at(70));
    q.queue.enqueue({.queue = "q", .key = "order-7", .payload = "bytes", .deadline = at(5000)});
    auto held = q.queue.claim("A", 1000ms, "q");
    REQUIRE(held);
    CHECK(held->key == "order-7");
    CHECK(held->queue == "q");
    CHECK(held->payload == "bytes");
    CHECK(held->owner == "A");
    CHECK(held->token == claim_token{1});
    CHECK(held->attempt == 1);
    CHECK(held->granted == at(70));
    CHECK(held->lease_until == at(1070));
    CHECK(held->deadline == at(5000));
    CHECK(held->local_until == pace_point{1070ms});
    CHECK(held->checkpoint.empty());
    CHECK(held->receipts.empty());
    CHECK(q.queue.checkpoint(*held, "half"));
    CHECK(q.queue.release(*held));
    CHECK(q.queue.claim("B", 1000ms, "q")->checkpoint == "half");
}

TEMPLATE_TEST_CASE("a live lease is not handed to anybody by asking again", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x"});
    const lease held = q.taken("A", 1000ms);
    for (const int now : {0, 1, 500, 999}) {
        q.clock.set(at(now));
        CHECK_FALSE(q.queue.claim("A", 1000ms));
        CHECK_FALSE(q.queue.claim("B", 1000ms));
        CHECK(q.queue.claim_many("B", 1000ms, 10).empty());
    }
    CHECK(q.queue.finish(held));
}

TEMPLATE_TEST_CASE("work whose attempts are used up is set aside before it gets a new token", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "crashes", .max_attempts = 2});
    lease held = q.taken("A");
    q.clock.set(at(1000));
    held = q.taken("B");
    CHECK(held.token == claim_token{2});
    q.clock.set(at(2000));
    CHECK_FALSE(q.queue.claim("C", 1000ms));

    const record row = *q.queue.find(held.id);
    CHECK(row.state == job_state::quarantined);
    CHECK(row.reason == "attempts_exhausted");
    CHECK(row.token == claim_token{2});
    CHECK(row.owner == "B");
    CHECK(row.attempt == 2);
    CHECK(row.lapses == 2);
    CHECK(row.ended_by == ender::claim);
    CHECK(row.ended_at == at(2000));
}

TEMPLATE_TEST_CASE("a job whose deadline passes before its start is set aside, and the next one runs", "[claim]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "late", .deadline = at(100)});
    q.queue.enqueue({.payload = "next"});
    q.clock.set(at(100));
    const lease held = q.taken();
    CHECK(held.payload == "next");
    const record row = *q.queue.find(job_id{1});
    CHECK(row.state == job_state::quarantined);
    CHECK(row.reason == "deadline_passed");
    CHECK(row.token == claim_token{0});
    CHECK(row.lapses == 0);
}

TEMPLATE_TEST_CASE("releases cost no attempt, and tokens rise all the same", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x", .max_attempts = 1});
    for (std::int64_t round = 1; round <= 5; ++round) {
        const lease held = q.taken();
        CHECK(held.token == claim_token{round});
        CHECK(held.attempt == 1);
        CHECK(q.queue.release(held));
    }
}

TEMPLATE_TEST_CASE("higher priority first, then the earlier instant, then the lower id", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    q.clock.set(at(10));
    const auto add = [&](const char* payload, std::int32_t priority, millis delay = {}) {
        q.queue.enqueue({.payload = payload, .priority = priority, .delay = delay});
    };
    add("low", -128);
    add("b1", 0);
    add("late", 0, 5ms);
    add("b2", 0);
    add("top", 127);
    add("early", 0, 3ms);
    q.clock.set(at(14));
    add("b3", 0);
    CHECK(drained(q.queue) == std::vector<std::string>{"top", "b1", "b2", "early", "b3", "low"});
    q.clock.set(at(15));
    CHECK(drained(q.queue) == std::vector<std::string>{"late"});
}

TEMPLATE_TEST_CASE("order holds over digit rollovers of ids and times", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    std::vector<std::string> in_order;
    const auto add = [&](std::int64_t now) {
        q.clock.set(at(now));
        in_order.push_back("job " + std::to_string(in_order.size() + 1));
        q.queue.enqueue({.payload = in_order.back()});
    };
    for (const std::int64_t now : {9, 10, 99, 100, 999, 1000, 1000, 1000, 1000, 1000, 1000, 1000}) {
        add(now);  // twelve jobs: ids 9, 10 and 11 are all at 1000
    }
    add(999'999'999'999);
    add(1'000'000'000'000);
    add(9'999'999'999'999);
    add(10'000'000'000'000);
    CHECK(drained(q.queue) == in_order);

    queue_in<TestType> negative;
    in_order.clear();
    for (const std::int64_t now : {-1000, -999, -10, -9, -1, 0, 1}) {
        negative.clock.set(at(now));
        in_order.push_back(std::to_string(now));
        negative.queue.enqueue({.payload = in_order.back()});
    }
    CHECK(drained(negative.queue) == in_order);
}

TEMPLATE_TEST_CASE("a job that comes back goes behind those that waited, at the instant it came back", "[claim]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "1"});
    q.clock.set(at(1));
    q.queue.enqueue({.payload = "2"});
    const lease first = q.taken();
    q.clock.set(at(2));
    CHECK(q.queue.release(first));
    q.clock.set(at(3));
    q.queue.enqueue({.payload = "3"});
    CHECK(drained(q.queue) == std::vector<std::string>{"2", "1", "3"});
}

TEMPLATE_TEST_CASE("a batch takes in claim order, up to its limit", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    for (int i = 0; i < 7; ++i) {
        q.queue.enqueue({.payload = std::to_string(i), .priority = i % 2});
    }
    q.queue.enqueue({.payload = "later", .delay = 1ms});
    std::vector<std::string> payloads;
    for (const lease& held : q.queue.claim_many("A", 1000ms, 5)) {
        payloads.push_back(held.payload);
    }
    CHECK(payloads == std::vector<std::string>{"1", "3", "5", "0", "2"});
    CHECK(q.queue.claim_many("A", 1000ms, 1000).size() == 2);
    CHECK(q.queue.claim_many("A", 1000ms, 1000).empty());
}

TEMPLATE_TEST_CASE("a batch leaves out what is set aside on the way", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    for (int i = 0; i < 20; ++i) {
        q.queue.enqueue({.payload = std::to_string(i), .deadline = i % 3 == 0 ? std::optional{at(5)} : std::nullopt});
    }
    q.clock.set(at(5));
    const std::vector<lease> held = q.queue.claim_many("A", 1000ms, 10);
    CHECK(held.size() == 10);
    CHECK(held.front().payload == "1");
    CHECK(held.back().payload == "14");
    CHECK(q.queue.claim_many("A", 1000ms, 10).size() == 3);
    CHECK(q.queue.stats().queues.front().quarantined == 7);
}

TEMPLATE_TEST_CASE("many dead rows in front neither fail a claim nor hide the live one", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    std::vector<job> dead(3500, {.payload = "dead", .deadline = at(5)});
    q.queue.enqueue_many(dead);
    q.queue.enqueue({.payload = "alive"});
    q.clock.set(at(5));
    CHECK(q.taken().payload == "alive");
    CHECK(q.queue.stats().queues.front().quarantined == 3500);
    CHECK_FALSE(q.queue.claim("A", 1000ms));
}

TEMPLATE_TEST_CASE("one transaction sets aside a thousand rows at most, whatever the limit", "[claim]", EVERY_STORE) {
    const std::size_t limit = GENERATE(1U, 10U, 1000U);
    queue_in<TestType> q;
    q.queue.enqueue_many(std::vector<job>(999, {.payload = "dead", .deadline = at(5)}));
    q.queue.enqueue({.payload = "alive"});
    q.queue.enqueue_many(std::vector<job>(2000, {.payload = "dead", .deadline = at(5)}));
    q.queue.enqueue({.payload = "last"});
    q.clock.set(at(5));
    auto store = q.store();
    std::size_t granted = 0;
    for (const std::size_t most : {1000U, 2000U, 2999U}) {
        {
            auto transaction = store.begin(q.clock);
            detail::session session{transaction};
            const std::string_view queue = "default";
            granted += session.claim("A", 1000ms, std::span{&queue, 1}, limit).leases.size();
            transaction.commit();
        }
        const auto counted = q.queue.stats().queues.front();
        CHECK(counted.quarantined <= most);
        CHECK(counted.leased == granted);
    }
    CHECK(granted >= 1);
}

TEMPLATE_TEST_CASE("what is not committed has never been", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.key = "held", .payload = "x"});
    q.queue.enqueue({.key = "over", .payload = "y"});
    q.queue.enqueue({.key = "waits", .payload = "z", .delay = 5ms});
    const auto held = q.queue.claim_many("A", 1000ms, 2);
    CHECK(q.queue.finish(held[1], "r"));
    const auto before = q.queue.list().items;
    const auto counted = q.queue.stats().queues;
    auto store = q.store();
    {
        auto transaction = store.begin(q.clock);
        const std::vector<job_id> all{{1}, {2}, {3}};
        std::vector<row> rows = transaction.hold(all);
        REQUIRE(rows.size() == 3);
        const auto columns = rows[0].columns();
        rows[0].assign(rules::finish(columns, at(1)));
        const change finished{&rows[0], "result", "checkpoint"};
        transaction.write(std::span{&finished, 1});
        transaction.write(std::span{&finished, 1});
        transaction.add_receipt({1}, {{1}, "A", at(1), "note"});
        transaction.erase(std::span{&all[1], 2});
        const job fresh{.queue = "new", .key = "over", .payload = "w"};
        const insertion made{&fresh, rules::enqueue(1, {}, {}), at(1)};
        CHECK(transaction.insert(std::span{&made, 1}, on_conflict::keep_others).front().answer == intake::accepted);
        CHECK(transaction.hold(all).size() == 1);
    }
    CHECK(q.queue.list().items == before);
    CHECK(q.queue.stats().queues == counted);
    CHECK(q.queue.find(job_id{2})->result == "r");
    CHECK(q.queue.find("default", "over")->id == job_id{2});
    CHECK_FALSE(q.queue.find("new", "over"));
    q.clock.set(at(5));
    CHECK(q.taken().key == "waits");  // in its place in line again
    CHECK(q.queue.finish(held[0]));
    CHECK(q.queue.prune({}) == 2);
}

TEMPLATE_TEST_CASE("one row with saturated counters does not stop the others", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "worn"});
    q.queue.enqueue({.payload = "next"});
    {
        auto store = q.store();
        auto writing = store.begin(q.clock);
        const job_id id{1};
        std::vector<row> rows = writing.hold(std::span{&id, 1});
        rows.front().token = {std::numeric_limits<std::int64_t>::max()};
        rows.front().failures = rows.front().lapses = std::numeric_limits<std::int64_t>::max();
        const change worn{&rows.front()};
        writing.write(std::span{&worn, 1});
        writing.commit();
    }
    CHECK(q.taken().payload == "next");
    const record row = *q.queue.find(job_id{1});
    CHECK(row.reason == "token_exhausted");
    CHECK(row.token.value == std::numeric_limits<std::int64_t>::max());
    CHECK(row.failures == std::numeric_limits<std::int64_t>::max());
}

TEMPLATE_TEST_CASE("times near both ends of the range neither wrap nor stop the queue", "[claim]", EVERY_STORE) {
    const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    const std::int64_t highest = std::numeric_limits<std::int64_t>::max();
    const std::int64_t now = GENERATE_COPY(lowest + 1, lowest + 2, highest - 2, highest - 1);
    queue_in<TestType> q;
    q.clock.set(at(now));
    q.queue.enqueue({.payload = "plain"});
    q.queue.enqueue({.payload = "delayed", .delay = std::chrono::hours::max()});
    q.queue.enqueue({.payload = "with deadline", .expires_in = std::chrono::hours::max()});
    lease held = q.taken("A", std::chrono::hours::max());
    CHECK(held.payload == "plain");
    CHECK(held.lease_until == saturating_add(at(now), longest));
    CHECK(q.queue.renew(held, 1ms));
    CHECK(held.lease_until == saturating_add(at(now), longest));
    CHECK(q.queue.fail(held, "e", std::chrono::hours::max()));
    CHECK(q.taken().payload == "with deadline");
    CHECK_FALSE(q.queue.claim("B", 1ms));
    CHECK(q.queue.prune({.older_than = std::chrono::hours::max()}) == 0);
}

TEMPLATE_TEST_CASE("a clock at an end of the range is refused by name, and nothing is written", "[claim]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x"});
    q.clock.set(GENERATE(instant::min(), instant::max()));
    CHECK_THROWS_AS(q.queue.enqueue({.payload = "y"}), store_unsupported);
    CHECK_THROWS_WITH(q.queue.claim("A", 1ms), contains(to_text(q.clock.now())));
    CHECK_THROWS_AS(q.queue.now(), store_unsupported);
    q.clock.set(at(0));
    CHECK(q.queue.list().items.size() == 1);
    CHECK(q.taken().payload == "x");
}

TEMPLATE_TEST_CASE("bad terms of a claim are refused by name", "[claim]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x"});
    lease held = q.taken();
    for (const millis bad : {millis{0ms}, millis{-1ms}, millis::min()}) {
        CHECK_THROWS_WITH(q.queue.claim("A", bad), contains("lease_for"));
        CHECK_THROWS_WITH(q.queue.renew(held, bad), contains("lease_for"));
        CHECK_THROWS_WITH(q.queue.finish_and_claim(held, "", {.owner = "A", .lease_for = bad}), contains("lease_for"));
    }
    CHECK_THROWS_WITH(q.queue.fail(held, "e", -1ms), contains("retry_after"));
    CHECK_THROWS_WITH(q.queue.release(held, -1ms), contains("after"));
    const std::string long_name(256, 'n');
    for (const std::string& bad : {std::string{}, long_name, std::string{"a\0b", 3}, std::string{"\xff"}}) {
        CHECK_THROWS_WITH(q.queue.claim(bad, 1ms), contains("owner"));
        CHECK_THROWS_WITH(q.queue.claim("A", 1ms, bad), contains("queue"));
        CHECK_THROWS_WITH(q.queue.find(bad, "k"), contains("queue"));
        CHECK_THROWS_WITH(q.queue.find("q", bad), contains("key"));
        CHECK_THROWS_WITH(q.queue.finish_and_claim(held, "", {.owner = bad, .lease_for = 1ms}), contains("owner"));
        CHECK_THROWS_WITH(q.queue.finish_and_claim(held, "", {.owner = "A", .lease_for = 1ms, .queues = {bad}}),
                          contains("queue"));
    }
    CHECK_THROWS_WITH(q.queue.claim_many("A", 1ms, 0), contains("limit"));
    CHECK_THROWS_WITH(q.queue.claim_many("A", 1ms, 1001), contains("limit"));
    CHECK_THROWS_WITH(q.queue.list({.limit = 0}), contains("limit"));
    CHECK_THROWS_WITH(q.queue.prune({.limit = 1001}), contains("limit"));
    CHECK_THROWS_WITH(q.queue.prune({.older_than = -1ms}), contains("older_than"));
    CHECK_THROWS_AS(q.queue.claim("", 1ms), std::invalid_argument);
    CHECK(q.queue.finish(held));  // none of it touched the job
}

}  // namespace
