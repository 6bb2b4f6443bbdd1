// SPDX-License-Identifier: MIT
/// Work that comes again: once a period, whoever works and whatever the clock does.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <leasehold/periodic.hpp>
#include <leasehold/worker.hpp>

#include "support/places.hpp"
#include "support/soak.hpp"

namespace {

using namespace places;

constexpr auto after = [](std::int64_t t, std::int64_t first, millis every) {
    return periodic::first_after(at(t), at(first), every).time_since_epoch().count();
};
static_assert(after(0, 0, 10ms) == 10 && after(9, 0, 10ms) == 10 && after(10, 0, 10ms) == 20);
static_assert(after(-1, 0, 10ms) == 0 && after(-10, 0, 10ms) == 0 && after(-11, 0, 10ms) == -10);
static_assert(after(7, 3, 10ms) == 13 && after(2, 3, 10ms) == 3 && after(3, 3, 10ms) == 13 && after(0, 123, 10ms) == 3);
static_assert(periodic::first_after(instant::max(), at(0), 1h) == instant::max());
static_assert(periodic::first_after(instant::min(), at(0), longest) <= instant::max());

/// A series in a fresh place, due every 100 ms.
template <class Place>
struct series_in : queue_in<Place> {
    explicit series_in(std::int64_t make_up = 0, millis every = 100ms, std::int32_t max_attempts = 5)
        : ticks{{.name = "tick",
                 .every = every,
                 .make_up = make_up,
                 .like = {.payload = "t", .max_attempts = max_attempts}}} {}

    /// Runs what is due now, as a handler does; says which.
    std::vector<std::int64_t> run() {
        std::vector<std::int64_t> done;
        while (auto held = this->queue.claim("W", 50ms)) {
            ticks.enqueue_next(this->queue, held->key);
            done.push_back(ticks.due_at(held->key)->time_since_epoch().count());
            CHECK(this->queue.finish(*held));
        }
        return done;
    }
    std::vector<std::int64_t> run_at(std::int64_t ms) {
        this->clock.set(at(ms));
        return run();
    }

    periodic ticks;
};

using due = std::vector<std::int64_t>;

TEST_CASE("a key says which period it is for, and only of its own name", "[periodic]") {
    const periodic ticks{{.name = "a@b", .every = 1s}};
    CHECK(ticks.key_of(at(-5)) == "a@b@-5");
    CHECK(ticks.due_at("a@b@-5") == at(-5));
    CHECK(ticks.due_at(ticks.key_of(instant::min())) == instant::min());
    for (const char* other : {"", "a@b", "a@b@", "a@b@x", "a@b@05", "a@b@+5", "a@b@5 ", "a@b@5@5", "a@c@5", "xa@b@5",
                              "a@b@9223372036854775808", "a@b@-0"}) {
        CHECK(!ticks.due_at(other));
    }
}

TEST_CASE("what makes no series is refused by its name", "[periodic]") {
    const auto refused = [](const char* what, void (*change)(periodic_options&)) {
        periodic_options options{.name = "tick", .every = 1s};
        change(options);
        CHECK_THROWS_WITH(periodic{options}, contains(what));
    };
    refused("name", [](auto& o) { o.name = ""; });
    refused("name", [](auto& o) { o.name = std::string(235, 'x'); });
    refused("name", [](auto& o) { o.name = "\xFF"; });
    refused("every", [](auto& o) { o.every = millis{}; });
    refused("every", [](auto& o) { o.every = -1ms; });
    refused("make_up", [](auto& o) { o.make_up = -1; });
    refused("like", [](auto& o) { o.like.key = "k"; });
    refused("like", [](auto& o) { o.like.delay = 1s; });
    refused("like", [](auto& o) { o.like.not_before = at(1); });
    refused("like", [](auto& o) { o.like.expires_in = 1s; });
    refused("like", [](auto& o) { o.like.deadline = at(1); });
    refused("max_attempts", [](auto& o) { o.like.max_attempts = 0; });
    const periodic longest_name{{.name = std::string(234, 'x'), .every = 1s}};
    CHECK_NOTHROW(detail::check_job(longest_name.job_of(instant::min())));
}

TEMPLATE_TEST_CASE("any number of processes begin one chain, and each run goes on to the next", "[periodic]",
                   EVERY_STORE) {
    series_in<TestType> s;
    s.clock.set(at(1234));
    CHECK(s.ticks.enqueue_next(s.queue).answer == intake::accepted);
    for (int i = 0; i < 10; ++i) {
        CHECK(s.ticks.enqueue_next(s.queue).answer == intake::duplicate);
    }
    CHECK(s.run() == due{});
    CHECK(s.run_at(1299) == due{});
    CHECK(s.run_at(1300) == due{1300});
    CHECK(s.run_at(1300) == due{});
    CHECK(s.run_at(1450) == due{1400});
    CHECK(s.run_at(1500) == due{1500});
    const record next = *s.queue.find("default", "tick@1600");
    CHECK(next.payload == "t");
    CHECK(next.state == job_state::ready);
    CHECK(!s.ticks.enqueue_next(s.queue, "another@1600"));
}

TEMPLATE_TEST_CASE("missed periods are left out, but for the latest that shall be made up for", "[periodic]",
                   EVERY_STORE) {
    const std::int64_t make_up = GENERATE(0, 2, 1'000'000);
    series_in<TestType> s{make_up};
    s.ticks.enqueue_next(s.queue);
    CHECK(s.run_at(100) == due{100});
    // Nobody was there for a second; what was due first is run late, whatever else is left out.
    const due expected = make_up == 0   ? due{200}
                         : make_up == 2 ? due{200, 1000, 1100}
                                        : due{200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100};
    CHECK(s.run_at(1150) == expected);
    CHECK(s.run_at(1200) == due{1200});
    // The same where a process that starts had mended the chain before.
    s.clock.set(at(2250));
    s.ticks.enqueue_next(s.queue);
    const due late = s.run();
    CHECK(late.front() == 1300);
    CHECK(late.back() == (make_up == 0 ? 1300 : 2200));
    CHECK(s.run_at(2300) == due{2300});
}

TEMPLATE_TEST_CASE("a crash before, between or after the next is enqueued leaves the chain whole", "[periodic]",
                   EVERY_STORE) {
    series_in<TestType> s;
    s.ticks.enqueue_next(s.queue);
    s.clock.set(at(100));
    auto crashed = s.taken("A", 50ms);  // before
    CHECK(s.run_at(150) == due{100});
    s.clock.set(at(200));
    crashed = s.taken("A", 50ms);  // between
    s.ticks.enqueue_next(s.queue, crashed.key);
    CHECK(s.run_at(250) == due{200});
    CHECK(s.run_at(300) == due{300});
    s.clock.set(at(400));
    crashed = s.taken("A", 50ms);  // between, and the next run begins when two periods are over
    s.ticks.enqueue_next(s.queue, crashed.key);
    CHECK(s.run_at(630) == due{400, 500});
    CHECK(s.run_at(700) == due{700});  // the two runs went on to the same
    CHECK(!s.queue.find("default", "tick@600"));

    // The one that stalled comes back: it can settle nothing, and enqueue nothing that is not there.
    CHECK(!s.queue.finish(crashed));
    CHECK(s.ticks.enqueue_next(s.queue, crashed.key)->answer == intake::duplicate);
    CHECK(s.run_at(800) == due{800});
}

TEMPLATE_TEST_CASE("the next and the finish in one commit: both, or neither", "[periodic]", EVERY_STORE) {
    series_in<TestType> s;
    s.ticks.enqueue_next(s.queue);
    s.clock.set(at(100));
    const lease held = s.taken();
    const auto both = [&](bool crash) {
        s.queue.transact([&](auto& session) {
            s.ticks.enqueue_next(session, held.key);
            CHECK(session.finish(held));
            if (crash) {
                throw std::runtime_error{"crash"};
            }
        });
    };
    CHECK_THROWS(both(true));
    CHECK(!s.queue.find("default", "tick@200"));
    both(false);
    CHECK(s.queue.find("default", "tick@200"));
    CHECK(s.queue.find(held.id)->state == job_state::finished);
}

TEMPLATE_TEST_CASE("a clock that is stepped back runs no period twice, and goes on once it is there again",
                   "[periodic]", EVERY_STORE) {
    series_in<TestType> s{GENERATE(0, 5)};
    s.ticks.enqueue_next(s.queue);
    CHECK(s.run_at(100) == due{100});
    CHECK(s.run_at(200) == due{200});
    for (const std::int64_t back : {199, 150, 100, 0, -1000}) {
        s.clock.set(at(back));
        s.ticks.enqueue_next(s.queue);
        for (std::int64_t t = back; t < 300; t += 10) {
            // Instants before the series began have no row, and are run once.
            for (const std::int64_t was_due : s.run_at(t)) {
                CHECK(was_due < 100);
            }
        }
    }
    CHECK(s.run_at(300) == due{300});
    // In the middle of a run: the period that it is for is not the clock's.
    s.clock.set(at(400));
    const lease held = s.taken();
    s.clock.set(at(50));
    CHECK(s.ticks.enqueue_next(s.queue, held.key));
    CHECK(s.queue.find("default", "tick@500"));
    CHECK(s.queue.finish(held));
    CHECK(s.run_at(499) == due{});
    CHECK(s.run_at(500) == due{500});
}

TEMPLATE_TEST_CASE("a clock that was far ahead leaves a chain that the next start mends", "[periodic]", EVERY_STORE) {
    series_in<TestType> s;
    s.ticks.enqueue_next(s.queue);
    CHECK(s.run_at(100) == due{100});
    CHECK(s.run_at(1'000'000'050) == due{200});
    s.clock.set(at(250));
    CHECK(s.run() == due{});
    CHECK(s.run_at(300) == due{});  // the chain waits where the clock was
    s.ticks.enqueue_next(s.queue);
    CHECK(s.run_at(400) == due{400});
    CHECK(s.run_at(500) == due{500});
    CHECK(s.run_at(1'000'000'050) == due{600});
    CHECK(s.run_at(1'000'000'100) == due{1'000'000'100});  // one chain again
    CHECK(s.run_at(1'000'000'200) == due{1'000'000'200});
}

TEMPLATE_TEST_CASE("a job that was cancelled or set aside costs its own period alone", "[periodic]", EVERY_STORE) {
    series_in<TestType> s;
    const enqueued first = s.ticks.enqueue_next(s.queue);
    CHECK(s.queue.cancel(first.id));
    CHECK(s.ticks.enqueue_next(s.queue).state == job_state::cancelled);
    CHECK(s.run_at(100) == due{});
    CHECK(s.ticks.enqueue_next(s.queue).answer == intake::accepted);
    CHECK(s.run_at(200) == due{200});
    // A run that fails each time has gone on before it failed.
    worker fails{s.queue,
                 {.owner = "W", .retry_after = {.first = 1ms, .jitter_percent = 0}},
                 [&](const claimed_job& job, auto&) {
                     s.ticks.enqueue_next(s.queue, job.key);
                     throw std::runtime_error{"no luck"};
                 }};
    for (std::int64_t t = 300; t < 360; ++t) {
        s.clock.set(at(t));
        while (fails.claim() || fails.handle()) {
        }
    }
    CHECK(s.queue.find("default", "tick@300")->state == job_state::quarantined);
    CHECK(s.run_at(400) == due{400});
}

TEMPLATE_TEST_CASE("another period from now on: the chain goes over to it by itself", "[periodic]", EVERY_STORE) {
    series_in<TestType> s;
    s.ticks.enqueue_next(s.queue);
    CHECK(s.run_at(100) == due{100});
    s.ticks = periodic{{.name = "tick", .every = 70ms}};
    CHECK(s.run_at(200) == due{200});
    CHECK(s.run_at(209) == due{});
    CHECK(s.run_at(210) == due{210});
    CHECK(s.run_at(280) == due{280});
}

/// Several processes, each at any step of its work, on a clock that does as it likes; what was due, and what was run.
template <class Place>
struct bedlam : series_in<Place> {
    explicit bedlam(std::mt19937_64& from, std::int64_t make_up)
        : series_in<Place>{make_up, 10ms, 1'000'000}, random{from} {}

    std::uint64_t any(std::uint64_t below) {
        return std::uniform_int_distribution<std::uint64_t>{0, below - 1}(random);
    }

    void step(bool with_clock_steps) {
        switch (any(10)) {
            case 0: this->ticks.enqueue_next(this->queue); break;
            case 1:
            case 2:
            case 3:
                if (auto held = this->queue.claim("W", 15ms)) {
                    at_work.push_back(std::move(*held));
                }
                break;
            case 4:
            case 5: move_on(true); break;
            case 6: move_on(any(3) == 0); break;
            case 7:
                if (with_clock_steps) {
                    this->clock.advance(std::chrono::milliseconds{static_cast<std::int64_t>(any(200)) - 100});
                }
                break;
            default: this->clock.advance(std::chrono::milliseconds{static_cast<std::int64_t>(any(12))}); break;
        }
    }

    /// One of those at work goes on; where it does not finish, it crashes after its next is there, or before.
    void move_on(bool finishes) {
        if (at_work.empty()) {
            return;
        }
        const auto one = at_work.begin() + static_cast<std::ptrdiff_t>(any(at_work.size()));
        if (finishes || any(2) == 0) {
            this->ticks.enqueue_next(this->queue, one->key);
        }
        if (finishes && this->queue.finish(*one)) {
            ++finished[this->ticks.due_at(one->key)->time_since_epoch().count()];
        }
        at_work.erase(one);
    }

    /// All that is due by now is run, by one that does not crash.
    void settle() {
        at_work.clear();
        this->clock.advance(1s);
        for (const std::int64_t was_due : this->run()) {
            ++finished[was_due];
        }
    }

    std::mt19937_64& random;
    std::vector<lease> at_work{};
    std::map<std::int64_t, int> finished{};
};

TEMPLATE_TEST_CASE("whoever crashes, whenever: each period is finished once, and none is left out", "[periodic]",
                   places::memory, places::rollback_file) {
    const std::uint64_t from = seed();
    INFO("LEASEHOLD_SEED=" << from);
    std::mt19937_64 random{from};
    std::size_t periods = 0;
    for (std::size_t round = 0; round < soak(10); ++round) {
        const bool with_clock_steps = round % 2 == 1;
        bedlam<TestType> b{random, 1'000'000};
        b.ticks.enqueue_next(b.queue);
        for (int i = 0; i < 1000; ++i) {
            b.step(with_clock_steps);
        }
        b.settle();
        REQUIRE(!b.finished.empty());
        std::int64_t expected = b.finished.begin()->first;
        for (const auto& [was_due, times] : b.finished) {
            CHECK(times == 1);
            CHECK(was_due == expected);
            expected = was_due + 10;
        }
        periods += b.finished.size();
    }
    CHECK(periods > soak(10) * 50);
    std::cout << "figure: periodic: " << periods << " periods, each once\n";
}

}  // namespace
