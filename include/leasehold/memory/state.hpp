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
#include <unordered_map>
#include <utility>

#include <leasehold/job.hpp>
#include <leasehold/random_store_id.hpp>
#include <leasehold/store.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::detail::memory {

struct entry {
    row columns{};
    row_bytes bytes{};
    std::string result{};
};

/// Open rows of one queue and priority, in claim order: those that wait for an instant, and those that do not.
struct lanes {
    using place = std::pair<instant, job_id>;
    std::set<place> free{};
    std::set<place> waiting{};
};

/// All that a memory store holds. Guarded by its mutex, which a transaction or a view keeps until it ends.
struct state {
    using priorities = std::map<std::int32_t, lanes, std::greater<>>;

    std::mutex mutex{};
    store_id identity = random_store_id();
    std::optional<clock_axis> axis{};
    std::int64_t last_id = 0;
    std::map<job_id, entry> jobs{};
    std::unordered_map<std::string, job_id> keys{};
    std::map<std::string, priorities, std::less<>> open{};
    std::set<lanes::place> ended{};

    /// Queue and key in one: names hold no NUL.
    static std::string key_of(std::string_view queue, std::string_view key) {
        return std::string{queue} + '\0' + std::string{key};
    }

    /// Puts a row into the order that its columns call for.
    void index(const row& job) {
        if (has_ended(job.state)) {
            ended.emplace(*job.ended_at, job.id);
            return;
        }
        lanes& line = open[job.queue][job.priority];
        (job.waits ? line.waiting : line.free).emplace(job.vests_at, job.id);
    }

    void unindex(const row& job) {
        if (has_ended(job.state)) {
            ended.erase({*job.ended_at, job.id});
            return;
        }
        const auto queue = open.find(job.queue);
        const auto line = queue->second.find(job.priority);
        (job.waits ? line->second.waiting : line->second.free).erase({job.vests_at, job.id});
        if (line->second.free.empty() && line->second.waiting.empty()) {
            queue->second.erase(line);
        }
        if (queue->second.empty()) {
            open.erase(queue);
        }
    }

    void add(entry made) {
        const job_id id = made.columns.id;
        index(made.columns);
        if (!made.columns.key.empty()) {
            keys.emplace(key_of(made.columns.queue, made.columns.key), id);
        }
        jobs.insert_or_assign(id, std::move(made));
    }

    entry remove(job_id id) {
        auto node = jobs.extract(id);
        unindex(node.mapped().columns);
        if (!node.mapped().columns.key.empty()) {
            keys.erase(key_of(node.mapped().columns.queue, node.mapped().columns.key));
        }
        return std::move(node.mapped());
    }
};

}  // namespace leasehold::detail::memory
