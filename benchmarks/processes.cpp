// SPDX-License-Identifier: MIT
/// Several processes on one file, each claiming and finishing one job after the other: their rate over one's, how
/// evenly they share, how long a claim may take; and how soon another one gets in.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <leasehold/sqlite.hpp>

#include "comparison.hpp"
#include "measuring.hpp"
#include "support/processes.hpp"
#include "work.hpp"

namespace {

using namespace bench;

constexpr std::size_t rounds = 3;
constexpr std::size_t backlog = 100'000;
constexpr auto window = 2s;
constexpr std::array<std::size_t, 4> counts{1, 2, 4, 8};

/// What one process did, and the time that it had for it.
struct share {
    steady::time_point begin{};
    steady::time_point end{};
    std::vector<job_done> done{};
};

std::int64_t ticks(steady::time_point at) { return at.time_since_epoch().count(); }
steady::time_point point(std::int64_t ticks) { return steady::time_point{steady::duration{ticks}}; }

std::string to_text(const share& one) {
    std::ostringstream text;
    text << ticks(one.begin) << ' ' << ticks(one.end);
    for (const job_done& each : one.done) {
        text << ' ' << ticks(each.at) << ' ' << each.claim_took.count();
    }
    return text.str();
}

share from_text(const std::string& text) {
    std::istringstream from{text};
    std::int64_t first = 0;
    std::int64_t second = 0;
    from >> first >> second;
    share one{point(first), point(second)};
    while (from >> first >> second) {
        one.done.push_back({point(first), steady::duration{second}});
    }
    if (one.done.empty()) {
        throw std::runtime_error{"a process did nothing: " + text.substr(0, 200)};
    }
    return one;
}

/// What all of them came to.
struct outcome {
    double rate = 0;             ///< jobs a second, in the time that all of them had
    double least_over_most = 0;  ///< jobs of the one that did least, in the same time
    double p99_over_p50 = 0;     ///< a claim's time: of the one that waited longest, over all claims'
};

outcome sum_up(const std::vector<share>& all) {
    steady::time_point begin = all.front().begin;
    steady::time_point end = all.front().end;
    for (const share& one : all) {
        begin = std::max(begin, one.begin);
        end = std::min(end, one.end);
    }
    std::vector<double> jobs;
    std::vector<double> all_claims;
    double longest = 0;
    for (const share& one : all) {
        jobs.push_back(static_cast<double>(std::count_if(one.done.begin(), one.done.end(), [&](const job_done& each) {
            return begin <= each.at && each.at <= end;
        })));
        std::vector<double> claims;
        for (const job_done& each : one.done) {
            claims.push_back(milliseconds{each.claim_took}.count());
        }
        longest = std::max(longest, at_rank(claims, 0.99));
        all_claims.insert(all_claims.end(), claims.begin(), claims.end());
    }
    return {std::accumulate(jobs.begin(), jobs.end(), 0.0) / seconds{end - begin}.count(),
            at_rank(jobs, 0) / at_rank(jobs, 1), longest / median(all_claims)};
}

outcome run_processes(const file_of_jobs& file, std::size_t count) {
    const std::vector<std::string> reports = processes::run_together(
        count,
        [&](std::size_t) {
            return std::make_unique<lease_queue>(sqlite_store{file.path(), {.busy_timeout = 1min}});
        },
        [](std::size_t, lease_queue& queue) {
            const steady::time_point begin = steady::now();
            const steady::time_point end = begin + window;
            return to_text(share{begin, end, work_until(queue, end)});
        });
    std::vector<share> all;
    std::size_t done = 0;
    for (const std::string& report : reports) {
        all.push_back(from_text(report));
        done += all.back().done.size();
    }
    file.add(done);
    return sum_up(all);
}

std::vector<double> each(const std::vector<outcome>& of, double outcome::*what) {
    std::vector<double> values;
    for (const outcome& one : of) {
        values.push_back(one.*what);
    }
    return values;
}

void measure_processes(figures& to) {
    for (const journal_mode journal : both_journals) {
        const std::string of_journal = "_" + std::string{short_name(journal)};
        const file_of_jobs file{journal, backlog};
        std::vector<std::function<outcome()>> sides;
        for (const std::size_t count : counts) {
            sides.emplace_back([&file, count] { return run_processes(file, count); });
        }
        const auto outcomes = in_turn(rounds, sides);
        for (std::size_t i = 0; i < counts.size(); ++i) {
            to["processes_" + std::to_string(counts.at(i)) + "_rate" + of_journal] =
                median(each(outcomes[i], &outcome::rate));
        }
        const std::vector<outcome>& four = outcomes[2];
        to["processes_4_over_1" + of_journal] =
            median_ratio(each(four, &outcome::rate), each(outcomes[0], &outcome::rate));
        to["processes_4_share" + of_journal] = median(each(four, &outcome::least_over_most));
        to["processes_4_p99_over_p50" + of_journal] = median(each(four, &outcome::p99_over_p50));
    }
}

/// Four processes that commit for as long as the object lives.
class load {
public:
    explicit load(const std::string& path) {
        processes::pipe_ends ready;
        for (auto& each : children_) {
            each = std::make_unique<processes::child>([&] {
                lease_queue queue{{path, {.busy_timeout = 1min}}};
                claim_and_finish(queue);
                ready.write("r");
                for (;;) {
                    claim_and_finish(queue);
                }
            });
        }
        for (std::size_t there = 0; there < children_.size(); ++there) {
            char byte = 0;
            if (::read(ready.reading(), &byte, 1) != 1) {
                throw std::runtime_error{"a process that should commit does not"};
            }
        }
    }

private:
    std::array<std::unique_ptr<processes::child>, 4> children_{};
};

/// From a process's wish to have the queue to its first claim, while four others commit.
void measure_open(figures& to) {
    double worse = 0;
    for (const journal_mode journal : both_journals) {
        const file_of_jobs file{journal, backlog};
        const load others{file.path()};
        std::vector<double> took;
        for (int i = 0; i < 5; ++i) {
            std::this_thread::sleep_for(100ms);
            took.push_back(milliseconds{time_of([&] {
                               lease_queue queue{{file.path(), {.busy_timeout = 1min}}};
                               if (!queue.claim("bench", 1h)) {
                                   fail_for_want_of_jobs();
                               }
                           })}.count());
        }
        to["open_under_load_ms_" + std::string{short_name(journal)}] = median(took);
        worse = std::max(worse, median(took));
    }
    to["open_under_load_ms"] = worse;
}

const bool registered = measured_once({{"processes", measure_processes}, {"open_under_load", measure_open}});

}  // namespace
