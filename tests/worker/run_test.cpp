// SPDX-License-Identifier: MIT
/// The worker on its own threads.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include <leasehold/worker.hpp>

#include "support/places.hpp"
#include "support/troubled_store.hpp"

namespace {

using namespace places;

/// Something that one thread waits for and another brings about.
class moment {
public:
    void come() {
        {
            const std::lock_guard lock{mutex_};
            has_come_ = true;
        }
        changed_.notify_all();
    }
    void wait() {
        std::unique_lock lock{mutex_};
        if (!changed_.wait_for(lock, 60s, [this] { return has_come_; })) {
            throw std::runtime_error{"it did not come"};
        }
    }

private:
    std::mutex mutex_{};
    std::condition_variable changed_{};
    bool has_come_ = false;
};

/// Until the token fires.
void wait_for(const std::stop_token& token) {
    moment fired;
    const std::stop_callback on_stop{token, [&] { fired.come(); }};
    fired.wait();
}

/// A worker that runs on a thread of its own, until it goes.
template <class Worker>
class running {
public:
    explicit running(Worker& worker) : thread_{[&worker](const std::stop_token& stop) { worker.run(stop); }} {}
    void stop() { thread_.request_stop(); }
    void join() { thread_.join(); }

private:
    std::jthread thread_;
};

TEMPLATE_TEST_CASE("four handlers at once do each job once", "[worker]", EVERY_STORE) {
    queue_in<TestType> q;
    std::vector<job> jobs(200);
    q.queue.enqueue_many(jobs);
    std::stop_source stop;
    std::atomic<int> runs = 0;
    worker w{q.queue, {.owner = "W", .concurrency = 4}, [&](const auto&, auto&) {
                 if (++runs == 200) {
                     stop.request_stop();
                 }
             }};
    w.run(stop.get_token());
    CHECK(w.counts() == worker_counts{.claimed = 200, .finished = 200});
    CHECK(runs == 200);

    w.run(stop.get_token());  // stopped already: does nothing, and ends
    CHECK(w.counts().claimed == 200);
}

TEMPLATE_TEST_CASE("a worker waits for jobs, works in several queues, and does not run twice at once", "[worker]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    moment first;
    moment second;
    worker w{q.queue, {.owner = "W", .queues = {"a", "b"}}, [&](const claimed_job& job, auto&) {
                 (job.queue == "a" ? first : second).come();
             }};
    running on{w};
    q.queue.enqueue({.queue = "b"});
    second.wait();
    CHECK_THROWS_AS(w.run({}), std::logic_error);
    q.queue.enqueue({.queue = "a"});
    first.wait();
    on.stop();
    on.join();
    CHECK(w.counts() == worker_counts{.claimed = 2, .finished = 2});
}

TEMPLATE_TEST_CASE("beats go on by themselves, and tell of a loss", "[worker]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x"});
    moment begun;
    std::atomic<bool> told = false;
    worker w{q.queue, {.owner = "W", .lease = 900ms}, [&](const claimed_job&, auto& context) {
                 begun.come();
                 wait_for(context.stop_token());
                 told = true;
             }};
    running on{w};
    begun.wait();
    // Its lease is carried on for as long as the clock goes on.
    for (int step = 1; step <= 10; ++step) {
        q.clock.set(at(300 * step));
        while (q.queue.find(job_id{1})->lease_until != at(300 * step + 900)) {
            std::this_thread::sleep_for(2ms);  // in a rollback journal who reads all the time lets nobody commit
        }
    }
    CHECK_FALSE(told);
    REQUIRE(q.queue.revoke(job_id{1}, claim_token{1}));
    CHECK(q.queue.claim("other", 1h));
    q.clock.advance(300ms);
    on.stop();
    on.join();
    CHECK(told);
    CHECK(w.counts() == worker_counts{.claimed = 1, .lost = 1});
    CHECK(q.queue.find(job_id{1})->owner == "other");
}

TEMPLATE_TEST_CASE("renewals that cross completions are no losses", "[worker]", EVERY_STORE) {
    TestType place;
    std::atomic<int> renewed = 0;
    std::atomic<int> rejected = 0;
    std::atomic<int> refused = 0;
    basic_lease_queue queue{place.store(), wall_clock{}, {.on_event = [&](const event& what) {
                                renewed += what.what == event_kind::renewed;
                                rejected += what.what == event_kind::rejected;
                            }}};
    std::vector<job> jobs(300);
    queue.enqueue_many(jobs);
    std::stop_source stop;
    std::atomic<int> runs = 0;
    worker w{
        queue, {.owner = "W", .lease = 1min, .renew_every = 1ms, .concurrency = 4}, [&](const auto&, auto& context) {
            std::this_thread::sleep_for(500us);
            refused += context.checkpoint("half") ? 0 : 1;
            if (++runs == 300) {
                stop.request_stop();
            }
        }};
    w.run(stop.get_token());
    CHECK(w.counts() == worker_counts{.claimed = 300, .finished = 300});
    CHECK(renewed > 0);
    CHECK(rejected == 0);
    CHECK(refused == 0);
}

TEMPLATE_TEST_CASE("a handler of many checkpoints does not keep its own beat out", "[worker]", EVERY_STORE) {
    TestType place;
    basic_lease_queue queue{place.store(), wall_clock{}};
    queue.enqueue({.payload = "x"});
    std::stop_source stop;
    worker w{queue, {.owner = "W", .lease = 600ms, .renew_every = 100ms}, [&](const auto&, auto& context) {
                 const auto end = std::chrono::steady_clock::now() + 1200ms;
                 while (std::chrono::steady_clock::now() < end && context.checkpoint("half")) {
                 }
                 stop.request_stop();
             }};
    w.run(stop.get_token());
    CHECK(w.counts() == worker_counts{.claimed = 1, .finished = 1});
}

TEMPLATE_TEST_CASE("at the drain's end the tokens fire, and every handler is waited for", "[worker]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "1"});
    q.queue.enqueue({.payload = "2"});
    moment begun;
    moment overstayed;
    std::atomic<int> started = 0;
    std::atomic<int> returned = 0;
    const worker_options options{.owner = "W", .lease = 900ms, .concurrency = 2, .drain_timeout = 3s, .grace = 1s};
    worker w{q.queue, options, [&](const claimed_job& job, auto& context) -> outcome {
                 if (++started == 2) {
                     begun.come();
                 }
                 wait_for(context.stop_token());
                 if (job.payload == "2") {
                     overstayed.wait();
                 }
                 ++returned;
                 return release_unspent{};
             }};
    running on{w};
    begun.wait();
    on.stop();
    const auto step_until = [&](auto done) {
        while (!done()) {
            std::this_thread::sleep_for(1ms);
            q.clock.advance(2ms);
        }
    };
    step_until([&] { return q.queue.find(job_id{1})->state == job_state::ready; });
    CHECK(q.clock.now() >= at(3000));
    CHECK(returned == 1);
    CHECK(q.queue.find(job_id{1})->attempt == 0);
    CHECK(q.queue.find(job_id{2})->state == job_state::leased);
    step_until([&] { return rules::is_takeable(*q.queue.find(job_id{2})->lease_until, q.clock.now()); });
    CHECK(q.clock.now() >= at(4000));
    overstayed.come();
    on.join();
    CHECK(returned == 2);
    CHECK(w.counts() == worker_counts{.claimed = 2, .released = 1, .lost = 1});
}

TEST_CASE("a store that fails is tried again with backoff, never in a tight loop", "[worker]") {
    troubled::control store;
    manual_clock clock;
    basic_lease_queue queue{troubled::store{store}, clock};
    queue.enqueue({.payload = "x"});
    store.begun = 0;
    store.set(troubled::trouble::busy);
    std::atomic<int> errors = 0;
    moment handled;
    worker w{queue,
             {.owner = "W", .concurrency = 4, .on_error = [&](const worker_error&) { ++errors; }},
             [&](const auto&, auto&) { handled.come(); }};
    running on{w};
    while (errors == 0) {
        std::this_thread::yield();
    }
    std::this_thread::sleep_for(150ms);
    CHECK(store.begun == 1);  // on its clock no time has passed since
    CHECK(errors == 1);
    clock.advance(50ms);
    while (errors == 1) {
        std::this_thread::yield();
    }
    store.set(troubled::trouble::none);
    while (queue.find(job_id{1})->state != job_state::finished) {
        clock.advance(1ms);
        std::this_thread::sleep_for(1ms);
    }
    handled.wait();
    on.stop();
    on.join();
    CHECK(w.counts() == worker_counts{.claimed = 1, .finished = 1});
}

TEST_CASE("an outage that a completion meets is outlasted", "[worker]") {
    troubled::control store;
    basic_lease_queue queue{troubled::store{store}, wall_clock{}};
    queue.enqueue({.payload = "x"});
    std::stop_source stop;
    std::atomic<int> errors = 0;
    worker w{queue,
             {.owner = "W",
              .on_error =
                  [&](const worker_error&) {
                      if (++errors == 3) {
                          store.set(troubled::trouble::none);
                          stop.request_stop();
                      }
                  }},
             [&](const auto&, auto&) { store.set(troubled::trouble::busy); }};
    w.run(stop.get_token());
    CHECK(w.counts() == worker_counts{.claimed = 1, .finished = 1});
    CHECK(errors >= 3);
}

TEMPLATE_TEST_CASE("a stop at any moment around a claim strands nothing", "[worker]", EVERY_STORE) {
    TestType place;
    basic_lease_queue queue{place.store(), wall_clock{}};
    std::minstd_rand random{7};  // NOLINT(cert-msc51-cpp): the same every time
    std::atomic<int> runs = 0;
    worker w{queue, {.owner = "W", .concurrency = 2, .claim_ahead = 1}, [&](const auto&, auto&) { ++runs; }};
    const int rounds = 2000;
    for (int i = 0; i < rounds; ++i) {
        queue.enqueue({.payload = "x"});
        const auto after = std::chrono::microseconds{random() % 400};
        running on{w};
        const auto until = std::chrono::steady_clock::now() + after;
        while (std::chrono::steady_clock::now() < until) {
        }
        on.stop();
        on.join();
    }
    const statistics now = queue.stats();
    REQUIRE(now.queues.size() == 1);
    CHECK(runs > 0);
    CHECK(now.queues[0].leased == 0);
    CHECK(now.queues[0].finished == static_cast<std::uint64_t>(runs.load()));
    CHECK(now.queues[0].finished + now.queues[0].ready == rounds);
    for (page<record> part; part.next || part.items.empty();) {
        part = queue.list({.state = job_state::ready, .after = part.next.value_or(job_id{}), .limit = 1000});
        for (const record& left : part.items) {
            CHECK(left.attempt == 0);
            CHECK(left.lapses == 0);
        }
        if (!part.next) {
            break;
        }
    }
    const worker_counts counts = w.counts();
    CHECK(counts.claimed == counts.finished + counts.released);
    CHECK(counts.finished == static_cast<std::uint64_t>(runs.load()));
}

/// A worker whose effects are in the queue's own file.
template <class Place>
struct with_effects : queue_in<Place> {
    using queue_type = typename queue_in<Place>::queue_type;
    using context = job_context<queue_type>;

    with_effects() { database.exec("CREATE TABLE effect (what TEXT)"); }

    SQLite::Database database{Place::path(), SQLite::OPEN_READWRITE};
    int effects() { return database.execAndGet("SELECT count(*) FROM effect").getInt(); }
};

TEMPLATE_TEST_CASE("commit_in: an effect and its finish are one commit", "[worker]", places::rollback_file,
                   places::wal_file) {
    with_effects<TestType> q;
    q.queue.enqueue({.payload = "x"});
    worker w{q.queue, {.owner = "W"}, [&](const claimed_job& job, auto& context) {
                 CHECK(context.commit_in(q.database, [&](auto& session) {
                     q.database.exec("INSERT INTO effect VALUES ('e')");
                     session.enqueue({.key = "follows " + job.payload});
                     return "r";
                 }));
             }};
    w.claim();
    CHECK(w.handle());
    CHECK(q.effects() == 1);
    CHECK(q.queue.find(job_id{1})->result == "r");
    CHECK(q.queue.find("default", "follows x"));
    CHECK(w.counts() == worker_counts{.claimed = 1, .settled = 1});
}

TEMPLATE_TEST_CASE("commit_in: a lease that was lost takes the effect back", "[worker]", places::rollback_file,
                   places::wal_file) {
    with_effects<TestType> q;
    q.queue.enqueue({.payload = "x"});
    worker w{q.queue, {.owner = "W", .lease = 900ms}, [&](const claimed_job&, auto& context) {
                 q.clock.set(at(900));
                 CHECK(q.queue.claim("other", 1h));
                 const settlement refused =
                     context.commit_in(q.database, [&](auto&) { q.database.exec("INSERT INTO effect VALUES ('e')"); });
                 CHECK(refused.why == verdict::superseded);
                 CHECK(context.stop_token().stop_requested());
             }};
    w.claim();
    CHECK(w.handle());
    CHECK(q.effects() == 0);
    CHECK(w.counts() == worker_counts{.claimed = 1, .lost = 1});
}

TEMPLATE_TEST_CASE("what goes back and is another's by then is a loss, and is told", "[worker]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue_many(std::vector<job>(2, {.payload = "x"}));
    std::vector<verdict> losses;
    worker w{
        q.queue,
        {.owner = "W", .claim_ahead = 1, .on_loss = [&](const settlement& refused) { losses.push_back(refused.why); }},
        [](const claimed_job&, auto&) {}};
    w.claim();
    CHECK(q.queue.revoke(job_id{2}, claim_token{1}));
    CHECK(q.queue.claim("other", 1h));
    w.drain();
    CHECK(losses == std::vector{verdict::superseded});
    CHECK(w.counts() == worker_counts{.claimed = 2, .released = 1, .lost = 1});
}

TEMPLATE_TEST_CASE("a result that the store does not take is a failure of the handler's, with its reason", "[worker]",
                   places::rollback_file, places::wal_file) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x"});
    q.queue.transact([](auto& session) { sqlite3_limit(session.native().getHandle(), SQLITE_LIMIT_LENGTH, 10'000); });
    worker w{
        q.queue, {.owner = "W"}, [](const claimed_job&, auto&) { return done{.result = std::string(10'000, 'r')}; }};
    w.claim();
    CHECK(w.handle());
    const auto found = q.queue.find(job_id{1});
    CHECK(found->state == job_state::ready);
    CHECK_THAT(found->last_error, contains("10000 bytes"));
}

TEMPLATE_TEST_CASE("commit_in: a verb of the same job inside it is an error, not a wait", "[worker]",
                   places::rollback_file, places::wal_file) {
    with_effects<TestType> q;
    q.queue.enqueue({.payload = "x"});
    worker w{q.queue, {.owner = "W"}, [&](const claimed_job&, auto& context) {
                 CHECK(context.commit_in(q.database, [&](auto&) {
                     CHECK_THROWS_AS(context.checkpoint("b"), std::logic_error);
                     CHECK_THROWS_AS(context.settle(done{}), std::logic_error);
                     CHECK_THROWS_AS(context.leave_receipt("n"), std::logic_error);
                     CHECK_THROWS_AS(context.commit_in(q.database, [](auto&) {}), std::logic_error);
                     q.database.exec("INSERT INTO effect VALUES ('e')");
                 }));
             }};
    w.claim();
    CHECK(w.handle());
    CHECK(q.effects() == 1);
    CHECK(w.counts() == worker_counts{.claimed = 1, .settled = 1});
}

TEST_CASE("a beat that was held off is made up for", "[worker]") {
    manual_clock clock;
    basic_lease_queue queue{memory_store{}, clock};
    queue.enqueue({.payload = "x"});
    using queue_type = decltype(queue);
    detail::running_job<queue_type> job{queue, std::move(*queue.claim("A", 1h)), pace_point::max()};
    {
        const detail::running_job<queue_type>::beats_held_off outer{job};
        { const detail::running_job<queue_type>::beats_held_off inner{job}; }
        CHECK_FALSE(job.announce_beat(pace_point{}));
    }
    CHECK(job.took_missed_beat());
    CHECK_FALSE(job.took_missed_beat());
    CHECK(job.announce_beat(pace_point{}));
    CHECK(job.enter_beat(pace_point{}));
    CHECK_FALSE(job.took_missed_beat());
}

TEST_CASE("a slot for which there is no room waits, and does not claim", "[worker]") {
    detail::job_places places{2, 0};
    std::vector<lease> one(1);
    places.put(std::move(one), 0);
    CHECK_FALSE(places.take()->is_ahead);
    std::stop_source stop;
    std::atomic<int> claims = 0;
    std::thread slot;
    {
        const auto others = places.reserve_all_and_mine();
        CHECK(others.size() == 2);
        slot = std::thread{[&] {
            CHECK_FALSE(places.take(stop.get_token(), [&] {
                ++claims;
                stop.request_stop();
            }));
        }};
        std::this_thread::sleep_for(50ms);
        CHECK(claims == 0);
    }
    slot.join();
    CHECK(claims == 1);
}

TEMPLATE_TEST_CASE("commit_in holds this job's beats off, and what it throws takes nothing but its own work back",
                   "[worker]", places::rollback_file, places::wal_file) {
    with_effects<TestType> q;
    q.queue.enqueue({.payload = "x"});
    std::function<bool()> beat;
    worker w{q.queue, {.owner = "W", .lease = 900ms}, [&](const claimed_job&, auto& context) -> outcome {
                 q.clock.set(at(300));
                 CHECK(beat());
                 CHECK(q.queue.find(job_id{1})->lease_until == at(1200));
                 CHECK_THROWS_WITH(context.commit_in(q.database,
                                                     [&](auto&) {
                                                         q.database.exec("INSERT INTO effect VALUES ('e')");
                                                         q.clock.set(at(600));
                                                         CHECK(beat());  // of nobody: it would wait for this lock
                                                         throw std::runtime_error{"after all"};
                                                     }),
                                   "after all");
                 CHECK(q.effects() == 0);
                 CHECK(q.queue.find(job_id{1})->lease_until == at(1200));  // as the beat before it left it
                 CHECK(beat());
                 CHECK(context.time_left() == millis{900ms});
                 return retry{.after = 1h};
             }};
    beat = [&] { return w.beat(); };
    w.claim();
    CHECK(w.handle());
    CHECK(q.queue.find(job_id{1})->failures == 1);
    CHECK(w.counts() == worker_counts{.claimed = 1, .failed = 1});
}

}  // namespace
