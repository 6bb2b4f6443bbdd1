// SPDX-License-Identifier: MIT
/// wait_claim: from a commit in one process to the claim's return in another, what an idle wait costs, and how fast a
/// stop is. The worse of both journals.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <leasehold/sqlite.hpp>

#include "measuring.hpp"
#include "support/processes.hpp"
#include "work.hpp"

namespace {

using namespace bench;

/// Enqueues `count` jobs a few milliseconds apart, and writes when each was committed.
void enqueue(const std::string& path, int count, int report) {
    lease_queue queue{{path}};
    std::minstd_rand random{1};  // NOLINT(cert-msc51-cpp): the same every time
    for (int i = 0; i < count; ++i) {
        std::this_thread::sleep_for(std::chrono::microseconds{4000 + random() % 6000});
        queue.enqueue({.payload = "x"});
        const auto committed = steady::now();
        (void)!::write(report, &committed, sizeof committed);
    }
}

/// A store that counts how often the database is read.
struct counting_store : sqlite_store {
    counting_store(const std::string& path, std::atomic<int>& to) : sqlite_store{path}, reads{&to} {}
    auto view() const {
        ++*reads;
        return sqlite_store::view();
    }
    std::atomic<int>* reads;
};

double cpu_seconds() {
    std::timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

/// Puts a figure that is the worse of both journals.
void put_worse(figures& to, const std::string& name, double value) { to[name] = std::max(to[name].value, value); }

void measure_wake(figures& to, const std::string& path, int count) {
    const processes::pipe_ends commits;
    processes::child other{[&] { enqueue(path, count, commits.writing()); }};
    lease_queue queue{{path}};
    std::vector<steady::time_point> claimed;
    for (int i = 0; i < count; ++i) {
        if (!queue.wait_claim({}, {.owner = "A", .lease_for = 1h, .wait = 10s})) {
            fail_for_want_of_jobs();
        }
        claimed.push_back(steady::now());
    }
    std::vector<double> wakes;
    for (const auto at : claimed) {
        steady::time_point committed;
        if (::read(commits.reading(), &committed, sizeof committed) != sizeof committed) {
            throw std::runtime_error{"the other process does not say when it committed"};
        }
        wakes.push_back(milliseconds{at - committed}.count());
    }
    other.wait();
    std::vector<double> alone;
    for (int i = 0; i < count; ++i) {
        queue.enqueue({.payload = "x"});
        alone.push_back(milliseconds{time_of([&] {
                            if (!queue.claim("A", 1h)) {
                                fail_for_want_of_jobs();
                            }
                        })}.count());
    }
    put_worse(to, "wake_median_ms_beyond_claim", median(wakes) - median(alone));
    put_worse(to, "wake_p99_ms", at_rank(wakes, 0.99));
}

void measure_idle(figures& to, const std::string& path) {
    std::atomic<int> reads = 0;
    basic_lease_queue queue{counting_store{path, reads}, wall_clock{}};
    const double before = cpu_seconds();
    reads = 0;
    (void)!queue.wait_claim({}, {.owner = "A", .lease_for = 1h, .queues = {"none"}, .wait = 10s});
    put_worse(to, "idle_core_percent", (cpu_seconds() - before) * 10);
    put_worse(to, "idle_reads", reads);
}

void measure_stop(figures& to, const std::string& path) {
    lease_queue queue{{path}};
    std::vector<double> stops;
    for (int i = 0; i < 30; ++i) {
        std::stop_source stop;
        std::thread waits{
            [&] { (void)!queue.wait_claim(stop.get_token(), {.owner = "A", .lease_for = 1h, .queues = {"none"}}); }};
        std::this_thread::sleep_for(20ms);
        stops.push_back(milliseconds{time_of([&] {
                            stop.request_stop();
                            waits.join();
                        })}.count());
    }
    put_worse(to, "stop_ms", at_rank(stops, 1));
}

void measure_waiting(figures& to) {
    for (const journal_mode journal : both_journals) {
        const file_of_jobs file{journal, 0};
        measure_wake(to, file.path(), 500);
        measure_idle(to, file.path());
        measure_stop(to, file.path());
    }
}

const bool registered = measured_once({{"waiting", measure_waiting}});

}  // namespace
