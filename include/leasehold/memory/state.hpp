// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/bell.hpp>
#include <leasehold/job.hpp>
#include <leasehold/random_store_id.hpp>
#include <leasehold/rules.hpp>
#include <leasehold/store.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::detail::memory {

struct entry {
    row columns{};
    row_bytes bytes{};
    std::string result{};
};

/// Of a row, what a verb may change.
using columns = rules::basic_columns<std::string>;

/// Where a row stands in the order of its lane.
using place = std::pair<instant, job_id>;
using lane = std::set<place>;

inline place place_of(const row& job) { return {has_ended(job.state) ? *job.ended_at : job.vests_at, job.id}; }

/// Open rows of one queue and priority, in claim order: those that do not wait, and those that wait for an instant.
struct lanes {
    lane free{};
    lane waiting{};
    bool empty() const noexcept { return free.empty() && waiting.empty(); }
};

/// Queue and key.
using full_key = std::pair<std::string, std::string>;
using full_key_view = std::pair<std::string_view, std::string_view>;

/// Orders keys and views of them alike, so that a search needs no memory.
struct by_name {
    using is_transparent = void;
    bool operator()(full_key_view a, full_key_view b) const noexcept { return a < b; }
};

using job_map = std::map<job_id, entry>;
using key_map = std::map<full_key, job_id, by_name>;

/// One step back in a transaction: what it names is put as it was. A row that was made goes; one that was erased comes
/// back.
struct undo {
    job_id id{};
    bool made = false;
    bool receipt_added = false;
    std::optional<memory::columns> columns{};
    std::optional<std::string> result{};
    std::optional<std::string> checkpoint{};
    job_map::node_type job{};
    key_map::node_type key{};
    lane::node_type place{};
};

/// All that a memory store holds. Guarded by its mutex, which a transaction or a view keeps until it ends.
struct state {
    using priorities = std::map<std::int32_t, lanes, std::greater<>>;

    std::mutex mutex{};
    bell changes{};  ///< rung by every commit that may have made a job ready
    store_id identity = random_store_id();
    std::optional<clock_axis> axis{};
    std::int64_t last_id = 0;
    job_map jobs{};
    key_map keys{};
    std::map<std::string, priorities, std::less<>> open{};
    lane ended{};
    std::vector<undo> undoing{};  ///< of the transaction that is open; here for the room that it has

    /// The lane that a row belongs into as it stands in `as`; made where it is not there yet.
    lane& lane_of(const row& job, const columns& as) {
        if (has_ended(as.state)) {
            return ended;
        }
        lanes& both = open[job.queue][job.priority];
        return as.waits ? both.waiting : both.free;
    }
    lane& lane_of(const row& job) { return lane_of(job, job); }

    /// Drops the lanes of a queue and priority once nothing is in them.
    void tidy(const std::string& queue, std::int32_t priority) noexcept {
        const auto found = open.find(queue);
        if (found == open.end()) {
            return;
        }
        const auto both = found->second.find(priority);
        if (both != found->second.end() && both->second.empty()) {
            found->second.erase(both);
        }
        if (found->second.empty()) {
            open.erase(found);
        }
    }
};

}  // namespace leasehold::detail::memory
