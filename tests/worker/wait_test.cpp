// SPDX-License-Identifier: MIT
/// Waiting for a job: what wakes, and what ends it.
#include <algorithm>
#include <cstdint>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/places.hpp"

namespace {

using namespace places;

/// A claim that waits on a thread of its own.
template <class Queue>
struct waiting {
    waiting(Queue& queue, claim_terms terms)
        : got{std::async(std::launch::async,
                         [&queue, terms, token = stop.get_token()] { return queue.wait_claim(token, terms); })} {}

    bool is_waiting() { return got.wait_for(60ms) == std::future_status::timeout; }

    std::stop_source stop{};
    std::future<std::optional<lease>> got;
};

TEMPLATE_TEST_CASE("a job that is there is taken without a wait, from the earlier named queue first", "[wait]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.queue = "b", .payload = "b"});
    q.queue.enqueue({.queue = "a", .payload = "a"});
    q.queue.enqueue({.payload = "default"});
    const auto taken = [&](std::vector<std::string> queues) {
        const auto held = q.queue.wait_claim({}, {.owner = "A", .lease_for = 1h, .queues = queues, .wait = 0ms});
        return held ? held->payload : "nothing";
    };
    CHECK(taken({"none", "a", "b"}) == "a");
    CHECK(taken({"a", "b"}) == "b");
    CHECK(taken({"a", "b"}) == "nothing");
    CHECK(taken({}) == "default");
    CHECK(taken({}) == "nothing");
}

TEMPLATE_TEST_CASE("a wait wakes for an enqueue and a release by another thread", "[wait]", EVERY_STORE) {
    queue_in<TestType> q;
    waiting first{q.queue, {.owner = "A", .lease_for = 1h}};
    CHECK(first.is_waiting());
    q.queue.enqueue({.queue = "other"});
    CHECK(first.is_waiting());
    q.queue.enqueue({.payload = "x"});
    const auto held = first.got.get();
    REQUIRE(held);
    CHECK(held->payload == "x");

    waiting second{q.queue, {.owner = "B", .lease_for = 1h}};
    CHECK(second.is_waiting());
    CHECK(q.queue.release(*held));
    CHECK(second.got.get()->token == claim_token{2});
}

TEMPLATE_TEST_CASE("a wait wakes when a delay or a lease is over by the clock, which a test moves", "[wait]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x", .delay = 10h});
    waiting first{q.queue, {.owner = "A", .lease_for = 1h}};
    CHECK(first.is_waiting());
    q.clock.set(at(0) + 10h - 1ms);
    CHECK(first.is_waiting());
    q.clock.advance(1ms);
    const auto held = first.got.get();
    REQUIRE(held);

    waiting second{q.queue, {.owner = "B", .lease_for = 1h}};
    CHECK(second.is_waiting());
    q.clock.set(held->lease_until);
    CHECK(second.got.get()->token == claim_token{2});
}

TEMPLATE_TEST_CASE("a wait ends with the stop, and with its time on the clock's pace", "[wait]", EVERY_STORE) {
    queue_in<TestType> q;
    waiting stopped{q.queue, {.owner = "A", .lease_for = 1h, .wait = std::chrono::hours::max()}};
    CHECK(stopped.is_waiting());
    stopped.stop.request_stop();
    CHECK(stopped.got.wait_for(10s) == std::future_status::ready);
    CHECK_FALSE(stopped.got.get());

    waiting timed{q.queue, {.owner = "A", .lease_for = 1h, .wait = 5h}};
    CHECK(timed.is_waiting());
    q.clock.advance(5h - 1ms);
    CHECK(timed.is_waiting());
    q.clock.advance(1ms);
    while (timed.got.wait_for(1s) == std::future_status::timeout) {
        q.clock.advance(5h);  // a thread that began late, on a machine that is busy
    }
    CHECK_FALSE(timed.got.get());
    CHECK_THROWS_WITH(q.queue.wait_claim({}, {.owner = "A", .lease_for = 1h, .wait = -1ms}), contains("wait"));
}

/// A store whose waiters sleep until somebody wakes them, however long that takes.
template <class Store>
struct sleepy : Store {
    explicit sleepy(Store store) : Store{std::move(store)} {}
    void await(std::uint32_t seen, millis) const { Store::await(seen, 1h); }
};
template <class Store>
sleepy(Store) -> sleepy<Store>;

TEMPLATE_TEST_CASE("commits themselves wake who waits: nobody has to look", "[wait]", EVERY_STORE) {
    TestType place;
    manual_clock clock;
    basic_lease_queue queue{sleepy{place.store()}, clock};
    waiting first{queue, {.owner = "A", .lease_for = 1h}};
    CHECK(first.is_waiting());
    queue.enqueue({.payload = "x"});
    const auto held = first.got.get();
    REQUIRE(held);

    waiting second{queue, {.owner = "A", .lease_for = 1h}};
    CHECK(second.is_waiting());
    CHECK(queue.release(*held));
    const auto again = second.got.get();
    REQUIRE(again);

    waiting third{queue, {.owner = "A", .lease_for = 1h}};
    CHECK(third.is_waiting());
    queue.transact([&](auto& session) { CHECK(session.fail(*again, "e")); });
    CHECK(third.got.get()->token == claim_token{3});
}

TEST_CASE("a clock that is set wakes who waits, and so does the stop: nobody has to look", "[wait]") {
    manual_clock clock;
    basic_lease_queue queue{sleepy{memory_store{}}, clock};
    queue.enqueue({.payload = "x", .delay = 10h});
    waiting first{queue, {.owner = "A", .lease_for = 1h}};
    CHECK(first.is_waiting());
    clock.advance(9h);
    CHECK(first.is_waiting());
    clock.advance(1h);
    CHECK(first.got.get());

    waiting timed{queue, {.owner = "A", .lease_for = 1h, .queues = {"none"}, .wait = 5h}};
    CHECK(timed.is_waiting());
    clock.set(at(0) + 15h);
    CHECK_FALSE(timed.got.get());

    waiting stopped{queue, {.owner = "A", .lease_for = 1h, .queues = {"none"}}};
    CHECK(stopped.is_waiting());
    stopped.stop.request_stop();
    CHECK_FALSE(stopped.got.get());
}

TEMPLATE_TEST_CASE("a clock that steps back keeps nobody from a row that asked for no delay", "[wait]", EVERY_STORE) {
    queue_in<TestType> q;
    q.clock.set(at(0) + 10h);
    q.queue.enqueue({.payload = "before"});
    q.clock.set(at(0));
    const auto first = q.queue.wait_claim({}, {.owner = "A", .lease_for = 1h, .wait = 0ms});
    CHECK(first->payload == "before");
    CHECK(q.queue.finish(*first));

    q.clock.set(at(0) + 10h);
    waiting next{q.queue, {.owner = "A", .lease_for = 1h}};
    CHECK(next.is_waiting());
    q.clock.set(at(0));
    CHECK(next.is_waiting());
    q.queue.enqueue({.payload = "after"});
    CHECK(next.got.get()->payload == "after");
}

TEMPLATE_TEST_CASE("dead rows do not keep a wait from the job behind them", "[wait]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "dead", .deadline = at(5)});
    q.queue.enqueue({.payload = "alive", .delay = 10ms});
    q.clock.set(at(5));
    waiting claim{q.queue, {.owner = "A", .lease_for = 1h}};
    while (q.queue.find(job_id{1})->state != job_state::quarantined) {  // once it has looked
        std::this_thread::sleep_for(1ms);
    }
    CHECK(claim.is_waiting());
    q.clock.set(at(10));
    CHECK(claim.got.get()->payload == "alive");
}

/// A store that sleeps through the look that is due anyway, and wakes for nearer instants alone.
struct drowsy_store : memory_store {
    void await(std::uint32_t seen, millis at_most) const {
        memory_store::await(seen, at_most < millis{300ms} ? at_most : millis{1h});
    }
};

TEST_CASE("a dead row that is set aside on the way does not hide the instant of the next", "[wait]") {
    basic_lease_queue queue{drowsy_store{}, process_clock{}};
    queue.enqueue({.payload = "dead", .priority = 1, .expires_in = 20ms});
    REQUIRE(queue.claim("A", 1h));
    queue.enqueue({.payload = "later", .delay = 100ms});
    std::stop_source stop;
    auto got = std::async(std::launch::async,
                          [&] { return queue.wait_claim(stop.get_token(), {.owner = "A", .lease_for = 1h}); });
    const bool in_time = got.wait_for(10s) == std::future_status::ready;
    stop.request_stop();  // where it sleeps on, this ends it, with nothing
    const auto held = got.get();
    CHECK(in_time);
    REQUIRE(held);
    CHECK(held->payload == "later");
}

TEMPLATE_TEST_CASE("several who wait get a job each", "[wait]", EVERY_STORE) {
    queue_in<TestType> q;
    waiting a{q.queue, {.owner = "A", .lease_for = 1h}};
    waiting b{q.queue, {.owner = "B", .lease_for = 1h}};
    waiting c{q.queue, {.owner = "C", .lease_for = 1h}};
    for (const char* payload : {"1", "2", "3"}) {
        q.queue.enqueue({.payload = payload});
    }
    std::string all;
    for (auto* each : {&a, &b, &c}) {
        all += each->got.get()->payload;
    }
    std::sort(all.begin(), all.end());
    CHECK(all == "123");
}

}  // namespace
