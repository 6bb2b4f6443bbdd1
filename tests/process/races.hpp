// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <leasehold/values.hpp>

#include "support/many_jobs.hpp"
#include "support/places.hpp"
#include "support/processes.hpp"

/// Races of real processes on any store. `open` makes a queue on it, in each process anew.
namespace races {

using namespace places;

/// The store has nothing to claim yet.
template <class Open>
void of_two_processes_one_claims(const Open& open) {
    open()->enqueue({.payload = "x"});
    const auto reports = processes::run_together(
        2, [&](std::size_t) { return open(); },
        [](std::size_t, auto& queue) -> std::string {
            const auto held = queue.claim("worker", 1h);
            return held ? "token " + to_text(held->token) : "nothing";
        });
    INFO(reports[0] << ", " << reports[1]);
    REQUIRE(std::count(reports.begin(), reports.end(), "token 1") == 1);
    REQUIRE(std::count(reports.begin(), reports.end(), "nothing") == 1);
}

/// The store is new.
template <class Open>
void four_processes_finish_each_job_once(const Open& open, std::size_t count) {
    open()->enqueue_many(numbered(count));
    const auto reports = processes::run_together(
        4, [&](std::size_t) { return open(); },
        [](std::size_t, auto& queue) {
            std::string done;
            while (const auto held = queue.claim("worker", 1h)) {
                if (held->token != claim_token{1} || !queue.finish(*held)) {
                    return std::string{"error: a job in another round"};
                }
                done += held->key + ' ';
            }
            return done;
        });
    std::multiset<std::string> done;
    for (const std::string& report : reports) {
        INFO(report.substr(0, 200));
        REQUIRE(report.find("error") == std::string::npos);
        std::istringstream keys{report};
        for (std::string key; keys >> key;) {
            done.insert(key);
        }
    }
    CHECK(done.size() == count);
    CHECK(std::set<std::string>{done.begin(), done.end()}.size() == count);
    CHECK(open()->stats().queues.front().finished == count);
}

}  // namespace races
