// SPDX-License-Identifier: MIT
/// One thread on one file beside the floor: claims and finishes, one at a time and in batches, and jobs coming in; a
/// finish and a claim in one commit; and what each of the library's parts adds.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/sqlite.hpp>

#include "comparison.hpp"
#include "floor.hpp"
#include "measuring.hpp"
#include "work.hpp"

namespace {

using namespace bench;

/// How a comparison is made: each turn does `batches` times `batch` jobs.
struct terms {
    journal_mode journal = journal_mode::wal;
    synchronous_mode synchronous = synchronous_mode::full;
    std::size_t rounds = 15;
    std::size_t batches = 1;
    std::size_t batch = 1;

    std::size_t jobs_a_turn() const { return batches * batch; }
    std::size_t jobs() const { return (rounds + 1) * jobs_a_turn(); }
};

// Many short turns: a disk's moods are shorter than a second.
constexpr terms rollback_full{.journal = journal_mode::rollback, .rounds = 151, .batches = 50};
constexpr terms wal_full{.rounds = 101, .batches = 200};
constexpr terms cpu_alone{.synchronous = synchronous_mode::off, .rounds = 75, .batches = 1000};

/// For both sides of a comparison: no two files are equally fast.
file_of_jobs file_for(const terms& how) { return {how.journal, 2 * how.jobs()}; }

lease_queue queue_on(const file_of_jobs& file, const terms& how, queue_options options = {}) {
    return lease_queue{{file.path(), {.synchronous = how.synchronous}}, {}, std::move(options)};
}

floor_queue floor_on(const file_of_jobs& file, const terms& how, floor_parts parts = {}) {
    return {file.path(), how.synchronous == synchronous_mode::off ? "OFF" : "FULL", parts};
}

void work_a_batch(lease_queue& queue, std::size_t batch) {
    batch == 1 ? claim_and_finish(queue) : claim_and_finish_many(queue, batch);
}

void work_a_batch(floor_queue& queue, std::size_t batch) {
    const std::vector<floor_job> held = queue.claim(static_cast<std::int64_t>(batch));
    if (held.size() != batch || queue.finish(held) != batch) {
        fail_for_want_of_jobs();
    }
}

/// A turn of claims and finishes.
template <class Queue>
std::function<double()> turn_of(Queue& queue, const terms& how) {
    return [&queue, how] {
        return rate_of(how.jobs_a_turn(), [&] {
            for (std::size_t i = 0; i < how.batches; ++i) {
                work_a_batch(queue, how.batch);
            }
        });
    };
}

void compare_with_floor(figures& to, const std::string& name, const terms& how) {
    const file_of_jobs file = file_for(how);
    lease_queue ours = queue_on(file, how);
    floor_queue floor = floor_on(file, how);
    compare(to, name, how.rounds, {"ours", turn_of(ours, how)}, {"floor", turn_of(floor, how)});
}

void measure_floor_ratios(figures& to) {
    compare_with_floor(to, "floor_ratio_rollback_full", rollback_full);
    compare_with_floor(to, "floor_ratio_wal_full", wal_full);
    compare_with_floor(to, "floor_ratio_cpu", cpu_alone);
}

void measure_batches(figures& to) {
    compare_with_floor(to, "batch_10_ratio", {.rounds = 51, .batches = 60, .batch = 10});
    compare_with_floor(to, "batch_100_ratio", {.rounds = 31, .batches = 60, .batch = 100});
    compare_with_floor(to, "batch_1000_ratio", {.batches = 15, .batch = 1000});
}

void measure_enqueue(figures& to) {
    constexpr std::size_t batch = 1000;
    constexpr std::size_t batches = 15;
    constexpr terms from_empty{.batches = 0};
    const file_of_jobs file = file_for(from_empty);
    lease_queue ours = queue_on(file, from_empty);
    floor_queue floor = floor_on(file, from_empty);
    const std::vector<job> jobs = some_jobs(batch);
    const std::vector<std::string> payloads(batch, jobs.front().payload);
    const auto turn = [](const auto& enqueue) {
        return rate_of(batch * batches, [&] {
            for (std::size_t i = 0; i < batches; ++i) {
                enqueue();
            }
        });
    };
    compare(to, "enqueue_many_rate", from_empty.rounds,
            {"ours", [&] { return turn([&] { ours.enqueue_many(jobs); }); }},
            {"floor", [&] { return turn([&] { floor.enqueue(payloads); }); }});
}

void measure_finish_and_claim(figures& to) {
    const file_of_jobs file = file_for(wal_full);
    file.add(1);  // the one that is still held at the end
    lease_queue together = queue_on(file, wal_full);
    lease_queue apart = queue_on(file, wal_full);
    std::optional<lease> held = together.claim("bench", 1h);
    const claim_terms next{.owner = "bench", .lease_for = 1h};
    const auto turn = [&] {
        return rate_of(wal_full.batches, [&] {
            for (std::size_t i = 0; i < wal_full.batches; ++i) {
                finished_and_claimed both = together.finish_and_claim(held.value(), {}, next);
                held = std::move(both.next);
            }
        });
    };
    compare(to, "finish_and_claim_gain", wal_full.rounds, {"together", turn}, {"apart", turn_of(apart, wal_full)});
}

/// What a part adds, as the floor's rate with it over the rate without.
void measure_part(figures& to, const std::string& name, floor_parts part) {
    const file_of_jobs file = file_for(cpu_alone);
    floor_queue with = floor_on(file, cpu_alone, part);
    floor_queue without = floor_on(file, cpu_alone);
    compare(to, name, cpu_alone.rounds, {"with", turn_of(with, cpu_alone)}, {"without", turn_of(without, cpu_alone)});
}

void measure_parts(figures& to) {
    measure_part(to, "adds_gate", {.gate = true});
    measure_part(to, "adds_moved_file_check", {.moved_file_check = true});
    measure_part(to, "adds_settlement", {.settlements = true});
    measure_part(to, "adds_first_lookups", {.first_lookups = true});
}

void measure_events(figures& to) {
    std::size_t told = 0;
    const file_of_jobs file = file_for(cpu_alone);
    lease_queue with = queue_on(file, cpu_alone, {.on_event = [&told](const event&) { ++told; }});
    lease_queue without = queue_on(file, cpu_alone);
    compare(to, "adds_events", cpu_alone.rounds, {"with", turn_of(with, cpu_alone)},
            {"without", turn_of(without, cpu_alone)});
}

const bool registered = measured_once({{"floor_ratios", measure_floor_ratios},
                                       {"batches", measure_batches},
                                       {"enqueue", measure_enqueue},
                                       {"finish_and_claim", measure_finish_and_claim},
                                       {"parts", measure_parts},
                                       {"events", measure_events}});

}  // namespace
