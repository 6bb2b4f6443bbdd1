// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <leasehold/sqlite.hpp>

namespace places {

/// So many jobs in a file, with their numbers as keys.
template <class Place>
void make_jobs(const Place& place, std::size_t count) {
    leasehold::lease_queue queue{place.store()};
    std::vector<leasehold::job> jobs;
    for (std::size_t i = 0; i < count; ++i) {
        jobs.push_back({.key = std::to_string(i), .payload = "x"});
    }
    queue.enqueue_many(jobs);
}

}  // namespace places
