// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <future>
#include <thread>
#include <vector>

#include "measuring.hpp"
#include "work.hpp"

namespace bench {

/// Jobs a second of so many threads that begin at the same instant. The backlog is full again afterwards.
template <class Queue>
double rate_of_threads(Queue& queue, std::size_t count) {
    constexpr auto window = 600ms;
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

}  // namespace bench
