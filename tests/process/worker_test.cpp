// SPDX-License-Identifier: MIT
/// Workers in processes of their own, which are killed, stopped and told to end.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include <leasehold/receiver_ledger.hpp>
#include <leasehold/worker.hpp>

#include "support/places.hpp"
#include "support/processes.hpp"

namespace {

using namespace places;

/// Runs until the process is told to end.
template <class Worker>
void run_until_told(Worker& worker) {
    sigset_t asked;
    ::sigemptyset(&asked);
    ::sigaddset(&asked, SIGTERM);
    std::jthread thread{[&](const std::stop_token& stop) { worker.run(stop); }};
    int got = 0;
    ::sigwait(&asked, &got);
}

template <class Place>
struct shared_work : Place {
    shared_work() {
        const receiver_ledger made{effects_path(), ledger()};
        SQLite::Database{effects_path(), SQLite::OPEN_READWRITE}.exec("CREATE TABLE effect (id TEXT, token INTEGER)");
    }

    std::string effects_path() const { return this->folder / "effects.db"; }
    static ledger_options ledger() { return {.file = {.synchronous = synchronous_mode::off, .busy_timeout = 30s}}; }
    sqlite_store store() const {
        return {this->path(), {.journal = Place::journal, .synchronous = synchronous_mode::off, .busy_timeout = 30s}};
    }
    std::string ask(const std::string& query) const {
        return SQLite::Database{effects_path()}.execAndGet(query).getString();
    }
};

TEMPLATE_TEST_CASE("through kills, stops and ends every effect is made exactly once", "[worker]", places::rollback_file,
                   places::wal_file) {
    const shared_work<TestType> place;
    constexpr std::uint64_t total = 2000;
    {
        std::vector<job> jobs;
        for (std::uint64_t i = 0; i < total; ++i) {
            jobs.push_back({.key = std::to_string(i), .payload = "order " + std::to_string(i), .max_attempts = 1000});
        }
        lease_queue{place.store()}.enqueue_many(jobs);
    }
    const auto work = [&](std::uint64_t seed) {
        lease_queue queue{place.store()};
        receiver_ledger ledger{place.effects_path(), shared_work<TestType>::ledger()};
        std::atomic<std::uint64_t> runs = 0;
        worker w{queue,
                 {.owner = "the same name",
                  .lease = 60ms,
                  .concurrency = 4,
                  .drain_timeout = 50ms,
                  .grace = 50ms,
                  .max_hold = 100ms,
                  .claim_ahead = 1},
                 [&](const claimed_job& job, auto& context) -> outcome {
                     std::minstd_rand random{static_cast<std::uint32_t>(seed * 1'000'003 + ++runs)};
                     random.discard(3);
                     // Most are short; some last about as long as a lease, or longer than they may be held.
                     const bool is_long = random() % 10 == 0;
                     std::this_thread::sleep_for(std::chrono::microseconds{random() % (is_long ? 180'000 : 8'000)});
                     const delivered there =
                         ledger.apply(job.key, job.payload, job.round, [&](SQLite::Database& database) {
                             SQLite::Statement insert{database, "INSERT INTO effect VALUES (?, ?)"};
                             insert.bind(1, job.key);
                             insert.bind(2, job.round.token.value);
                             insert.exec();
                         });
                     if (context.stop_token().stop_requested() && random() % 2 == 0) {
                         return release_unspent{};
                     }
                     return done{std::string{to_text(there.what)}};
                 }};
        run_until_told(w);
    };

    std::minstd_rand random{11};  // NOLINT(cert-msc51-cpp): the same every time
    std::uint64_t started = 0;
    const auto hire = [&] { return std::make_unique<processes::child>([&, seed = ++started] { work(seed); }); };
    std::vector<std::unique_ptr<processes::child>> workers;
    workers.push_back(hire());
    workers.push_back(hire());
    const auto open = [&] {
        std::uint64_t count = 0;
        for (const queue_statistics& counted : lease_queue{place.store()}.stats().queues) {
            count += counted.ready + counted.delayed + counted.leased;
        }
        return count;
    };
    const auto deadline = std::chrono::steady_clock::now() + 300s;
    int kinds[3] = {};
    while (open() > 0 && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds{50 + random() % 200});
        auto& one = workers[random() % 2];
        const auto kind = random() % 3;
        ++kinds[kind];
        if (kind == 0) {
            one->signal(SIGKILL);
            one->wait();
            one = hire();
        } else if (kind == 1) {
            one->stop();
            std::this_thread::sleep_for(100ms);
            one->signal(SIGCONT);
        } else {
            one->signal(SIGTERM);
            CHECK(one->wait() == 0);
            one = hire();
        }
    }
    for (auto& each : workers) {
        each->signal(SIGTERM);
        CHECK(each->wait() == 0);
    }

    lease_queue queue{place.store()};
    const statistics now = queue.stats();
    REQUIRE(now.queues.size() == 1);
    CHECK(now.queues[0].finished == total);
    CHECK(place.ask("SELECT count(*) FROM effect") == std::to_string(total));
    CHECK(place.ask("SELECT count(DISTINCT id) FROM effect") == std::to_string(total));
    // It has not been an easy time: jobs were taken over, and their effects found there already.
    std::int64_t lapses = 0;
    std::size_t found_there = 0;
    for (page<record> part = queue.list({.limit = 1000});; part = queue.list({.after = *part.next, .limit = 1000})) {
        for (const record& each : part.items) {
            lapses += each.lapses;
            found_there += each.result_size == to_text(delivery::duplicate).size() ? 1U : 0U;
        }
        if (!part.next) {
            break;
        }
    }
    CHECK(lapses > 0);
    CHECK(found_there > 0);
    for (const int times : kinds) {
        CHECK(times > 0);
    }
}

TEMPLATE_TEST_CASE("a process that was stopped past its lease learns of that before it commits anything", "[worker]",
                   places::rollback_file, places::wal_file) {
    const shared_work<TestType> place;
    {
        lease_queue queue{place.store()};
        queue.enqueue({.payload = "x"});
        SQLite::Database{place.path(), SQLite::OPEN_READWRITE}.exec("CREATE TABLE effect (what TEXT)");
    }
    processes::pipe_ends begun;
    processes::pipe_ends go;
    processes::pipe_ends report;
    processes::child process{[&] {
        lease_queue queue{place.store()};
        SQLite::Database database{place.path(), SQLite::OPEN_READWRITE};
        std::string told;
        std::stop_source stop;
        worker w{queue,
                 {.owner = "W",
                  .lease = 300ms,
                  .on_loss = [&](const settlement& lost) { told += ", lost: " + std::string{to_text(lost.why)}; }},
                 [&](const claimed_job&, auto& context) {
                     begun.write("b");
                     char byte = 0;
                     (void)!::read(go.reading(), &byte, 1);
                     told += context.time_left() <= millis{} ? "no time left" : "time left";
                     const settlement refused = context.commit_in(
                         database, [&](auto&) { database.exec("INSERT INTO effect VALUES ('too late')"); });
                     told += ", " + std::string{to_text(refused.why)};
                     stop.request_stop();
                 }};
        w.run(stop.get_token());
        report.write(told);
    }};
    char byte = 0;
    REQUIRE(::read(begun.reading(), &byte, 1) == 1);
    process.stop();
    {
        lease_queue queue{place.store()};
        const auto taken = queue.wait_claim({}, {.owner = "W", .lease_for = 1h, .wait = 30s});
        REQUIRE(taken);
        CHECK(taken->token == claim_token{2});
    }
    process.signal(SIGCONT);
    go.write("g");
    CHECK(process.wait() == 0);
    CHECK(report.read_all() == "no time left, superseded, lost: superseded");
    CHECK(SQLite::Database{place.path()}.execAndGet("SELECT count(*) FROM effect").getInt() == 0);
    CHECK(lease_queue{place.store()}.find(job_id{1})->token == claim_token{2});
}

}  // namespace
