// SPDX-License-Identifier: MIT
/// The worker, a step at a time on a manual clock: claim, handle, beat, drain.
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <leasehold/worker.hpp>

#include "support/places.hpp"
#include "support/troubled_store.hpp"

namespace {

using namespace places;

/// What a test does in a handler, on any queue.
template <class Queue>
using body = std::function<outcome(const claimed_job&, job_context<Queue>&)>;

/// A worker on the queue, and what it has told.
template <class Queue>
struct at_work {
    using context = job_context<Queue>;

    /// `self`: for the handler, which is made before the worker is.
    at_work(Queue& queue, worker_options options, body<Queue> handler, at_work** self)
        : run{queue, told_of(std::move(options)), std::move(handler)} {
        *self = this;
    }

    worker_options told_of(worker_options options) {
        options.on_error = [this](const worker_error& error) { errors.push_back(to_text(error)); };
        options.on_loss = [this](const settlement& refused) { losses.push_back(refused.why); };
        return options;
    }

    std::vector<std::string> errors{};
    std::vector<verdict> losses{};
    worker<Queue, body<Queue>> run;
};

/// A queue in a fresh place, with a worker.
template <class Place>
struct shop : queue_in<Place> {
    using queue_type = typename queue_in<Place>::queue_type;
    using context = job_context<queue_type>;

    at_work<queue_type> hire(worker_options options, body<queue_type> handler) {
        return {this->queue, std::move(options), std::move(handler), &hired};
    }
    at_work<queue_type>* hired = nullptr;  ///< the last of them

    record find(std::int64_t id) { return *this->queue.find(job_id{id}); }
    job_state state(std::int64_t id) { return find(id).state; }
};

const worker_options plain{.owner = "W", .lease = 900ms, .retry_after = {.first = 100ms, .jitter_percent = 0}};

worker_options with(void (*change)(worker_options&)) {
    worker_options changed = plain;
    change(changed);
    return changed;
}

static_assert(!std::is_convertible_v<const claimed_job&, const marker&>);
static_assert(!std::is_convertible_v<const claimed_job&, marker>);

TEMPLATE_TEST_CASE("a handler sees the job, and never a marker", "[worker]", EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.queue = "q", .key = "k", .payload = "p", .deadline = at(5000)});
    const auto first = s.queue.claim("A", 100ms, "q");
    CHECK(s.queue.checkpoint(*first, "half"));
    CHECK(s.queue.leave_receipt(*first, "sent"));
    s.clock.set(at(100));
    bool seen = false;
    auto worker = s.hire(with([](auto& o) {
                             o.queues = {"none", "q"};
                         }),
                         [&](const claimed_job& job, auto& context) {
                             seen = true;
                             CHECK(job.round == claim_round{first->store, first->id, {2}});
                             CHECK(job.attempt == 2);
                             CHECK(job.key == "k");
                             CHECK(job.queue == "q");
                             CHECK(job.payload == "p");
                             CHECK(job.deadline == at(5000));
                             CHECK(job.checkpoint == "half");
                             CHECK(job.receipts.size() == 1);
                             CHECK(job.granted == at(100));
                             CHECK(context.time_left() == millis{900ms});
                             CHECK_FALSE(context.stop_token().stop_requested());
                             return done{"r"};
                         });
    CHECK_FALSE(worker.run.handle());
    CHECK(worker.run.claim());
    CHECK(worker.run.handle());
    CHECK(seen);
    CHECK(s.find(1).result == "r");
    CHECK_FALSE(worker.run.handle());
    CHECK_FALSE(worker.run.claim());
    CHECK(worker.run.counts() == worker_counts{.claimed = 1, .finished = 1});
}

TEMPLATE_TEST_CASE("a handler may return nothing, one kind of outcome, or any of them", "[worker]", EVERY_STORE) {
    queue_in<TestType> q;
    for (int i = 0; i < 3; ++i) {
        q.queue.enqueue({.payload = "x"});
    }
    const auto run = [&](auto handler) {
        worker w{q.queue, plain, handler};
        CHECK(w.claim());
        CHECK(w.handle());
        w.drain();
    };
    run([](const auto&, auto&) {});
    run([](const claimed_job&, auto&) { return retry{.after = 1h}; });
    run([](const claimed_job&, auto&) -> outcome { return set_aside{"odd"}; });
    CHECK(q.queue.find(job_id{1})->state == job_state::finished);
    CHECK(q.queue.find(job_id{2})->vests_at == at(0) + 1h);
    CHECK(q.queue.find(job_id{3})->reason == "odd");
}

TEMPLATE_TEST_CASE("each outcome does what it says, and is counted once", "[worker]", EVERY_STORE) {
    shop<TestType> s;
    for (int i = 0; i < 5; ++i) {
        s.queue.enqueue({.payload = "x"});
    }
    const std::vector<outcome> say{done{"r"}, retry{.after = 50ms, .error = "e"}, retry{.error = "f"},
                                   release_unspent{70ms}, set_aside{"why"}};
    std::size_t i = 0;
    auto worker = s.hire(plain, [&](const auto&, auto&) { return say[i++]; });
    for (std::size_t n = 0; n < say.size(); ++n) {
        worker.run.claim();
        CHECK(worker.run.handle());
    }
    CHECK(s.state(1) == job_state::finished);
    CHECK(s.find(1).result == "r");
    CHECK(s.find(2).vests_at == at(50));
    CHECK(s.find(2).last_error == "e");
    CHECK(s.find(3).vests_at == at(100));  // by the backoff, after the first attempt
    CHECK(s.find(3).last_error == "f");
    CHECK(s.find(4).vests_at == at(70));
    CHECK(s.find(4).attempt == 0);
    CHECK(s.state(5) == job_state::quarantined);
    CHECK(s.find(5).reason == "why");
    CHECK(worker.run.counts() ==
          worker_counts{.claimed = 5, .finished = 1, .failed = 2, .released = 1, .set_aside = 1});
    CHECK(worker.errors.empty());
    CHECK(worker.losses.empty());
}

TEMPLATE_TEST_CASE("the backoff grows with the attempts, and the last failure sets the job aside", "[worker]",
                   EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "x", .max_attempts = 3});
    auto worker = s.hire(plain, [&](const auto&, auto&) -> outcome { throw std::runtime_error{"no"}; });
    for (const auto vests_at : {100ms, 300ms}) {
        CHECK(worker.run.claim());
        CHECK(worker.run.handle());
        CHECK(s.find(1).vests_at == instant{vests_at});
        s.clock.set(instant{vests_at});
    }
    CHECK(worker.run.claim());
    CHECK(worker.run.handle());
    CHECK(s.state(1) == job_state::quarantined);
    CHECK(s.find(1).reason == "attempts_exhausted");
    CHECK(worker.run.counts() == worker_counts{.claimed = 3, .failed = 3});
}

TEMPLATE_TEST_CASE("whatever is thrown is a failure with its text, and the worker lives on", "[worker]", EVERY_STORE) {
    shop<TestType> s;
    for (int i = 0; i < 8; ++i) {
        s.queue.enqueue({.payload = "x"});
    }
    std::size_t i = 0;
    auto worker = s.hire(plain, [&](const auto&, auto&) -> outcome {
        switch (++i) {
            case 1: throw std::runtime_error{"text"};
            case 2: throw "literal";
            case 3: throw std::string{"a\0b", 3};
            case 4: throw 17;
            case 5: return retry{.after = -1ms};  // nor can it be said so
            case 6: throw static_cast<const char*>(nullptr);
            case 7: throw nullptr;
            default: return done{};
        }
    });
    while (worker.run.claim() || worker.run.handle()) {
    }
    CHECK(s.find(1).last_error == "text");
    CHECK(s.find(2).last_error == "literal");
    CHECK_THAT(s.find(3).last_error, contains("a") && contains("b"));
    CHECK_THAT(s.find(4).last_error, contains("no std::exception"));
    CHECK_THAT(s.find(5).last_error, contains("retry_after: -1 ms"));
    CHECK_THAT(s.find(6).last_error, contains("no text"));
    CHECK(s.find(7).failures == 1);
    CHECK(s.state(8) == job_state::finished);
    CHECK(worker.run.counts() == worker_counts{.claimed = 8, .finished = 1, .failed = 7});
}

TEMPLATE_TEST_CASE("what the handler has settled is not settled again, nor lost", "[worker]", EVERY_STORE) {
    shop<TestType> s;
    for (int i = 0; i < 6; ++i) {
        s.queue.enqueue({.payload = "x"});
    }
    std::size_t i = 0;
    auto worker = s.hire(plain, [&](const claimed_job& job, auto& context) -> outcome {
        switch (++i) {
            case 1: CHECK(context.settle(done{"mine"})); return done{"not this"};
            case 2: CHECK(context.settle(retry{.after = 1h, .error = "mine"})); throw std::runtime_error{"late"};
            case 3: CHECK(context.settle(release_unspent{})); return settled{};
            case 4:  // by the queue itself; then a beat finds the job ended, by this round's own doing
                CHECK(s.queue.finish(s.queue.find(job.round.id)->marker(), "by the queue"));
                CHECK(s.hired->run.beat());
                CHECK_FALSE(context.stop_token().stop_requested());
                return settled{};
            case 5:  // the same, and it does not say so
                CHECK(s.queue.finish(s.queue.find(job.round.id)->marker(), "by the queue"));
                return done{"not this"};
            default:
                CHECK_THROWS_WITH(context.settle(settled{}), contains("settled"));
                CHECK(context.settle(done{}));
                CHECK(context.settle(done{}).why == verdict::finished);  // once is enough, and it is no loss
                CHECK(context.checkpoint("b").why == verdict::finished);
                CHECK(s.hired->run.beat());
                CHECK_FALSE(context.stop_token().stop_requested());
                return retry{};
        }
    });
    for (int n = 0; n < 6; ++n) {
        worker.run.claim();
        CHECK(worker.run.handle());
        if (n == 2) {
            CHECK(s.queue.cancel(job_id{3}));  // out of the way
        }
    }
    CHECK(s.find(1).result == "mine");
    CHECK(s.find(2).last_error == "mine");
    CHECK(s.find(3).failures == 0);
    CHECK(s.find(4).result == "by the queue");
    CHECK(s.find(5).result == "by the queue");
    CHECK(s.find(6).failures == 0);
    CHECK(worker.run.counts() == worker_counts{.claimed = 6, .settled = 6});
    CHECK(worker.losses.empty());
}

TEMPLATE_TEST_CASE("a receipt is left where the handler's own completion is refused", "[worker]", EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(plain, [&](const claimed_job&, auto& context) -> outcome {
        s.clock.set(at(900));
        CHECK(s.queue.claim("other", 1h));
        CHECK(context.settle(done{.result = "late", .receipt = "sent it all the same"}).why == verdict::superseded);
        return settled{};
    });
    worker.run.claim();
    CHECK(worker.run.handle());
    REQUIRE(s.find(1).receipts.size() == 1);
    CHECK(s.find(1).receipts[0].note == "sent it all the same");
}

TEMPLATE_TEST_CASE("a checkpoint is there for the next holder, and a receipt as well", "[worker]", EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "x"});
    std::vector<std::string> seen;
    auto worker = s.hire(plain, [&](const claimed_job& job, auto& context) -> outcome {
        seen.push_back(job.checkpoint + std::to_string(job.receipts.size()));
        CHECK(context.checkpoint("at " + std::to_string(job.attempt)));
        CHECK(context.leave_receipt("n"));
        return retry{.after = 0ms};
    });
    for (int i = 0; i < 3; ++i) {
        CHECK(worker.run.claim());
        CHECK(worker.run.handle());
    }
    CHECK(seen == std::vector<std::string>{"0", "at 11", "at 22"});
}

TEMPLATE_TEST_CASE("a beat renews all that runs, in one transaction, and the handler has more time", "[worker]",
                   EVERY_STORE) {
    std::vector<event> renewals;
    TestType place;
    manual_clock clock;
    basic_lease_queue queue{place.store(), clock, {.on_event = [&](const event& what) {
                                if (what.what == event_kind::renewed) {
                                    renewals.push_back(what);
                                }
                            }}};
    for (int i = 0; i < 3; ++i) {
        queue.enqueue({.payload = "x"});
    }
    using queue_type = decltype(queue);
    at_work<queue_type>* self = nullptr;
    int depth = 0;
    at_work<queue_type> worker{queue, with([](auto& o) { o.concurrency = 3; }),
                               [&](const auto&, auto& context) -> outcome {
                                   if (++depth < 3) {
                                       self->run.handle();  // the next, meanwhile
                                   } else {
                                       clock.advance(300ms);
                                       CHECK(context.time_left() == millis{600ms});
                                       CHECK(self->run.beat());
                                       CHECK(context.time_left() == millis{900ms});
                                   }
                                   return done{};
                               },
                               &self};
    CHECK(worker.run.claim());
    CHECK(worker.run.handle());
    CHECK(renewals.size() == 3);
    CHECK(worker.run.counts() == worker_counts{.claimed = 3, .finished = 3});
    CHECK(worker.run.beat());  // nobody is there any more
    CHECK(renewals.size() == 3);
}

TEMPLATE_TEST_CASE("a lost lease is told within one beat, its completion refused, and nothing counted twice",
                   "[worker]", EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "x"});
    s.queue.enqueue({.payload = "y"});
    bool first = true;
    auto worker = s.hire(plain, [&](const claimed_job& job, auto& context) -> outcome {
        if (!std::exchange(first, false)) {
            return done{};
        }
        CHECK(s.queue.revoke(job.round.id, job.round.token));
        const auto other = s.queue.claim("other", 1h);
        CHECK(other->id == job.round.id);
        CHECK_FALSE(context.stop_token().stop_requested());
        CHECK(s.hired->run.beat());
        CHECK(context.stop_token().stop_requested());
        CHECK(s.hired->run.beat());
        return done{.result = "late", .receipt = "sent it all the same"};
    });
    CHECK(worker.run.claim());
    CHECK(worker.run.handle());
    CHECK(s.state(1) == job_state::leased);
    CHECK(s.find(1).owner == "other");
    CHECK(s.find(1).result.empty());
    REQUIRE(s.find(1).receipts.size() == 1);
    CHECK(s.find(1).receipts[0].note == "sent it all the same");
    CHECK(worker.losses == std::vector{verdict::superseded});
    CHECK(worker.run.handle());  // the slot goes on: the refused finish has claimed the next
    CHECK(worker.run.counts() == worker_counts{.claimed = 2, .finished = 1, .lost = 1});
    CHECK(worker.errors.empty());
}

TEMPLATE_TEST_CASE("a refused verb of the handler's tells of the loss at once", "[worker]", EVERY_STORE) {
    shop<TestType> s;
    for (int i = 0; i < 2; ++i) {
        s.queue.enqueue({.payload = "x"});
    }
    int i = 0;
    auto worker = s.hire(plain, [&](const claimed_job& job, auto& context) -> outcome {
        CHECK(s.queue.cancel(job.round.id));
        if (++i == 1) {
            CHECK(context.checkpoint("b").why == verdict::cancelled);
        } else {
            CHECK(context.settle(done{}).why == verdict::cancelled);
        }
        CHECK(context.stop_token().stop_requested());
        return done{};
    });
    CHECK(worker.run.claim());
    CHECK(worker.run.handle());
    worker.run.claim();
    CHECK(worker.run.handle());
    CHECK(worker.losses == std::vector{verdict::cancelled, verdict::cancelled});
    CHECK(worker.run.counts() == worker_counts{.claimed = 2, .lost = 2});
}

TEMPLATE_TEST_CASE("a lease that ends by the holder's own reckoning fires the token, whatever the store says",
                   "[worker]", EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "x", .deadline = at(600)});
    auto worker = s.hire(plain, [&](const auto&, auto& context) -> outcome {
        CHECK(context.time_left() == millis{600ms});  // never longer than the deadline
        s.clock.set(at(599));
        CHECK(s.hired->run.beat());
        CHECK(context.time_left() == millis{1ms});
        CHECK_FALSE(context.stop_token().stop_requested());
        s.clock.set(at(600));
        s.hired->run.beat();
        CHECK(context.stop_token().stop_requested());
        return done{};
    });
    worker.run.claim();
    worker.run.handle();
    CHECK(worker.losses == std::vector{verdict::past_deadline});
}

TEMPLATE_TEST_CASE("max_hold ends the renewal of a handler that hangs: another has the job at max_hold + lease",
                   "[worker]", EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(with([](auto& o) { o.max_hold = 2000ms; }), [&](const auto&, auto& context) -> outcome {
        for (int t = 300; t < 2000; t += 300) {
            s.clock.set(at(t));
            CHECK(s.hired->run.beat());
        }
        s.clock.set(at(1999));
        CHECK(s.hired->run.beat());
        CHECK_FALSE(context.stop_token().stop_requested());
        s.clock.set(at(2000));
        CHECK(s.hired->run.beat());
        CHECK(context.stop_token().stop_requested());
        for (int t = 2300; t < 2899; t += 100) {
            s.clock.set(at(t));
            CHECK(s.hired->run.beat());
        }
        s.clock.set(at(2898));
        CHECK_FALSE(s.queue.claim("other", 1h));
        s.clock.set(at(2899));  // 1999 + 900: before max_hold + lease
        CHECK(s.queue.claim("other", 1h));
        return done{};
    });
    worker.run.claim();
    worker.run.handle();
    CHECK(worker.losses == std::vector{verdict::superseded});
}

TEMPLATE_TEST_CASE("a handler that returns after max_hold and within its lease has done its job", "[worker]",
                   EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(with([](auto& o) { o.max_hold = 100ms; }), [&](const auto&, auto&) -> outcome {
        s.clock.set(at(899));
        return done{};
    });
    worker.run.claim();
    worker.run.handle();
    CHECK(s.state(1) == job_state::finished);
}

TEMPLATE_TEST_CASE("nothing is claimed ahead unless it is asked for", "[worker]", EVERY_STORE) {
    shop<TestType> s;
    for (int i = 0; i < 10; ++i) {
        s.queue.enqueue({.payload = "x"});
    }
    auto two = s.hire(with([](auto& o) { o.concurrency = 2; }), [](const auto&, auto&) { return done{}; });
    CHECK(two.run.claim());
    CHECK_FALSE(two.run.claim());
    CHECK(two.run.counts().claimed == 2);
    auto ahead = s.hire(with([](auto& o) { o.claim_ahead = 3; }), [](const auto&, auto&) { return done{}; });
    CHECK(ahead.run.claim());
    CHECK(ahead.run.counts().claimed == 4);
    CHECK(ahead.run.handle());
    CHECK(ahead.run.counts().claimed == 5);  // the finish has claimed one more
    two.run.drain();
    ahead.run.drain();
    CHECK(ahead.run.counts() == worker_counts{.claimed = 5, .finished = 1, .released = 4});
}

TEMPLATE_TEST_CASE("a job claimed ahead that has less than min_start left goes back at once, unspent", "[worker]",
                   EVERY_STORE) {
    shop<TestType> s;
    for (int i = 0; i < 3; ++i) {
        s.queue.enqueue({.payload = "x"});
    }
    int handled = 0;
    auto worker = s.hire(with([](auto& o) {
                             o.claim_ahead = 2;
                             o.min_start = 300ms;
                         }),
                         [&](const claimed_job& job, auto&) -> outcome {
                             ++handled;
                             if (job.round.id == job_id{1}) {
                                 s.clock.set(at(600));  // the second has 300 ms left, and then 299
                             } else {
                                 s.clock.advance(1ms);
                             }
                             return set_aside{};
                         });
    CHECK(worker.run.claim());
    CHECK(worker.run.handle());
    CHECK(worker.run.handle());
    CHECK(s.state(2) == job_state::quarantined);
    CHECK(worker.run.handle());
    CHECK(handled == 2);
    CHECK(s.state(3) == job_state::ready);
    CHECK(s.find(3).attempt == 0);
    CHECK(s.find(3).waits == false);
    CHECK(worker.run.counts() == worker_counts{.claimed = 3, .released = 1, .set_aside = 2});
}

TEMPLATE_TEST_CASE("a job with less than min_start before its deadline costs one claim, and the job behind it runs",
                   "[worker]", EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "short", .priority = 1, .deadline = at(299)});
    s.queue.enqueue({.payload = "behind"});
    std::vector<std::string> handled;
    auto worker = s.hire(with([](auto& o) { o.min_start = 300ms; }), [&](const claimed_job& job, auto&) -> outcome {
        handled.push_back(job.payload);
        return done{};
    });
    while (worker.run.claim() || worker.run.handle()) {
    }
    CHECK(handled == std::vector<std::string>{"behind"});
    CHECK(worker.run.counts() == worker_counts{.claimed = 2, .finished = 1, .released = 1});
    CHECK(s.state(1) == job_state::ready);
    CHECK(s.find(1).attempt == 0);
    CHECK(s.find(1).vests_at == at(299));
    s.clock.set(at(299));
    CHECK_FALSE(worker.run.claim());
    CHECK(s.find(1).reason == "deadline_passed");
}

TEMPLATE_TEST_CASE("a job that waits behind another goes back before its lease is over, unspent", "[worker]",
                   EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "x"});
    s.queue.enqueue({.payload = "y", .max_attempts = 1});
    auto worker = s.hire(with([](auto& o) { o.claim_ahead = 1; }), [&](const claimed_job& job, auto&) -> outcome {
        if (job.payload == "y") {
            return done{};
        }
        for (const auto t : {300, 600}) {
            s.clock.set(at(t));
            CHECK(s.hired->run.beat());
        }
        CHECK(s.state(2) == job_state::leased);
        s.clock.set(at(601));
        CHECK(s.hired->run.beat());
        CHECK(s.state(2) == job_state::ready);
        CHECK(s.find(2).attempt == 0);
        CHECK(s.find(2).lapses == 0);
        return done{};
    });
    CHECK(worker.run.claim());
    CHECK(worker.run.handle());
    CHECK(worker.run.handle());  // claimed anew
    CHECK(worker.run.counts().finished == 2);
}

TEMPLATE_TEST_CASE("a fresh lease is begun, however near min_start is to it", "[worker]", EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(with([](auto& o) { o.min_start = 899ms; }), [](const auto&, auto&) { return done{}; });
    CHECK(worker.run.claim());
    s.clock.set(at(5));
    CHECK(worker.run.handle());
    CHECK(worker.run.counts() == worker_counts{.claimed = 1, .finished = 1});
}

TEMPLATE_TEST_CASE("what is claimed ahead is filled up while work goes on", "[worker]", EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(with([](auto& o) { o.claim_ahead = 5; }), [](const auto&, auto&) { return done{}; });
    CHECK(worker.run.claim());
    for (int i = 0; i < 10; ++i) {
        s.queue.enqueue({.payload = "x"});
    }
    CHECK(worker.run.handle());
    CHECK(worker.run.counts().claimed == 1 + 6);
    worker.run.drain();
}

TEMPLATE_TEST_CASE("events are told when the marker is free again", "[worker]", EVERY_STORE) {
    TestType place;
    manual_clock clock;
    std::function<void(const event&)> listen;
    basic_lease_queue queue{place.store(), clock, {.on_event = [&](const event& what) {
                                if (listen) {
                                    listen(what);
                                }
                            }}};
    queue.enqueue({.payload = "x"});
    std::vector<event_kind> told;
    worker w{queue, plain, [&](const auto&, auto& context) {
                 listen = [&](const event& what) {
                     told.push_back(what.what);
                     if (told.size() == 1) {
                         CHECK(context.leave_receipt("told"));
                     }
                 };
                 CHECK(context.settle(done{}));
                 listen = nullptr;
             }};
    CHECK(w.claim());
    CHECK(w.handle());
    CHECK(told == std::vector{event_kind::finished});
    CHECK(queue.find(job_id{1})->receipts.size() == 1);
}

TEMPLATE_TEST_CASE("a verb inside a session of the queue's is an error, not a wait", "[worker]", EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(plain, [&](const auto&, auto& context) -> outcome {
        s.queue.transact([&](auto&) {
            CHECK_THROWS_AS(context.checkpoint("b"), std::logic_error);
            CHECK_THROWS_AS(context.settle(done{}), std::logic_error);
            CHECK_THROWS_AS(context.leave_receipt("n"), std::logic_error);
        });
        CHECK(context.checkpoint("b"));
        return done{};
    });
    worker.run.claim();
    CHECK(worker.run.handle());
    CHECK(worker.run.counts() == worker_counts{.claimed = 1, .finished = 1});
}

TEMPLATE_TEST_CASE("the stop gives back what has not begun, and running handlers drain under renewal", "[worker]",
                   EVERY_STORE) {
    shop<TestType> s;
    for (int i = 0; i < 4; ++i) {
        s.queue.enqueue({.payload = "x"});
    }
    auto worker = s.hire(with([](auto& o) {
                             o.claim_ahead = 2;
                             o.drain_timeout = 5000ms;
                             o.grace = 1000ms;
                         }),
                         [&](const auto&, auto& context) -> outcome {
                             s.hired->run.drain();
                             CHECK(s.state(2) == job_state::ready);
                             CHECK(s.find(2).attempt == 0);
                             CHECK(s.state(3) == job_state::ready);
                             CHECK_FALSE(s.hired->run.claim());
                             for (int t = 300; t < 5000; t += 300) {
                                 s.clock.set(at(t));
                                 CHECK(s.hired->run.beat());
                                 CHECK(context.time_left() == millis{900ms});
                             }
                             s.clock.set(at(4999));
                             CHECK(s.hired->run.beat());
                             CHECK_FALSE(context.stop_token().stop_requested());
                             s.clock.set(at(5000));
                             CHECK(s.hired->run.beat());
                             CHECK(context.stop_token().stop_requested());
                             s.clock.set(at(5800));  // its grace, under renewal as well
                             CHECK(s.hired->run.beat());
                             CHECK(context.time_left() == millis{900ms});
                             return release_unspent{};
                         });
    CHECK(worker.run.claim());
    CHECK(worker.run.handle());
    CHECK(s.state(1) == job_state::ready);
    CHECK(s.find(1).attempt == 0);
    CHECK(s.find(1).lapses == 0);
    CHECK_FALSE(worker.run.handle());
    CHECK(worker.run.counts() == worker_counts{.claimed = 3, .released = 3});
    CHECK(worker.errors.empty());
}

TEMPLATE_TEST_CASE("a handler that overstays its grace keeps its job until the lease has run out by itself", "[worker]",
                   EVERY_STORE) {
    shop<TestType> s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(with([](auto& o) {
                             o.drain_timeout = 1000ms;
                             o.grace = 500ms;
                         }),
                         [&](const auto&, auto& context) -> outcome {
                             s.hired->run.drain();
                             for (const auto t : {300, 600, 900, 1200, 1499, 1500, 1800}) {
                                 s.clock.set(at(t));
                                 CHECK(s.hired->run.beat());
                                 CHECK_FALSE(s.queue.claim("other", 1h));
                             }
                             CHECK(context.stop_token().stop_requested());
                             s.clock.set(at(1499 + 899));
                             CHECK(s.hired->run.beat());
                             CHECK_FALSE(s.queue.claim("other", 1h));
                             s.clock.set(at(1499 + 900));
                             CHECK(s.queue.claim("other", 1h)->attempt == 2);
                             return release_unspent{};
                         });
    worker.run.claim();
    worker.run.handle();
    CHECK(s.find(1).owner == "other");
    CHECK(worker.losses == std::vector{verdict::superseded});
}

TEST_CASE("each option that is wrong is refused by its name", "[worker]") {
    queue_in<memory> q;
    const auto refused = [&](void (*change)(worker_options&)) {
        try {
            worker{q.queue, with(change), [](const auto&, auto&) {}};
        } catch (const std::invalid_argument& error) {
            return std::string{error.what()};
        }
        return std::string{"accepted"};
    };
    CHECK(refused([](auto&) {}) == "accepted");
    CHECK_THAT(refused([](auto& o) { o.owner = ""; }), contains("owner: "));
    CHECK_THAT(refused([](auto& o) { o.queues = {"a", std::string(256, 'x')}; }), contains("queues: "));
    CHECK_THAT(refused([](auto& o) { o.lease = 0ms; }), contains("lease: "));
    CHECK_THAT(refused([](auto& o) { o.lease = 1ms; }), contains("lease: 1 ms"));
    CHECK(refused([](auto& o) { o.lease = 2ms; }) == "accepted");
    CHECK_THAT(refused([](auto& o) { o.renew_every = 900ms; }), contains("renew_every: 900 ms"));
    CHECK(refused([](auto& o) { o.renew_every = 899ms; }) == "accepted");
    CHECK_THAT(refused([](auto& o) { o.renew_every = 0ms; }), contains("renew_every: "));
    CHECK_THAT(refused([](auto& o) { o.min_start = 900ms; }), contains("min_start: "));
    CHECK_THAT(refused([](auto& o) { o.min_start = -1ms; }), contains("min_start: "));
    CHECK_THAT(refused([](auto& o) { o.max_hold = 0ms; }), contains("max_hold: "));
    CHECK_THAT(refused([](auto& o) { o.drain_timeout = -1ms; }), contains("drain_timeout: "));
    CHECK_THAT(refused([](auto& o) { o.grace = -1ms; }), contains("grace: "));
    CHECK_THAT(refused([](auto& o) { o.retry_after.first = -1ms; }), contains("retry_after.first: "));
    CHECK_THAT(refused([](auto& o) { o.retry_after = {.first = 2s, .most = 1s}; }), contains("retry_after.most: "));
    CHECK_THAT(refused([](auto& o) { o.retry_after.jitter_percent = 101; }), contains("jitter_percent: "));
    CHECK_THAT(refused([](auto& o) { o.concurrency = 0; }), contains("concurrency: "));
    CHECK_THAT(refused([](auto& o) { o.concurrency = 1025; }), contains("concurrency: "));
    CHECK_THAT(refused([](auto& o) { o.claim_ahead = 1001; }), contains("claim_ahead: "));
    CHECK(refused([](auto& o) {
              o.lease = o.drain_timeout = o.grace = longest;
              o.max_hold = longest;
          }) == "accepted");
}

TEST_CASE("a length that is longer than time itself neither overflows nor spins", "[worker]") {
    shop<memory> s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(with([](auto& o) {
                             o.lease = o.drain_timeout = o.grace = longest;
                             o.max_hold = longest;
                         }),
                         [&](const auto&, auto& context) -> outcome {
                             s.hired->run.drain();
                             s.clock.set(at(1'000'000'000'000'000'000));
                             CHECK(s.hired->run.beat());
                             CHECK(context.time_left() > millis{});
                             CHECK_FALSE(context.stop_token().stop_requested());
                             s.clock.set(at(1));
                             return done{};
                         });
    worker.run.claim();
    worker.run.handle();
    CHECK(s.state(1) == job_state::finished);
}

/// A worker on a store that can be in trouble.
struct troubled_shop {
    using queue_type = basic_lease_queue<manual_clock, troubled::store>;

    troubled::control store{};
    manual_clock clock{};
    queue_type queue{troubled::store{store}, clock};

    at_work<queue_type> hire(worker_options options, body<queue_type> handler) {
        return {queue, std::move(options), std::move(handler), &hired};
    }
    at_work<queue_type>* hired = nullptr;  ///< the last of them
    record find(std::int64_t id) { return *queue.find(job_id{id}); }
};

using troubled::trouble;

TEST_CASE("a slot that goes on finishes and claims in one commit", "[worker]") {
    troubled_shop s;
    for (int i = 0; i < 10; ++i) {
        s.queue.enqueue({.payload = "x"});
    }
    s.store.begun = 0;
    auto worker = s.hire(plain, [](const auto&, auto&) { return done{}; });
    CHECK(worker.run.claim());
    while (worker.run.handle()) {
    }
    CHECK(worker.run.counts() == worker_counts{.claimed = 10, .finished = 10});
    CHECK(s.store.begun == 11);
}

TEST_CASE("a beat is one transaction, however many jobs it renews", "[worker]") {
    troubled_shop s;
    for (int i = 0; i < 3; ++i) {
        s.queue.enqueue({.payload = "x"});
    }
    int depth = 0;
    auto worker = s.hire(with([](auto& o) { o.concurrency = 3; }), [&](const auto&, auto&) -> outcome {
        if (++depth < 3) {
            s.hired->run.handle();
        } else {
            s.store.begun = 0;
            CHECK(s.hired->run.beat());
            CHECK(s.store.begun == 1);
        }
        return done{};
    });
    worker.run.claim();
    CHECK(worker.run.handle());
}

TEST_CASE("what was claimed ahead goes back in batches, a transaction for many", "[worker]") {
    troubled_shop s;
    const std::vector<job> jobs(250);
    s.queue.enqueue_many(jobs);
    auto worker = s.hire(with([](auto& o) { o.claim_ahead = 249; }), [](const auto&, auto&) { return done{}; });
    CHECK(worker.run.claim());
    s.store.begun = 0;
    s.store.set(trouble::lost_after, 1);
    worker.run.drain();
    CHECK(worker.run.beat());
    CHECK(s.store.begun <= 5);
    CHECK(worker.run.counts() == worker_counts{.claimed = 250, .released = 250});
    CHECK(s.queue.stats().queues[0].ready == 250);
}

TEST_CASE("a completion that is said again claims no more jobs than it can know of", "[worker]") {
    troubled_shop s;
    for (int i = 0; i < 6; ++i) {
        s.queue.enqueue({.payload = "x"});
    }
    auto worker = s.hire(plain, [&](const auto&, auto&) {
        s.store.set(trouble::lost_after, 3);
        return done{};
    });
    worker.run.claim();
    worker.run.handle();
    for (int i = 0; i < 4; ++i) {
        worker.run.beat();
    }
    CHECK(worker.run.counts() == worker_counts{.claimed = 1, .finished = 1});
    CHECK(s.queue.stats().queues[0].leased == 1);  // of the first time, whose answer was lost
}

TEST_CASE("a completion that never stood is no completion, though the job was given back since", "[worker]") {
    troubled_shop s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(plain, [&](const auto&, auto&) {
        s.store.set(trouble::lost_before, 1);
        return done{.receipt = "sent"};
    });
    worker.run.claim();
    worker.run.handle();
    CHECK(s.queue.revoke(job_id{1}, claim_token{1}));
    worker.run.beat();
    CHECK(worker.run.counts() == worker_counts{.claimed = 1, .lost = 1});
    CHECK(worker.losses == std::vector{verdict::not_leased});
    CHECK(s.find(1).receipts.size() == 1);
}

TEST_CASE("a settlement of the handler's whose answer is unknown is cleared up, whatever it returns", "[worker]") {
    const auto lost = GENERATE(trouble::lost_before, trouble::lost_after);
    troubled_shop s;
    s.queue.enqueue({.payload = "x"});
    const bool says_settled = GENERATE(true, false);
    auto worker = s.hire(plain, [&](const auto&, auto& context) -> outcome {
        s.store.set(lost, 1);
        CHECK_THROWS_AS(context.settle(done{"r"}), store_unknown);
        if (says_settled) {
            return settled{};
        }
        throw std::runtime_error{"unknown"};
    });
    worker.run.claim();
    worker.run.handle();
    if (lost == trouble::lost_after) {
        CHECK(s.find(1).result == "r");
        CHECK(worker.run.counts() == worker_counts{.claimed = 1, .settled = 1});
    } else {
        CHECK(s.find(1).failures == 1);
        CHECK(worker.run.counts() == worker_counts{.claimed = 1, .failed = 1});
    }
    CHECK(worker.losses.empty());
}

TEST_CASE("a loss that is known needs no answer of the store", "[worker]") {
    troubled_shop s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(plain, [&](const auto&, auto&) -> outcome {
        CHECK(s.queue.cancel(job_id{1}));
        CHECK(s.hired->run.beat());
        s.store.set(trouble::busy);
        return done{};
    });
    worker.run.claim();
    worker.run.handle();
    CHECK(worker.losses == std::vector{verdict::cancelled});
    CHECK(worker.run.counts() == worker_counts{.claimed = 1, .lost = 1});
}

TEST_CASE("one failed beat does not end a job that still holds its lease", "[worker]") {
    troubled_shop s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(plain, [&](const auto&, auto& context) -> outcome {
        s.clock.set(at(300));
        s.store.set(trouble::busy, 1);
        CHECK_FALSE(s.hired->run.beat());
        CHECK_FALSE(context.stop_token().stop_requested());
        CHECK(context.time_left() == millis{600ms});
        s.clock.set(at(899));
        CHECK(s.hired->run.beat());
        CHECK(context.time_left() == millis{900ms});
        return done{};
    });
    worker.run.claim();
    worker.run.handle();
    CHECK(s.find(1).state == job_state::finished);
    REQUIRE(worker.errors.size() == 1);
    CHECK_THAT(worker.errors[0], contains("renewing: taking the write lock"));
}

TEST_CASE("a renewal whose answer is unknown is asked for again before anything else is said", "[worker]") {
    const auto lost = GENERATE(trouble::lost_before, trouble::lost_after);
    const bool beats_again = GENERATE(true, false);
    troubled_shop s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(plain, [&](const auto&, auto& context) -> outcome {
        s.clock.set(at(300));
        s.store.set(lost, 1);
        CHECK_FALSE(s.hired->run.beat());
        CHECK_FALSE(context.stop_token().stop_requested());
        s.clock.set(at(600));
        if (beats_again) {
            CHECK(s.hired->run.beat());
            CHECK(context.time_left() == millis{900ms});
        }
        return done{};
    });
    worker.run.claim();
    worker.run.handle();
    CHECK(s.find(1).state == job_state::finished);
    CHECK(worker.losses.empty());
    CHECK(worker.run.counts() == worker_counts{.claimed = 1, .finished = 1});
}

TEST_CASE("a completion whose answer is unknown is said again, and counted once", "[worker]") {
    const auto lost = GENERATE(trouble::lost_before, trouble::lost_after);
    const std::vector<outcome> kinds{done{"r"}, retry{.after = 1h}, release_unspent{1h}, set_aside{"why"}};
    const std::vector<worker_counts> expected{{.claimed = 1, .finished = 1},
                                              {.claimed = 1, .failed = 1},
                                              {.claimed = 1, .released = 1},
                                              {.claimed = 1, .set_aside = 1}};
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        troubled_shop s;
        s.queue.enqueue({.payload = "x"});
        auto worker = s.hire(plain, [&](const auto&, auto&) {
            s.store.set(lost, 1);
            return kinds[i];
        });
        worker.run.claim();
        CHECK(worker.run.handle());
        CHECK(worker.run.counts() == worker_counts{.claimed = 1});
        CHECK(worker.run.beat());
        CHECK(worker.run.counts() == expected[i]);
        CHECK(s.find(1).state != job_state::leased);
        CHECK(worker.losses.empty());
        CHECK(worker.errors.size() == 1);
    }
}

TEST_CASE("what the store does not take is renewed meanwhile, and said again", "[worker]") {
    troubled_shop s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(plain, [&](const auto&, auto&) {
        s.store.set(trouble::busy, 2);
        return done{"r"};
    });
    worker.run.claim();
    CHECK(worker.run.handle());
    s.clock.set(at(300));
    CHECK_FALSE(worker.run.beat());  // the renewal fails, and then the completion stands
    CHECK(s.find(1).result == "r");
    CHECK(worker.run.beat());
    CHECK(worker.run.counts() == worker_counts{.claimed = 1, .finished = 1});
}

TEST_CASE("a completion that the store does not take before the lease is over lapses, and is told", "[worker]") {
    troubled_shop s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(plain, [&](const auto&, auto&) -> outcome {
        s.store.set(trouble::busy);
        return done{};
    });
    worker.run.claim();
    CHECK(worker.run.handle());
    s.clock.set(at(900));
    (void)worker.run.beat();
    CHECK(worker.run.counts() == worker_counts{.claimed = 1, .lapsed = 1});
    CHECK(s.find(1).state == job_state::leased);
    CHECK_THAT(worker.errors.back(), contains("giving up 1"));
}

TEST_CASE("a result that the store never takes, while it takes renewals, is a failure in the end", "[worker]") {
    troubled_shop s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(plain, [&](const auto&, auto&) -> outcome {
        s.store.set(trouble::no_results);
        return done{.result = "too much"};
    });
    worker.run.claim();
    CHECK(worker.run.handle());
    for (int i = 0; i < 20 && s.find(1).state == job_state::leased; ++i) {
        s.clock.advance(300ms);
        (void)worker.run.beat();
    }
    CHECK(s.find(1).state == job_state::ready);
    CHECK_THAT(s.find(1).last_error, contains("no room"));
    CHECK(worker.run.counts() == worker_counts{.claimed = 1, .failed = 1});
    CHECK(worker.losses.empty());
}

TEST_CASE("where the store refuses a release until the end, the job lapses and the worker says so", "[worker]") {
    troubled_shop s;
    for (int i = 0; i < 2; ++i) {
        s.queue.enqueue({.payload = "x"});
    }
    auto worker = s.hire(with([](auto& o) {
                             o.concurrency = 2;
                             o.drain_timeout = 400ms;
                             o.grace = 100ms;
                         }),
                         [](const auto&, auto&) { return done{}; });
    CHECK(worker.run.claim());
    s.store.set(trouble::busy);
    worker.run.drain();
    s.clock.set(at(499));
    CHECK_FALSE(worker.run.beat());
    CHECK(worker.run.counts() == worker_counts{.claimed = 2});
    s.clock.set(at(500));
    worker.run.beat();
    CHECK(worker.run.counts() == worker_counts{.claimed = 2, .lapsed = 2});
    CHECK_THAT(worker.errors.back(), contains("giving up 2"));
    s.store.set(trouble::none);
    CHECK(s.find(1).state == job_state::leased);
    s.clock.set(at(900));
    CHECK(s.queue.claim("other", 1h)->attempt == 2);
}

TEST_CASE("an error in the claim is reported, and does no harm", "[worker]") {
    troubled_shop s;
    s.queue.enqueue({.payload = "x"});
    auto worker = s.hire(plain, [](const auto&, auto&) { return done{}; });
    s.store.set(trouble::busy, 1);
    CHECK_FALSE(worker.run.claim());
    REQUIRE(worker.errors.size() == 1);
    CHECK_THAT(worker.errors[0], contains("claiming: taking the write lock"));
    CHECK(worker.run.claim());
    CHECK(worker.run.handle());
}

}  // namespace
