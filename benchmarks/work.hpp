// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/sqlite.hpp>

#include "measuring.hpp"
#include "support/temporary_folder.hpp"

/// The work that is measured: files of jobs, and jobs that are claimed and finished.
namespace bench {

using namespace leasehold;
using namespace std::chrono_literals;

inline constexpr std::array both_journals{journal_mode::rollback, journal_mode::wal};

constexpr std::string_view short_name(journal_mode journal) noexcept {
    return journal == journal_mode::wal ? "wal" : "rollback";
}

/// Jobs of 100 bytes.
inline std::vector<job> some_jobs(std::size_t count) {
    return std::vector<job>(count, {.payload = std::string(100, 'x')});
}

template <class Queue>
void add_jobs(Queue& queue, std::size_t count) {
    const std::vector<job> thousand = some_jobs(std::min<std::size_t>(count, 1000));
    for (std::size_t left = count; left > 0;) {
        const std::size_t next = std::min(left, thousand.size());
        queue.enqueue_many(std::span{thousand}.first(next));
        left -= next;
    }
}

/// What was to be measured did not take place.
[[noreturn]] inline void fail_for_want_of_jobs() {
    throw std::runtime_error{"no job was there to be claimed, or held"};
}

/// Takes the next job and finishes it, in two transactions.
template <class Queue>
void claim_and_finish(Queue& queue) {
    const auto held = queue.claim("bench", 1h);
    if (!held || !queue.finish(*held)) {
        fail_for_want_of_jobs();
    }
}

/// The same with so many at a time.
template <class Queue>
void claim_and_finish_many(Queue& queue, std::size_t batch) {
    const auto held = queue.claim_many("bench", 1h, batch);
    const auto settled = queue.finish_many(held);
    if (held.size() != batch || !std::all_of(settled.begin(), settled.end(), [](const auto& s) { return bool{s}; })) {
        fail_for_want_of_jobs();
    }
}

/// One job's claim and finish.
struct job_done {
    steady::time_point at{};
    steady::duration claim_took{};
};

/// Claims and finishes one job after the other.
template <class Queue>
std::vector<job_done> work_until(Queue& queue, steady::time_point end) {
    std::vector<job_done> all;
    while (steady::now() < end) {
        const steady::time_point start = steady::now();
        const auto held = queue.claim("bench", 1h);
        const steady::duration took = steady::now() - start;
        if (!held || !queue.finish(*held)) {
            fail_for_want_of_jobs();
        }
        all.push_back({steady::now(), took});
    }
    return all;
}

/// A file with ready jobs, in a folder of its own.
class file_of_jobs {
public:
    file_of_jobs(journal_mode journal, std::size_t jobs) {
        lease_queue queue{{path_, {.journal = journal, .synchronous = synchronous_mode::off}}};
        add_jobs(queue, jobs);
    }

    const std::string& path() const { return path_; }

    /// Adds jobs without waiting for the disk.
    void add(std::size_t jobs) const {
        lease_queue queue{{path_, {.synchronous = synchronous_mode::off}}};
        add_jobs(queue, jobs);
    }

private:
    places::temporary_folder folder_{};
    std::string path_ = folder_ / "jobs.db";
};

}  // namespace bench
