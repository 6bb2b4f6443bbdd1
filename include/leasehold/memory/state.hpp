// SPDX-License-Identifier: MIT
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/bell.hpp>
#include <leasehold/job.hpp>
#include <leasehold/process_of.hpp>
#include <leasehold/random_store_id.hpp>
#include <leasehold/rules.hpp>
#include <leasehold/store.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0::detail::memory {

/// Of a row, what a verb may change.
using columns = rules::basic_columns<std::string>;

struct entry;

/// Where a row stands in the order of its lane.
struct place {
    instant at{};
    job_id id{};
    friend auto operator<=>(const place&, const place&) noexcept = default;
};

/// Rows in their order. An entry stays at one address from when it is made until it is gone for good.
using lane = std::map<place, entry*>;

/// Open rows of one queue and priority, in claim order: those that do not wait, and those that wait for an instant.
struct lanes {
    lane free{};
    lane waiting{};
    bool empty() const noexcept { return free.empty() && waiting.empty(); }
};

struct entry {
    row columns{};
    row_bytes bytes{};
    std::string result{};
    lanes* line = nullptr;    ///< of its queue and priority; null where it has ended
    lane::iterator stands{};  ///< in its lane
};

inline place place_of(const row& job) { return {has_ended(job.state) ? *job.ended_at : job.vests_at, job.id}; }

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
    entry* job = nullptr;
    bool made = false;
    bool receipt_added = false;
    std::optional<memory::columns> columns{};
    lanes* line = nullptr;  ///< where the columns are known
    std::optional<std::string> result{};
    std::optional<std::string> checkpoint{};
    job_map::node_type erased{};
    key_map::node_type key{};
    lane::node_type place{};
};

/// All that a memory store holds. Guarded by its mutex, which a transaction or a view keeps until it ends.
struct state {
    using priorities = std::map<std::int32_t, lanes, std::greater<>>;

    process_of process{};
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

    /// Throws `store_unsupported` in a child of the process: its copy of a row would be taken a second time.
    std::unique_lock<std::mutex> locked() {
        process.refuse_another();
        return std::unique_lock{mutex};
    }

    /// The lane that a row belongs into.
    lane& lane_of(const entry& job) noexcept {
        if (job.line == nullptr) {
            return ended;
        }
        return job.columns.waits ? job.line->waiting : job.line->free;
    }

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

}  // namespace leasehold::inline v0_1_0::detail::memory
