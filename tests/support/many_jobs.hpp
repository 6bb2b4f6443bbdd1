// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <leasehold/sqlite.hpp>

namespace places {

/// So many jobs, alike but for their keys, which are their numbers.
inline std::vector<leasehold::job> numbered(std::size_t count, leasehold::job like = {.payload = "x"}) {
    std::vector<leasehold::job> jobs;
    for (std::size_t i = 0; i < count; ++i) {
        like.key = std::to_string(i);
        jobs.push_back(like);
    }
    return jobs;
}

/// The same, enqueued in a file.
template <class Place>
void make_jobs(const Place& place, std::size_t count) {
    leasehold::lease_queue{place.store()}.enqueue_many(numbered(count));
}

}  // namespace places
