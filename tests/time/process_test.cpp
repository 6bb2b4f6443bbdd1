// SPDX-License-Identifier: MIT
/// Real processes: one that is stopped for longer than its lease, and several whose wall clock will not keep still.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "support/processes.hpp"
#include "support/soak.hpp"
#include "time/places.hpp"
#include "time/stepped_clock.hpp"

namespace {

using namespace places;

/// Waits for a byte from the other process.
void await(const processes::pipe_ends& pipe) {
    char byte = 0;
    if (::read(pipe.reading(), &byte, 1) != 1) {
        throw std::runtime_error{"the other process has ended"};
    }
}

void wait_until_over(const real_queue& queue, job_id id) {
    while (queue.now() < queue.find(id)->lease_until) {
        std::this_thread::sleep_for(1ms);
    }
}

// ---- A process that is stopped -------------------------------------------------------------------------------------

/// A process that has claimed the one job there is and is stopped until its lease is over. It then says that the job is
/// done, and all else that a holder can say.
template <class Place>
class stopped_holder {
public:
    explicit stopped_holder(const Place& place) : process_{[&] { hold(place); }} {
        await(claimed_);
        process_.stop();
        queue.emplace(place.store());  // after the fork: a child shares no open file
        wait_until_over(*queue, job_id{1});
    }

    /// What it is told, once it goes on.
    std::string goes_on() {
        process_.signal(SIGCONT);
        go_.write("g");
        CHECK(process_.wait() == 0);
        return report_.read_all();
    }

private:
    void hold(const Place& place) const {
        real_queue mine{place.store()};
        mine.enqueue({.payload = "x"});
        lease held = mine.claim("A", 100ms).value();
        claimed_.write("c");
        await(go_);
        std::ostringstream told;
        told << (mine.time_left(held) > millis{} ? "time left" : "late") << ": " << mine.renew(held, 1h).why << ' '
             << mine.checkpoint(held, "late").why << ' ' << mine.fail(held, "late").why << ' ' << mine.release(held).why
             << ' ' << mine.quarantine(held, "late").why << ' ' << mine.finish(held, "late").why
             << (mine.finish(held).ended_by_presented() ? ", its own end" : "") << ", receipt "
             << mine.leave_receipt(held, "delivered").why;
        report_.write(told.str());
    }

    processes::pipe_ends claimed_{};
    processes::pipe_ends go_{};
    processes::pipe_ends report_{};
    processes::child process_;

public:
    std::optional<real_queue> queue{};
};

std::string six_times(const std::string& word) {
    return word + ' ' + word + ' ' + word + ' ' + word + ' ' + word + ' ' + word;
}

TEMPLATE_TEST_CASE("a process stopped past its lease wakes to find the job finished by another, and changes nothing",
                   "[time][process]", SHARED_STORES) {
    const TestType place;
    stopped_holder<TestType> a{place};
    const auto b = a.queue->claim("B", 1h);
    REQUIRE(b);
    CHECK(b->token == claim_token{2});
    CHECK(a.queue->finish(*b, "B's"));
    record before = *a.queue->find(b->id);
    CHECK(a.goes_on() == "late: " + six_times("finished") + ", receipt applied");
    record after = *a.queue->find(b->id);
    REQUIRE(after.receipts.size() == 1);
    CHECK(after.receipts.front().owner == "A");
    after.receipts.clear();
    CHECK(after == before);  // done once, with B's result
    CHECK(after.result == "B's");
    CHECK(after.token == claim_token{2});
    CHECK(after.lapses == 1);
}

TEMPLATE_TEST_CASE("a process stopped past its lease takes nothing from whoever holds the job by then",
                   "[time][process]", SHARED_STORES) {
    const TestType place;
    stopped_holder<TestType> a{place};
    const auto b = a.queue->claim("A", 1h);  // under the same name, even
    REQUIRE(b);
    CHECK(a.queue->checkpoint(*b, "B's"));
    CHECK(a.goes_on() == "late: " + six_times("superseded") + ", receipt applied");
    CHECK(a.queue->find(b->id)->checkpoint == "B's");
    CHECK(a.queue->finish(*b));
}

TEMPLATE_TEST_CASE("a process stopped past its lease is too late even where nobody took the job", "[time][process]",
                   SHARED_STORES) {
    const TestType place;
    stopped_holder<TestType> a{place};
    CHECK(a.goes_on() == "late: " + six_times("expired") + ", receipt applied");
    const auto b = a.queue->claim("B", 1h);
    REQUIRE(b);
    CHECK(b->receipts.size() == 1);
    CHECK(b->checkpoint.empty());
    CHECK(a.queue->finish(*b));
}

TEMPLATE_TEST_CASE("a process stopped between its judgement and its commit keeps the job from all others",
                   "[time][process]", SHARED_STORES) {
    const TestType place;
    processes::pipe_ends judged;
    processes::pipe_ends go;
    const processes::child process{[&] {
        real_queue mine{patient_store(place)};
        mine.enqueue({.payload = "x"});
        const lease held = mine.claim("A", 1s).value();
        mine.transact([&](auto& session) {
            if (!session.finish(held)) {
                throw std::runtime_error{"A's finish came too late: the machine is too busy for this test"};
            }
            judged.write("j");
            await(go);
        });
        judged.write("c");
    }};
    await(judged);
    process.stop();
    real_queue queue{hasty_store(place)};
    wait_until_over(queue, job_id{1});
    // Its lease is over by every clock. It was not when it was judged, and what was judged then is still to come.
    bool is_had = false;
    try {
        is_had = queue.claim("B", 1h).has_value();
    } catch (const store_busy&) {  // NOLINT(bugprone-empty-catch): the file's one lock is A's
    }
    CHECK_FALSE(is_had);
    process.signal(SIGCONT);
    go.write("g");
    await(judged);
    CHECK_FALSE(queue.claim("B", 1h));
    CHECK(queue.find(job_id{1})->state == job_state::finished);
    CHECK(queue.find(job_id{1})->token == claim_token{1});
}

// ---- Several, whose wall clock is stepped --------------------------------------------------------------------------

template <class Place>
using stepped_queue = basic_lease_queue<stepped_clock, typename Place::store_type>;

/// What the processes of one test share.
struct progress {
    std::atomic<std::size_t> finished{0};
    std::atomic<std::size_t> steps{0};
    std::atomic<std::size_t> refused{0};
};

/// Claims and settles until all is finished, in one way or another; tells of each claim and of each finish that counts.
template <class Queue>
std::string work(Queue& queue, progress& all, std::size_t total, std::minstd_rand random) {
    std::ostringstream told;
    const auto finish = [&](const lease& held) {
        if (queue.finish(held)) {
            told << "finished " << held.id << ' ' << held.token << '\n';
            ++all.finished;
        } else {
            ++all.refused;
        }
    };
    const auto up_to = [&](unsigned ms) { return std::chrono::milliseconds{random() % ms}; };
    while (all.finished < total) {
        std::optional<lease> held = queue.wait_claim({}, {.owner = "the same name", .lease_for = 30ms, .wait = 5ms});
        if (!held) {
            continue;
        }
        told << "claimed " << held->id << ' ' << held->token << '\n';
        switch (random() % 8) {
            case 0: break;  // forgotten
            case 1: (void)queue.fail(*held, "e", up_to(40)); break;
            case 2: (void)queue.release(*held, up_to(20)); break;
            case 3:
                std::this_thread::sleep_for(up_to(60));
                finish(*held);
                break;
            case 4:
                (void)queue.renew(*held, 30ms);
                std::this_thread::sleep_for(up_to(40));
                finish(*held);
                break;
            default: finish(*held);
        }
    }
    return told.str();
}

/// Steps the clock to anywhere within the range, every few milliseconds.
std::string step(const stepped_clock& clock, progress& all, std::size_t total, std::minstd_rand random) {
    while (all.finished < total) {
        const std::chrono::milliseconds target{static_cast<std::int64_t>(random() % 1001) - 500};
        clock.step(target - clock.offset().to_chrono());
        ++all.steps;
        std::this_thread::sleep_for(std::chrono::milliseconds{1 + random() % 10});
    }
    return {};
}

/// The rounds that the processes tell of, by job.
struct rounds {
    std::map<std::int64_t, std::multiset<std::int64_t>> claimed{};
    std::map<std::int64_t, std::multiset<std::int64_t>> finished{};

    void add(const std::string& report) {
        std::istringstream lines{report};
        std::string what;
        std::int64_t id = 0;
        std::int64_t token = 0;
        while (lines >> what >> id >> token) {
            (what == "claimed" ? claimed : finished)[id].insert(token);
        }
    }
};

TEMPLATE_TEST_CASE(
    "under a wall clock that steps both ways all the time each round is one process's, and each job is "
    "finished once",
    "[time][process]", SHARED_STORES) {
    const TestType place;
    const stepped_clock clock;
    const std::size_t total = soak(300);
    {
        std::vector<job> jobs;
        for (std::size_t i = 0; i < total; ++i) {
            jobs.push_back({.delay = std::chrono::milliseconds{i % 50}, .max_attempts = 1'000'000});
        }
        stepped_queue<TestType>{patient_store(place), clock}.enqueue_many(jobs);
    }
    const std::uint64_t from = seed();
    INFO("LEASEHOLD_SEED=" << from);
    const auto all = shared_with_children<progress>();
    const auto reports = processes::run_together(
        5, [&](std::size_t) { return std::make_unique<stepped_queue<TestType>>(patient_store(place), clock); },
        [&](std::size_t i, stepped_queue<TestType>& queue) {
            std::minstd_rand random{static_cast<std::uint32_t>(from * 31 + i)};
            random.discard(3);
            return i == 4 ? step(clock, *all, total, random) : work(queue, *all, total, random);
        });

    rounds told;
    for (const std::string& report : reports) {
        REQUIRE(report.find("error") == std::string::npos);
        told.add(report);
    }
    stepped_queue<TestType> queue{patient_store(place), clock};
    std::size_t rows = 0;
    std::int64_t lapses = 0;
    filter which{.limit = 1000};
    for (bool more = true; more;) {
        const page<record> part = queue.list(which);
        for (const record& job : part.items) {
            ++rows;
            lapses += job.lapses;
            INFO("job " << to_text(job.id));
            REQUIRE(job.state == job_state::finished);
            REQUIRE(told.finished[job.id.value] == std::multiset{job.token.value});
            std::multiset<std::int64_t> each_once;
            for (std::int64_t token = 1; token <= job.token.value; ++token) {
                each_once.insert(token);
            }
            REQUIRE(told.claimed[job.id.value] == each_once);
        }
        more = part.next.has_value();
        which.after = part.next.value_or(job_id{});
    }
    CHECK(rows == total);
    CHECK(all->finished == total);
    CHECK(lapses > 0);
    CHECK(all->refused > 0);
    std::cout << "figure: time: " << total << " jobs by 4 processes, " << all->steps
              << " steps of the wall clock under them: each finished once; " << lapses << " leases lapsed, "
              << all->refused << " finishes refused" << std::endl;
}

#ifndef LEASEHOLD_POSTGRES_PROGRAMS  // a process that waits there sleeps otherwise
TEMPLATE_TEST_CASE("a process that waits at the end of another's lease notices a step to it", "[time][process]",
                   SHARED_STORES) {
    const TestType place;
    const stepped_clock clock;
    processes::pipe_ends report;
    {
        stepped_queue<TestType> queue{place.store(), clock};
        queue.enqueue({.payload = "x"});
        REQUIRE(queue.claim("A", 1h));
    }
    processes::child process{[&] {
        stepped_queue<TestType> mine{place.store(), clock};
        const auto held = mine.wait_claim({}, {.owner = "B", .lease_for = 1h, .wait = 60s});
        report.write(held ? "token " + to_text(held->token) : "nothing");
    }};
    process.wait_until_it_waits();
    clock.step(-1h);
    process.wait_until_it_waits();
    clock.step(2h);
    CHECK(process.wait() == 0);
    CHECK(report.read_all() == "token 2");
}
#endif

}  // namespace
