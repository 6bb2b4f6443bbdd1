// SPDX-License-Identifier: MIT
/// What a person may do to a job, and what a person can see.
#include <string>
#include <vector>

#include "support/places.hpp"

namespace {

using namespace places;

TEMPLATE_TEST_CASE("an operator's verb that saw an older token does nothing", "[operator]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x"});
    const lease a = q.taken("A");
    q.clock.set(at(1000));
    const lease b = q.taken("B");
    const record before = *q.queue.find(a.id);
    CHECK(q.queue.revoke(a.id, a.token).why == verdict::superseded);
    CHECK(q.queue.cancel(a.id, a.token).why == verdict::superseded);
    CHECK(q.queue.requeue(a.id, a.token).why == verdict::superseded);
    CHECK(*q.queue.find(a.id) == before);

    CHECK(q.queue.quarantine(b, "odd"));
    CHECK(q.queue.requeue(a.id, a.token).why == verdict::superseded);
    const amendment done = q.queue.requeue(a.id, b.token);
    CHECK(done);
    CHECK(done.current->state == job_state::ready);
}

TEMPLATE_TEST_CASE("an operator's verb says why it was refused", "[operator]", EVERY_STORE) {
    queue_in<TestType> q;
    CHECK(q.queue.revoke(job_id{1}, {}).why == verdict::missing);
    CHECK(q.queue.cancel(job_id{1}).why == verdict::missing);
    CHECK(q.queue.requeue(job_id{1}, {}).why == verdict::missing);
    CHECK(to_text(q.queue.cancel(job_id{1})) == "rejected (missing) at 0: job 1; there is no such job");

    const job_id id = q.queue.enqueue({.payload = "x"}).id;
    CHECK(q.queue.revoke(id, {0}).why == verdict::not_leased);
    CHECK(q.queue.requeue(id, {0}).why == verdict::not_ended);
    const lease held = q.taken();
    CHECK(q.queue.requeue(id, {1}).why == verdict::not_ended);
    CHECK(q.queue.cancel(id, claim_token{1}));
    CHECK(q.queue.cancel(id).why == verdict::cancelled);
    CHECK(q.queue.revoke(id, {1}).why == verdict::cancelled);
    CHECK(q.queue.requeue(id, {1}));
    CHECK(q.queue.quarantine(q.taken(), "odd"));
    CHECK(q.queue.revoke(id, {2}).why == verdict::quarantined);
    CHECK(q.queue.requeue(id, {2}));
    CHECK(q.queue.finish(q.taken()));
    CHECK(q.queue.revoke(id, {3}).why == verdict::finished);
    CHECK(q.queue.cancel(id).why == verdict::finished);
    CHECK(q.queue.requeue(id, {3}).why == verdict::finished);
}

TEMPLATE_TEST_CASE("a requeued job starts again with all its attempts, and keeps its history", "[operator]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.key = "k", .payload = "x", .max_attempts = 1});
    const lease held = q.taken();
    CHECK(q.queue.checkpoint(held, "half"));
    CHECK(q.queue.leave_receipt(held, "sent"));
    CHECK(q.queue.fail(held, "boom"));
    q.clock.set(at(500));
    CHECK(q.queue.requeue(held.id, held.token));
    const record row = *q.queue.find(held.id);
    CHECK(row.state == job_state::ready);
    CHECK(row.attempt == 0);
    CHECK(row.token == claim_token{1});
    CHECK(row.vests_at == at(500));
    CHECK_FALSE(row.waits);
    CHECK(row.reason.empty());
    CHECK_FALSE(row.ended_by);
    CHECK_FALSE(row.ended_at);
    CHECK(row.failures == 1);
    CHECK(row.last_error == "boom");
    CHECK(row.checkpoint == "half");
    CHECK(row.receipts.size() == 1);

    const lease again = q.taken();
    CHECK(again.token == claim_token{2});
    CHECK(again.attempt == 1);
    CHECK(q.queue.finish(held).why == verdict::superseded);
    CHECK(q.queue.finish(again));
}

TEMPLATE_TEST_CASE("a job whose deadline is over is requeued only with a new one", "[operator]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x", .deadline = at(100)});
    q.clock.set(at(100));
    CHECK_FALSE(q.queue.claim("A", 10ms));
    const job_id id{1};
    CHECK(q.queue.requeue(id, {0}).why == verdict::past_deadline);
    CHECK_THROWS_WITH(q.queue.requeue(id, {0}, {.deadline = at(100)}), contains("deadline"));
    CHECK_THROWS_WITH(q.queue.requeue(id, {0}, {.delay = 5ms, .expires_in = 5ms}), contains("delay"));
    CHECK_THROWS_WITH(q.queue.requeue(id, {0}, {.expires_in = 0ms}), contains("expires_in"));
    CHECK_THROWS_WITH(q.queue.requeue(id, {0}, {.delay = -1ms}), contains("delay"));
    CHECK(q.queue.find(id)->state == job_state::quarantined);
    CHECK(q.queue.requeue(id, {0}, {.delay = 4ms, .expires_in = 5ms}));
    CHECK(q.queue.find(id)->deadline == at(105));
    CHECK(q.queue.find(id)->vests_at == at(104));
    CHECK_FALSE(q.queue.claim("A", 10ms));
    q.clock.set(at(104));
    CHECK(q.taken().lease_until == at(105));
}

TEMPLATE_TEST_CASE("a cancelled job can be requeued", "[operator]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x", .deadline = at(900)});
    CHECK(q.queue.cancel(job_id{1}));
    CHECK_FALSE(q.queue.claim("A", 10ms));
    CHECK(q.queue.find(job_id{1})->ended_by == ender::operator_);
    CHECK(q.queue.requeue(job_id{1}, {0}, {.not_before = at(5)}));
    CHECK(q.queue.find(job_id{1})->deadline == at(900));
    CHECK_FALSE(q.queue.claim("A", 10ms));
    q.clock.set(at(5));
    CHECK(q.taken().payload == "x");
}

TEMPLATE_TEST_CASE("revoke frees a lease at once, and the attempt stays spent", "[operator]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x"});
    const lease a = q.taken("A", longest);
    CHECK(q.queue.revoke(a.id, a.token));
    CHECK(q.queue.finish(a).why == verdict::not_leased);
    const lease b = q.taken("B");
    CHECK(b.attempt == 2);
    CHECK(b.token == claim_token{2});
    CHECK(q.queue.find(b.id)->lapses == 1);
}

TEMPLATE_TEST_CASE("pruning takes what ended long enough ago, oldest first, and what is asked for", "[operator]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    for (int i = 1; i <= 6; ++i) {
        q.queue.enqueue({.key = std::to_string(i), .payload = "x"});
    }
    q.clock.set(at(100));
    CHECK(q.queue.finish(q.taken(), "r"));
    q.clock.set(at(200));
    CHECK(q.queue.cancel(job_id{2}));
    q.clock.set(at(300));
    const lease odd = q.taken();
    CHECK(q.queue.leave_receipt(odd, "n"));
    CHECK(q.queue.quarantine(odd, "odd"));
    CHECK(odd.id == job_id{3});
    q.clock.set(at(400));
    CHECK(q.queue.finish(q.taken()));

    CHECK(q.queue.prune({.older_than = 301ms}) == 0);
    CHECK(q.queue.prune({.older_than = 300ms}) == 1);
    CHECK_FALSE(q.queue.find(job_id{1}));
    CHECK(q.queue.prune({.limit = 1}) == 1);
    CHECK_FALSE(q.queue.find(job_id{2}));
    CHECK(q.queue.find(job_id{4}));
    CHECK(q.queue.prune({}) + q.queue.prune({}) == 1);
    CHECK(q.queue.find(job_id{3}));
    CHECK(q.queue.prune({.older_than = 101ms, .quarantined = true}) == 0);
    CHECK(q.queue.prune({.older_than = 100ms, .quarantined = true}) == 1);
    CHECK(q.queue.list().items.size() == 2);
    CHECK(q.queue.finish(odd).why == verdict::missing);
}

TEMPLATE_TEST_CASE("pruning goes by the instant of the end, whatever the end was", "[operator]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue_many(std::vector<job>(4, {.payload = "x"}));
    const auto held = q.queue.claim_many("A", 1h, 4);
    q.clock.set(at(100));
    CHECK(q.queue.quarantine(held[3], "odd"));
    q.clock.set(at(200));
    CHECK(q.queue.cancel(job_id{3}));
    q.clock.set(at(300));
    CHECK(q.queue.finish(held[1]));
    q.clock.set(at(400));
    CHECK(q.queue.finish(held[0]));
    for (const std::int64_t oldest : {4, 3, 2, 1}) {
        CHECK(q.queue.prune({.limit = 1, .quarantined = true}) == 1);
        CHECK_FALSE(q.queue.find(job_id{oldest}));
        CHECK(q.queue.list().items.size() == static_cast<std::size_t>(oldest - 1));
    }
}

TEMPLATE_TEST_CASE("a list shows what fits, page by page", "[operator]", EVERY_STORE) {
    queue_in<TestType> q;
    for (int i = 1; i <= 7; ++i) {
        q.queue.enqueue(
            {.queue = i % 2 == 0 ? "even" : "odd", .payload = std::string(static_cast<std::size_t>(i), 'x')});
    }
    CHECK(q.queue.cancel(job_id{5}));
    std::vector<std::int64_t> ids;
    filter which{.queue = "odd", .limit = 2};
    for (;;) {
        const page<record> page = q.queue.list(which);
        for (const record& row : page.items) {
            ids.push_back(row.id.value);
            CHECK(row.payload_size == static_cast<std::size_t>(row.id.value));
        }
        if (!page.next) {
            break;
        }
        which.after = *page.next;
    }
    CHECK(ids == std::vector<std::int64_t>{1, 3, 5, 7});
    CHECK(q.queue.list({.state = job_state::cancelled}).items.size() == 1);
    CHECK(q.queue.list({.queue = "even", .state = job_state::cancelled}).items.empty());
    CHECK(q.queue.list({.queue = "none"}).items.empty());
    CHECK_FALSE(q.queue.find(job_id{8}));
    CHECK_FALSE(q.queue.find(job_id{-1}));
    CHECK_FALSE(q.queue.find("odd", "no such key"));
}

TEMPLATE_TEST_CASE("the statistics count every job once, by queue and state", "[operator]", EVERY_STORE) {
    queue_in<TestType> q;
    CHECK(q.queue.stats().queues.empty());
    q.clock.set(at(10));
    for (int i = 0; i < 6; ++i) {
        q.queue.enqueue({.queue = "b", .payload = "x"});
    }
    q.queue.enqueue({.queue = "b", .delay = 5ms});
    q.queue.enqueue({.queue = "a", .delay = 5ms});
    CHECK(q.queue.claim("A", 1000ms, "b"));
    CHECK(q.queue.finish(*q.queue.claim("A", 1000ms, "b")));
    CHECK(q.queue.quarantine(*q.queue.claim("A", 1000ms, "b"), "odd"));
    CHECK(q.queue.cancel(job_id{4}));
    const statistics counted = q.queue.stats();
    REQUIRE(counted.queues.size() == 2);
    CHECK(counted.queues[0] == queue_statistics{.queue = "a", .delayed = 1});
    CHECK(counted.queues[1] == queue_statistics{.queue = "b",
                                                .ready = 2,
                                                .delayed = 1,
                                                .leased = 1,
                                                .finished = 1,
                                                .quarantined = 1,
                                                .cancelled = 1,
                                                .oldest_ready = at(10)});
}

}  // namespace
