// SPDX-License-Identifier: MIT
/// Periodic work in several processes, which are killed.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <leasehold/periodic.hpp>
#include <leasehold/worker.hpp>

#include "support/places.hpp"
#include "support/processes.hpp"
#include "support/soak.hpp"

namespace {

using namespace places;

const periodic ticks{{.name = "tick", .every = 5ms, .make_up = 1'000'000'000, .like = {.max_attempts = 1'000'000}}};

TEMPLATE_TEST_CASE("through kills of any process each period is worked on once, and none is left out", "[periodic]",
                   rollback_file, wal_file) {
    const TestType place;
    const std::uint64_t from = seed();
    INFO("LEASEHOLD_SEED=" << from);
    std::mt19937_64 random{from};
    lease_queue{place.store()};
    const auto hire = [&] {
        return std::make_unique<processes::child>([&] {
            lease_queue queue{place.store()};
            ticks.enqueue_next(queue);
            worker{queue,
                   {.owner = "any", .lease = 50ms},
                   [&](const claimed_job& job, auto&) { ticks.enqueue_next(queue, job.key); }}
                .run({});
        });
    };
    std::vector<std::unique_ptr<processes::child>> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(hire());
    }
    std::size_t kills = 0;
    for (; kills < soak(40); ++kills) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10 + random() % 50});
        auto& one = all[random() % all.size()];
        one->signal(SIGKILL);
        one->wait();
        one = hire();
    }
    all.clear();

    // Whatever they left is done by one that is not killed, also what comes back late since a lease must lapse first;
    // the chain ends with the first period after that. Then there is a row for each period, once, and finished.
    lease_queue queue{place.store()};
    const instant end = queue.now();
    while (const auto held = queue.wait_claim({}, {.owner = "the last", .lease_for = 1min, .wait = 1s})) {
        if (*ticks.due_at(held->key) <= end) {
            ticks.enqueue_next(queue, held->key);
        }
        CHECK(queue.finish(*held));
    }
    std::vector<instant> done;
    for (std::optional<job_id> after = job_id{}; after;) {
        const page<record> part = queue.list({.state = job_state::finished, .after = *after, .limit = 1000});
        for (const record& each : part.items) {
            done.push_back(*ticks.due_at(each.key));
        }
        after = part.next;
    }
    std::sort(done.begin(), done.end());
    REQUIRE(done.size() > 100);
    for (std::size_t i = 1; i < done.size(); ++i) {
        CHECK(done[i] - done[i - 1] == 5ms);
    }
    CHECK(done.back() == ticks.first_after(end));
    std::cout << "figure: periodic processes: " << done.size() << " periods, " << kills << " kills, each period once\n";
}

}  // namespace
