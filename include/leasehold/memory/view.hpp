// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include <leasehold/job.hpp>
#include <leasehold/memory/state.hpp>

namespace leasehold::inline v0_1_0::detail::memory {

/// A snapshot: nothing changes while it lives.
class view {
public:
    explicit view(state& shared) : state_{shared}, lock_{shared.locked()} {}

    std::optional<record> find(job_id id) const {
        const auto found = state_.jobs.find(id);
        if (found == state_.jobs.end()) {
            return std::nullopt;
        }
        record shown = without_bytes(found->second);
        shown.payload = found->second.bytes.payload;
        shown.result = found->second.result;
        shown.checkpoint = found->second.bytes.checkpoint;
        return shown;
    }

    std::optional<record> find(std::string_view queue, std::string_view key) const {
        const auto found = state_.keys.find(full_key_view{queue, key});
        return found == state_.keys.end() ? std::nullopt : find(found->second);
    }

    page<record> list(const filter& which) const {
        page<record> answer;
        for (auto at = state_.jobs.upper_bound(which.after); at != state_.jobs.end(); ++at) {
            const row& candidate = at->second.columns;
            if ((which.queue && candidate.queue != *which.queue) || (which.state && candidate.state != *which.state)) {
                continue;
            }
            if (answer.items.size() == which.limit) {
                answer.next = answer.items.back().id;
                break;
            }
            answer.items.push_back(without_bytes(at->second));
        }
        return answer;
    }

    statistics counts() const {
        std::map<std::string_view, queue_statistics> queues;
        for (const auto& [id, job] : state_.jobs) {
            queues[job.columns.queue].add(job.columns.state, job.columns.waits, 1, job.columns.vests_at);
        }
        statistics answer;
        for (auto& [name, counted] : queues) {
            counted.queue = name;
            answer.queues.push_back(std::move(counted));
        }
        return answer;
    }

    /// From when on a job of the queue may be taken: the earliest instant there is, where one need not wait at all.
    std::optional<instant> next_vesting(std::string_view queue) const {
        std::optional<instant> first;
        const auto found = state_.open.find(queue);
        if (found == state_.open.end()) {
            return first;
        }
        for (const auto& [priority, both] : found->second) {
            if (!both.free.empty()) {
                return instant::min();
            }
            if (!both.waiting.empty()) {
                const instant at = both.waiting.begin()->first.at;
                first = std::min(at, first.value_or(at));
            }
        }
        return first;
    }

private:
    record without_bytes(const entry& job) const {
        record shown{{job.columns}};
        shown.store = state_.identity;
        shown.payload_size = job.bytes.payload.size();
        shown.result_size = job.result.size();
        shown.checkpoint_size = job.bytes.checkpoint.size();
        shown.receipts = job.bytes.receipts;
        return shown;
    }

    state& state_;
    std::unique_lock<std::mutex> lock_;
};

}  // namespace leasehold::inline v0_1_0::detail::memory
