// SPDX-License-Identifier: MIT
/// Several threads on one queue, which share commits: the rate over one thread's, and what group commit costs a thread
/// that is alone.
#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include <leasehold/sqlite.hpp>

#include "comparison.hpp"
#include "measuring.hpp"
#include "rate_of_threads.hpp"
#include "work.hpp"

namespace {

using namespace bench;

constexpr std::size_t group_limit = 64;
constexpr std::size_t rounds = 5;
constexpr std::size_t backlog = 100'000;
constexpr std::array<std::size_t, 6> counts{1, 2, 4, 8, 16, 32};

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
