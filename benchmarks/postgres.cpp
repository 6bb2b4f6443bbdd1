// SPDX-License-Identifier: MIT
/// The queue on a PostgreSQL server, one of its own: beside the server's own benchmark with the same statements, and
/// with the shortest that do the work; group commit, batches, growth, and an old snapshot that somebody keeps.
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <leasehold/postgres.hpp>

#include "comparison.hpp"
#include "measuring.hpp"
#include "pgbench.hpp"
#include "postgres/server.hpp"
#include "rate_of_threads.hpp"
#include "work.hpp"

namespace {

using namespace bench;
using leasehold::detail::postgres::statements;

/// A disk's folder, where also a server without rights may be.
constexpr const char* on_disk = "/var/tmp";

/// With a server's usual settings: a commit is on the disk.
servers::server& durable() {
    static servers::server one{{"-c", "max_wal_size=4GB"}, on_disk};
    return one;
}

/// Commits that wait for nothing: only the work shows.
servers::server& unsynced() {
    static servers::server one{{"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "max_wal_size=4GB"}, on_disk};
    return one;
}

/// A queue on a fresh database.
class measured_queue {
public:
    explicit measured_queue(servers::server& on) : data_{on} {}
    postgres_lease_queue* operator->() { return &queue_; }
    postgres_lease_queue& operator*() { return queue_; }
    const servers::database& data() const { return data_; }

    /// Claims and finishes a second.
    double work(std::size_t jobs) {
        return rate_of(jobs, [&] {
            for (std::size_t i = 0; i < jobs; ++i) {
                claim_and_finish(queue_);
            }
        });
    }

private:
    servers::database data_;
    postgres_lease_queue queue_{postgres_store{data_.conninfo()}};
};

/// What a claim and a finish say to the server, in two transactions, each statement answered before the next is sent.
std::string same_statements() {
    const statements says{"leasehold"};
    const std::string lease_until = "(:v_floor::bigint / 1000 + 3600000)";
    const auto written = [&](const std::string& state, const std::string& token, const std::string& attempt,
                             const std::string& until, const std::string& ended_by, const std::string& ended_at) {
        return filled(says.write.text, {":v_id", state, "'bench'", token, attempt, until, "NULL", "true", until, "0",
                                        "0", ended_by, ended_at, "''", "''", "NULL", "NULL", ":v_max_attempts"});
    };
    const std::vector<std::string> claimed{"'default'", "1", "NULL", "NULL", "'{}'", "'{}'", "'{}'"};
    std::string script;
    const auto add = [&](const std::string& text, const std::string& end = ";\n") { script += text + end; };
    add(says.begin.text);
    add(filled(says.vested.text, claimed), " \\gset v_\n");
    add(says.meta.text);
    add(written("1", "(:v_token::bigint + 1)", "(:v_attempt::bigint + 1)", lease_until, "NULL", "NULL"));
    add(says.commit.text);
    add(says.begin.text);
    add(filled(says.hold.text, {":v_id"}), " \\gset h_\n");
    add(says.meta.text);
    add(written("2", ":h_token", ":h_attempt", ":h_lease_until", "0", "(:h_floor::bigint / 1000)"));
    add(says.commit.text);
    return script;
}

/// The least that somebody would write by hand: one statement to take a job, one to finish it.
std::string shortest_statements() {
    return statements{"leasehold"}.of(R"(
        UPDATE {schema}.leasehold_job SET state = 1, owner = 'bench', token = token + 1, attempt = attempt + 1,
               waits = true, lease_until = {server_ms} + 3600000, vests_at = {server_ms} + 3600000
        WHERE id = (SELECT id FROM {schema}.leasehold_job WHERE (state <= 1) IS TRUE AND queue = 'default'
                    AND priority = 0 AND vests_at <= (SELECT {server_ms})
                    ORDER BY vests_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING id, token, attempt, lease_until, payload \gset
        UPDATE {schema}.leasehold_job SET state = 2, ended_by = 0, ended_at = {server_ms}
        WHERE id = :id AND state = 1 AND owner = 'bench' AND token = :token AND attempt = :attempt
          AND lease_until = :lease_until AND {server_ms} < lease_until RETURNING id;
)");
}

void measure_ratios(figures& to) {
    constexpr std::size_t jobs = 300;
    constexpr std::size_t rounds = 15;
    measured_queue queue{durable()};
    add_jobs(*queue, 5 * jobs * (rounds + 2));
    const pgbench same{durable(), queue.data(), same_statements()};
    const pgbench shortest{durable(), queue.data(), shortest_statements()};
    const side ours{"ours", [&] { return queue.work(jobs); }};
    compare(to, "postgres_claim_finish_ratio", rounds, ours, {"pgbench", [&] { return same.rate(jobs); }});
    compare(to, "postgres_over_shortest_ratio", rounds, ours, {"shortest", [&] { return shortest.rate(jobs); }});
}

void measure_together(figures& to) {
    constexpr std::size_t jobs = 200;
    measured_queue queue{durable()};
    add_jobs(*queue, 50'000);
    compare(to, "postgres_group_gain_8", 5, {"threads_8", [&] { return rate_of_threads(*queue, 8); }},
            {"thread", [&] { return rate_of_threads(*queue, 1); }});
    const auto hundreds = [&] {
        return rate_of(10 * jobs, [&] {
            for (std::size_t i = 0; i < jobs / 10; ++i) {
                claim_and_finish_many(*queue, 100);
            }
        });
    };
    compare(to, "postgres_batch_100_gain", 7, {"batch_100", hundreds}, {"single", [&] { return queue.work(jobs); }});
}

/// So many rows, written by SQL. What is over was over at instant 2; what waits, waits until the year 2100.
void add_rows(measured_queue& to, const char* columns, std::size_t count) {
    const std::string insertion =
        "INSERT INTO leasehold.leasehold_job (queue, priority, enqueued_at, max_attempts, failures, lapses, payload, "
        "state, owner, token, attempt, waits, vests_at, lease_until, ended_by, ended_at) "
        "SELECT 'default', 0, 1, 5, 0, 0, decode(repeat('78', 100), 'hex'), ";
    servers::client by = to.data().caller();
    by.run(insertion + columns + " FROM generate_series(1, " + std::to_string(count) + ") AS i");
    by.run("VACUUM (ANALYZE) leasehold.leasehold_job");
}

struct backlog {
    const char* name;
    const char* columns;
};
constexpr std::array<backlog, 4> backlogs{{
    {"ready", "0, '', 0, 0, false, 1, NULL::bigint, NULL::smallint, NULL::bigint"},
    {"finished", "2, 'A', 1, 1, true, 2, 2, 0, 2"},
    {"delayed", "0, '', 0, 0, true, 4102444800000 + i, NULL::bigint, NULL::smallint, NULL::bigint"},
    {"leased", "1, 'A', 1, 1, true, 4102444800000 + i, 4102444800000 + i, NULL::smallint, NULL::bigint"},
}};

void measure_growth(figures& to) {
    constexpr std::size_t jobs = 200;
    for (const backlog& each : backlogs) {
        std::array<measured_queue, 2> queues{measured_queue{unsynced()}, measured_queue{unsynced()}};
        add_rows(queues[0], each.columns, 1'000);
        add_rows(queues[1], each.columns, 1'000'000);
        const auto turn = [](measured_queue& queue) {
            add_jobs(*queue, jobs);
            return queue.work(jobs);
        };
        compare(to, std::string{"postgres_growth_"} + each.name, 15, {"with_1000", [&] { return turn(queues[0]); }},
                {"with_1000000", [&] { return turn(queues[1]); }});
    }
}

/// How long a claim takes while somebody keeps a snapshot from before 50,000 rounds, over how long it took before.
void measure_old_snapshot(figures& to) {
    constexpr std::size_t cycles = 50'000;
    constexpr std::size_t sample = 1'000;
    measured_queue queue{unsynced()};
    add_jobs(*queue, cycles + 3 * sample);
    const auto claim_ms = [&] {
        std::vector<double> took;
        for (std::size_t i = 0; i < sample; ++i) {
            std::optional<lease> held;
            took.push_back(milliseconds{time_of([&] { held = queue->claim("bench", 1h); })}.count());
            if (!held || !queue->finish(*held)) {
                fail_for_want_of_jobs();
            }
        }
        return median(took);
    };
    claim_ms();
    const double before = claim_ms();
    servers::client old = queue.data().caller();
    old.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    old.run("SELECT count(*) FROM leasehold.leasehold_job");
    queue.work(cycles);
    to["postgres_old_snapshot_claim_ms"] = claim_ms();
    to["postgres_old_snapshot_ratio"] = to["postgres_old_snapshot_claim_ms"] / before;
}

const bool registered = measured_once({{"postgres_ratios", measure_ratios},
                                       {"postgres_together", measure_together},
                                       {"postgres_growth", measure_growth},
                                       {"postgres_old_snapshot", measure_old_snapshot}});

}  // namespace
