// SPDX-License-Identifier: MIT
/// Several threads on one queue, which share commits: the rate over one thread's, and what group commit costs a thread
/// that is alone.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <leasehold/sqlite.hpp>

#include "comparison.hpp"
#include "measuring.hpp"
#include "work.hpp"

namespace {

using namespace bench;

constexpr std::size_t group_limit = 64;
constexpr std::size_t rounds = 5;
constexpr std::size_t backlog = 100'000;
constexpr auto window = 600ms;
constexpr std::array<std::size_t, 6> counts{1, 2, 4, 8, 16, 32};

/// Jobs a second of so many threads that begin at the same instant. The backlog is full again afterwards.
double rate_of_threads(lease_queue& queue, std::size_t count) {
    const steady::time_point begin = steady::now() + 20ms;
    const steady::time_point end = begin + window;
    std::vector<std::future<std::vector<job_done>>> threads(count);
    for (auto& each : threads) {
        each = std::async(std::launch::async, [&queue, begin, end] {
            std::this_thread::sleep_until(begin);
            return work_until(queue, end);
        });
    }
    std::size_t all = 0;
    std::size_t in_time = 0;
    for (auto& each : threads) {
        const std::vector<job_done> done = each.get();
        all += done.size();
        in_time += static_cast<std::size_t>(
            std::count_if(done.begin(), done.end(), [end](const job_done& one) { return one.at <= end; }));
    }
    add_jobs(queue, all);
    return static_cast<double>(in_time) / seconds{window}.count();
}

void measure_threads(figures& to) {
    for (const journal_mode journal : both_journals) {
        const std::string of_journal{short_name(journal)};
        const file_of_jobs file{journal, backlog};
        lease_queue queue{{file.path()}, {}, {.group_limit = group_limit}};
        std::vector<std::function<double()>> sides;
        for (const std::size_t count : counts) {
            sides.emplace_back([&queue, count] { return rate_of_threads(queue, count); });
        }
        const auto rates = in_turn(rounds, sides);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            to["threads_" + std::to_string(counts.at(i)) + "_rate_" + of_journal] = median(rates[i]);
        }
        const std::string suffix = journal == journal_mode::wal ? "_wal" : "";
        to["group_commit_gain_8" + suffix] = median_ratio(rates[3], rates[0]);
        to["group_commit_gain_32" + suffix] = median_ratio(rates[5], rates[0]);
    }
}

/// One thread with group commit on, over the same with it off.
void measure_alone(figures& to) {
    double worse = 0;
    for (const journal_mode journal : both_journals) {
        const std::string name = "group_commit_gain_1_" + std::string{short_name(journal)};
        const file_of_jobs file{journal, backlog};
        lease_queue on{{file.path()}, {}, {.group_limit = group_limit}};
        lease_queue off{{file.path()}, {}, {.group_limit = 1}};
        const std::size_t jobs = journal == journal_mode::wal ? 200 : 50;
        const auto turn = [jobs](lease_queue& queue) {
            return rate_of(jobs, [&] {
                for (std::size_t i = 0; i < jobs; ++i) {
                    claim_and_finish(queue);
                }
            });
        };
        compare(to, name, 121, {"on", [&] { return turn(on); }}, {"off", [&] { return turn(off); }});
        worse = worse == 0 ? to[name].value : std::min(worse, to[name].value);
    }
    to["group_commit_gain_1"] = worse;
}

const bool registered = measured_once({{"threads", measure_threads}, {"group_commit_alone", measure_alone}});

}  // namespace
