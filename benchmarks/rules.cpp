// SPDX-License-Identifier: MIT
/// One decision of the rules about a holder's call, on plain values: how long it takes, and that it allocates nothing.
#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <vector>

#include <benchmark/benchmark.h>

#include <leasehold/rules.hpp>

#include "measuring.hpp"
#include "support/failing_new.hpp"

namespace {

using namespace bench;
using namespace leasehold;
using namespace std::chrono_literals;

constexpr instant granted{1000ms};

/// The answer is `applied`: the one for which everything is asked.
constexpr rules::columns row{.state = job_state::leased,
                             .owner = "worker-7@host.example",
                             .token = {3},
                             .attempt = 2,
                             .max_attempts = 5,
                             .lease_until = granted + 30s,
                             .deadline = granted + 1h,
                             .waits = true,
                             .vests_at = granted + 30s};
constexpr store_id here{{1, 2, 3}};
constexpr marker_view presented{here, {17}, row.owner, row.token, row.attempt, *row.lease_until};
static_assert(rules::judge(presented, here, &row, granted) == verdict::applied);

void measure_rules(figures& to) {
    constexpr std::size_t decisions = 2'000'000;
    constexpr long plenty = std::numeric_limits<long>::max();
    rules::columns seen = row;
    marker_view shown = presented;
    instant now = granted;
    const auto decide = [&] {
        for (std::size_t i = 0; i < decisions; ++i) {
            benchmark::DoNotOptimize(seen);  // any of it may have changed: nothing is kept from the turn before
            benchmark::DoNotOptimize(shown);
            benchmark::DoNotOptimize(now);
            verdict why = rules::judge(shown, here, &seen, now);
            benchmark::DoNotOptimize(why);
        }
    };
    std::vector<double> nanoseconds;
    for (int round = 0; round < 15; ++round) {
        nanoseconds.push_back(1e9 / rate_of(decisions, decide));
    }
    allocations_left = plenty;
    decide();
    to["rules_allocations"] = static_cast<double>(plenty - allocations_left);
    allocations_left = -1;
    to["rules_ns"] = median(nanoseconds);
}

const bool registered = measured_once({{"rules", measure_rules}});

}  // namespace
