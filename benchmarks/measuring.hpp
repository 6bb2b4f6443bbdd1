// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

/// What all benchmarks measure with.
namespace bench {

using steady = std::chrono::steady_clock;  // one for all processes of the machine
using seconds = std::chrono::duration<double>;
using milliseconds = std::chrono::duration<double, std::milli>;

/// What was found, by name. The names are those of report.json.
using figures = benchmark::UserCounters;

/// A name, and what finds figures.
using measurement = std::pair<const char*, void (*)(figures&)>;

/// Registers measurements that do their own rounds: each a benchmark of one iteration. What one throws is its error.
inline bool measured_once(std::initializer_list<measurement> all) {
    for (const measurement& each : all) {
        benchmark::RegisterBenchmark(each.first,
                                     [measure = each.second](benchmark::State& state) {
                                         for ([[maybe_unused]] const auto once : state) {
                                             try {
                                                 measure(state.counters);
                                             } catch (const std::exception& error) {
                                                 state.SkipWithError(error.what());
                                             }
                                         }
                                     })
            ->Iterations(1)
            ->UseRealTime()
            ->Unit(benchmark::kSecond);
    }
    return true;
}

/// The least of the values that `rank` (0 to 1) of them do not exceed.
inline double at_rank(std::vector<double> values, double rank) {
    std::sort(values.begin(), values.end());
    const auto place = static_cast<std::size_t>(std::ceil(rank * static_cast<double>(values.size())));
    return values.at(std::max<std::size_t>(place, 1) - 1);
}

inline double median(std::vector<double> values) { return at_rank(std::move(values), 0.5); }

/// How long the work takes.
template <class Work>
steady::duration time_of(const Work& work) {
    const steady::time_point start = steady::now();
    work();
    return steady::now() - start;
}

/// How many a second, where the work is `count` of them.
template <class Work>
double rate_of(std::size_t count, const Work& work) {
    return static_cast<double>(count) / seconds{time_of(work)}.count();
}

}  // namespace bench
