// SPDX-License-Identifier: MIT
/// Several real processes on one server, which is not kind to them.
#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <leasehold/receiver_ledger.hpp>

#include "postgres/place.hpp"
#include "process/races.hpp"
#include "support/many_jobs.hpp"
#include "support/processes.hpp"
#include "support/soak.hpp"

namespace {

using namespace places;

std::unique_ptr<postgres_lease_queue> opened(const std::string& conninfo) {
    return std::make_unique<postgres_lease_queue>(
        postgres_store{conninfo, {.busy_timeout = 30s, .answer_timeout = 40s}});
}

TEST_CASE("of two processes that start at one instant, exactly one claims the job - postgres", "[process]") {
    const postgres place;
    for (std::size_t round = 0; round < soak(20); ++round) {
        INFO("round " << round);
        races::of_two_processes_one_claims([&] { return opened(place.data.conninfo()); });
    }
}

TEST_CASE("four processes finish every job once, and none is told busy - postgres", "[process]") {
    const postgres place;
    races::four_processes_finish_each_job_once([&] { return opened(place.data.conninfo()); }, soak(2000));
}

TEST_CASE("a child of a fork is refused its parent's connections, and says nothing on them - postgres", "[process]") {
    const postgres place;
    auto queue = opened(place.data.conninfo());
    queue->enqueue({.payload = "x"});
    const postgres_store listening = place.store();
    const std::uint32_t before = listening.changes();
    servers::client other = place.caller();
    const std::string backends =
        "SELECT string_agg(pid::text, ',' ORDER BY pid) FROM pg_stat_activity "
        "WHERE datname = current_database()";
    const std::string there = other.run(backends);
    const auto refused = [](const auto& call) {
        try {
            call();
            ::_exit(3);
        } catch (const store_error&) {  // NOLINT(bugprone-empty-catch): as it shall be
        }
    };
    queue->transact([&](auto& session) {
        session.enqueue({.payload = "y"});
        processes::child forked{[&] { refused([&] { session.enqueue({.payload = "the child's"}); }); }};
        CHECK(forked.wait() == 0);
    });
    processes::child forked{[&] {
        refused([&] { queue->claim("child", 1h); });
        refused([&] { (void)queue->list(); });
        refused([&] { (void)listening.changes(); });
        listening.wake();
        queue.reset();
    }};
    CHECK(forked.wait() == 0);
    CHECK(other.run(backends) == there);
    CHECK(queue->claim("A", 1h)->payload == "x");
    CHECK(queue->claim("A", 1h)->payload == "y");
    CHECK_FALSE(queue->claim("A", 1h));
    CHECK(listening.changes() != before);
    CHECK(other.run(backends) == there);
}

/// Calls until the server lets it through; counts how often it did not.
template <class Call>
auto insisting(int& failed, const Call& call) {
    for (;;) {
        try {
            return call();
        } catch (const store_error&) {
            ++failed;
            std::this_thread::sleep_for(5ms);
        }
    }
}

/// Claims, delivers, finishes, until nothing is left open. What it does not hear an answer to, it does again.
void work(const std::string& conninfo, const std::string& ledger_file, const std::string& report, int number) {
    int failed = 0;
    int late = 0;
    const auto queue = insisting(failed, [&] { return opened(conninfo); });
    receiver_ledger ledger{ledger_file, {.file = {.synchronous = synchronous_mode::off, .busy_timeout = 60s}}};
    const std::string owner = "worker-" + std::to_string(number);
    for (;;) {
        const std::optional<lease> held = insisting(failed, [&] { return queue->claim(owner, 500ms); });
        if (!held) {
            const bool is_over = insisting(failed, [&] {
                return queue->list({.state = job_state::ready, .limit = 1}).items.empty() &&
                       queue->list({.state = job_state::leased, .limit = 1}).items.empty();
            });
            if (is_over) {
                break;
            }
            std::this_thread::sleep_for(5ms);
            continue;
        }
        ledger.apply(held->key, held->payload, claim_round{held->store, held->id, held->token},
                     [&](SQLite::Database& file) {
                         SQLite::Statement add{file, "INSERT INTO effect VALUES (?)"};
                         add.bind(1, held->key);
                         add.exec();
                     });
        const settlement answer = insisting(failed, [&] { return queue->finish(*held, owner); });
        late += answer || answer.ended_by_presented() ? 0 : 1;
    }
    std::ofstream{report} << failed << ' ' << late;
}

TEST_CASE("while backends are killed and the server restarts, four workers bring about each job's effect once",
          "[chaos]") {
    const std::size_t count = soak(2000);
    const std::uint64_t from = seed();
    CAPTURE(from);
    std::mt19937_64 random{from};
    servers::server mine{{"-c", "synchronous_commit=on"}};
    const servers::database data{mine};
    const temporary_folder folder;
    const std::string ledger = folder / "ledger.db";
    opened(data.conninfo())->enqueue_many(numbered(count, {.payload = "x", .max_attempts = 1'000'000}));
    {
        const receiver_ledger made{ledger};
        SQLite::Database file{ledger, SQLite::OPEN_READWRITE};
        file.exec("CREATE TABLE effect (key TEXT NOT NULL)");  // no constraint: what is counted is the ledger's doing
    }
    std::vector<std::unique_ptr<processes::child>> workers;
    for (int i = 0; i < 4; ++i) {
        workers.push_back(std::make_unique<processes::child>(
            [&, i] { work(data.conninfo(), ledger, folder / ("report-" + std::to_string(i)), i); }));
    }
    int killed = 0;
    int restarts = 0;
    const auto left = [&] {
        servers::client by = data.caller();
        return by.number("SELECT count(*) FROM leasehold.leasehold_job WHERE state <= 1");
    };
    for (long open = left(); open > 0; open = left()) {
        std::this_thread::sleep_for(std::chrono::milliseconds{random() % 100});
        if (restarts < 4 && open < static_cast<long>(count) * (4 - restarts) / 5) {
            mine.stop(restarts % 2 == 0 ? SIGINT : SIGQUIT);
            mine.start();
            ++restarts;
        } else {
            servers::client by = data.caller();
            killed += static_cast<int>(by.number(
                "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND datname = current_database() ORDER BY random() LIMIT 1) x"));
        }
    }
    for (auto& each : workers) {
        CHECK(each->wait() == 0);
    }
    int failed = 0;
    int late = 0;
    for (int i = 0; i < 4; ++i) {
        std::ifstream report{folder / ("report-" + std::to_string(i))};
        int mine_failed = 0;
        int mine_late = 0;
        report >> mine_failed >> mine_late;
        failed += mine_failed;
        late += mine_late;
    }
    SQLite::Database file{ledger};
    CHECK(static_cast<std::size_t>(file.execAndGet("SELECT count(*) FROM effect").getInt()) == count);
    CHECK(static_cast<std::size_t>(file.execAndGet("SELECT count(DISTINCT key) FROM effect").getInt()) == count);
    const queue_statistics end = opened(data.conninfo())->stats().queues.at(0);
    CHECK(end.finished == count);
    CHECK(failed > 0);
    CHECK(restarts > 0);
    std::cout << "figure: postgres chaos: " << count << " jobs, " << killed << " backends killed, " << restarts
              << " restarts, " << failed << " calls failed, " << late
              << " late completions refused, each effect once\n";
}

}  // namespace
