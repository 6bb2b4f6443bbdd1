// SPDX-License-Identifier: MIT
/// The wall clock stepped forward and back during leases, waits and backoffs, while the machine's own pace goes on.
#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <leasehold/worker.hpp>

#include "time/places.hpp"
#include "time/stepped_clock.hpp"

namespace {

using namespace places;

/// A queue in a fresh place whose wall clock the test steps.
template <class Place>
struct stepped : Place {
    using queue_type = basic_lease_queue<stepped_clock, typename Place::store_type>;

    stepped_clock clock{};
    std::atomic<int> renewals{0};
    queue_type queue{Place::store(), clock, {.on_event = [this](const event& what) {
                         renewals += what.what == event_kind::renewed ? 1 : 0;
                     }}};

    lease taken(const char* owner, millis lease_for) {
        std::optional<lease> held = queue.claim(owner, lease_for);
        REQUIRE(held);
        return std::move(*held);
    }
    /// What each verb of a holder is told.
    std::vector<verdict> all_verbs(lease& held) {
        return {queue.renew(held, 2h).why,
                queue.checkpoint(held, "c").why,
                queue.fail(held, "e").why,
                queue.release(held).why,
                queue.quarantine(held, "q").why,
                queue.finish(held).why,
                queue.finish_and_claim(held, "", {.owner = "N", .lease_for = 1h, .queues = {"none"}}).finished.why};
    }
};

TEMPLATE_TEST_CASE("a clock stepped forward past a lease ends it for its holder and for everybody at once",
                   "[time][step]", TIMED_STORES) {
    stepped<TestType> q;
    const job_id id = q.queue.enqueue({.payload = "x"}).id;
    lease held = q.taken("A", 1h);
    q.clock.step(59min);
    CHECK(q.queue.checkpoint(held, "still A's"));
    const record before = *q.queue.find(id);
    q.clock.step(1min);
    CHECK(q.all_verbs(held) == std::vector(7, verdict::expired));
    CHECK(*q.queue.find(id) == before);
    // The holder's own reckoning cannot know of a step: what it believes, the queue does not.
    CHECK(q.queue.time_left(held) > millis{50min});
    lease next = q.taken("B", 1h);
    CHECK(next.checkpoint == "still A's");
    CHECK(q.all_verbs(held) == std::vector(7, verdict::superseded));
    // The step taken back makes nobody's lease again: a round that was overtaken stays so.
    q.clock.step(-1h);
    CHECK(q.all_verbs(held) == std::vector(7, verdict::superseded));
    CHECK(q.queue.finish(next));
}

TEMPLATE_TEST_CASE("a clock stepped back lengthens a lease, and revoke is the way out", "[time][step]", TIMED_STORES) {
    stepped<TestType> q;
    q.queue.enqueue({.payload = "x"});
    lease held = q.taken("A", 1min);
    const instant end = held.lease_until;
    q.clock.step(-24h);
    CHECK_FALSE(q.queue.claim("B", 1min));
    CHECK(q.queue.time_left(held) <= millis{1min});  // less than the truth by now, and never more
    CHECK(q.queue.renew(held, 1min));
    CHECK(held.lease_until == end);                // never shortened
    CHECK(q.queue.time_left(held) > millis{23h});  // a renewal learns of the step
    CHECK(q.queue.checkpoint(held, "c"));
    CHECK(q.queue.revoke(held.id, held.token));
    lease next = q.taken("B", 1min);
    CHECK(next.lease_until < end - 23h);
    CHECK(q.all_verbs(held) == std::vector(7, verdict::superseded));
    CHECK(q.queue.finish(next));
}

TEMPLATE_TEST_CASE("a lease that had lapsed by a clock that then stepped back is its holder's again, if nobody took it",
                   "[time][step]", TIMED_STORES) {
    stepped<TestType> q;
    q.queue.enqueue({.payload = "x"});
    lease held = q.taken("A", 1h);
    q.clock.step(2h);
    CHECK(q.queue.finish(held).why == verdict::expired);
    q.clock.step(-2h);
    CHECK_FALSE(q.queue.claim("B", 1h));
    CHECK(q.queue.finish(held));
}

TEMPLATE_TEST_CASE("backoffs and delays keep their instants through steps, and who asked for none waits for none",
                   "[time][step]", TIMED_STORES) {
    stepped<TestType> q;
    const job_id failed = q.queue.enqueue({.payload = "failed"}).id;
    const lease held = q.taken("A", 1h);
    CHECK(q.queue.fail(held, "e", 1h));
    const instant retry = q.queue.find(failed)->vests_at;
    q.queue.enqueue({.payload = "delayed", .delay = 2h});
    q.clock.step(-1h);
    CHECK_FALSE(q.queue.claim("A", 1min));
    q.queue.enqueue({.payload = "at once"});
    const lease undelayed = q.taken("A", 1min);
    CHECK(undelayed.payload == "at once");
    CHECK(q.queue.finish(undelayed));
    CHECK_FALSE(q.queue.claim("A", 1min));
    CHECK(q.queue.find(failed)->vests_at == retry);
    q.clock.step(2h);
    const lease again = q.taken("A", 24h);
    CHECK(again.payload == "failed");
    CHECK(again.token == claim_token{2});
    CHECK_FALSE(q.queue.claim("A", 1min));
    q.clock.step(1h);
    CHECK(q.taken("A", 1min).payload == "delayed");
}

TEMPLATE_TEST_CASE("how long a wait lasts no step changes", "[time][step]", TIMED_STORES) {
    stepped<TestType> q;
    q.queue.enqueue({.payload = "x", .delay = 24h});
    for (const millis by : {millis{-2h}, millis{1h}}) {
        const auto began = std::chrono::steady_clock::now();
        auto waits = std::async(std::launch::async,
                                [&] { return q.queue.wait_claim({}, {.owner = "A", .lease_for = 1h, .wait = 300ms}); });
        while (waits.wait_for(20ms) == std::future_status::timeout) {
            q.clock.step(by);
            q.clock.step(std::chrono::milliseconds{-by.count()});
        }
        CHECK_FALSE(waits.get());
        const auto lasted = std::chrono::steady_clock::now() - began;
        CHECK(lasted > 299ms);  // points on the pace are whole milliseconds
        CHECK(lasted < 30s);
    }
}

TEMPLATE_TEST_CASE("a wait notices that the clock was stepped to what it waits for", "[time][step]", TIMED_STORES) {
    stepped<TestType> q;
    q.queue.enqueue({.payload = "x", .delay = 1h});
    const auto waits = [&](const char* owner) {
        return std::async(std::launch::async, [&q, owner] {
            return q.queue.wait_claim({}, {.owner = owner, .lease_for = 1h, .wait = 60s});
        });
    };
    auto first = waits("A");
    q.clock.step(-1h);
    CHECK(first.wait_for(100ms) == std::future_status::timeout);
    q.clock.step(2h);  // a delay
    const auto held = first.get();
    REQUIRE(held);
    auto second = waits("B");
    q.clock.step(1h);  // a lease
    const auto next = second.get();
    REQUIRE(next);
    CHECK(next->token == claim_token{2});
}

/// A worker whose one handler runs until it is told to end, or its lease is lost.
template <class Place>
struct long_job {
    stepped<Place> q{};
    std::promise<void> begun{};
    std::stop_source enough{};
    std::promise<bool> was_lost{};
    std::vector<verdict> refused{};

    explicit long_job(millis lease) : lease_{lease} { q.queue.enqueue({.payload = "x"}); }
    record row() const { return *q.queue.find(job_id{1}); }

    /// Until the stop. Its beats are many in a lease, so that some may come late.
    void work(const std::stop_token& stop) {
        worker w{q.queue,
                 {.owner = "W",
                  .lease = lease_,
                  .renew_every = 50ms,
                  .on_loss = [&](const settlement& lost) { refused.push_back(lost.why); }},
                 [&](const claimed_job&, auto& context) {
                     begun.set_value();
                     while (!enough.stop_requested() && !context.stop_token().stop_requested()) {
                         std::this_thread::sleep_for(1ms);
                     }
                     was_lost.set_value(context.stop_token().stop_requested());
                 }};
        w.run(stop);
    }

private:
    millis lease_;
};

TEMPLATE_TEST_CASE("a worker renews through a step back, and its job stays its own", "[time][step]", TIMED_STORES) {
    long_job<TestType> job{2s};
    std::jthread runs{[&](const std::stop_token& stop) { job.work(stop); }};
    job.begun.get_future().get();
    job.q.clock.step(-1h);
    // So many beats take longer than a lease. They never shorten it: it ends an hour late by this clock.
    auto lost = job.was_lost.get_future();
    for (const int before = job.q.renewals; job.q.renewals < before + 45;) {
        REQUIRE(lost.wait_for(1ms) == std::future_status::timeout);
    }
    CHECK_FALSE(job.q.queue.claim("B", 1h));
    CHECK(job.row().lease_until > job.q.queue.now() + 30min);
    job.enough.request_stop();
    CHECK_FALSE(lost.get());
    runs.request_stop();
    runs.join();
    CHECK(job.row().state == job_state::finished);
    CHECK(job.row().token == claim_token{1});
}

TEMPLATE_TEST_CASE("a worker learns from its next beat that a step forward has ended its lease", "[time][step]",
                   TIMED_STORES) {
    long_job<TestType> job{30s};
    std::jthread runs{[&](const std::stop_token& stop) { job.work(stop); }};
    job.begun.get_future().get();
    job.q.clock.step(1h);
    runs.request_stop();  // it takes no other job
    CHECK(job.was_lost.get_future().get());
    runs.join();
    CHECK(job.refused == std::vector{verdict::expired});
    const lease next = job.q.taken("B", 1h);
    CHECK(next.token == claim_token{2});
    CHECK(job.q.queue.finish(next));
}

}  // namespace
