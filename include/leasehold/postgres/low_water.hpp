// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/postgres/binary.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0::detail::postgres {

/// Before which instant, and id, a queue has no open row, by priority: a claim begins its search there.
///
/// While anybody keeps an old snapshot, the server may not remove from its indexes what has been claimed since, and a
/// search from the beginning passes over all of that each time. So from time to time a claim also looks where the open
/// rows begin. That alone would not do, for a job may be on its way in, with an earlier instant, by a transaction that
/// has not committed. But each transaction takes its number before it reads the server's clock, and an open row's
/// instant is never earlier than that reading. When every transaction of an earlier look has ended, whoever is on the
/// way has begun since, and comes in no earlier than that look began: up to there, what is seen is all there will be.
///
/// Where the server's clock steps back, or its data is replaced by older ones, the next look says so.
class low_water {
public:
    using steady = std::chrono::steady_clock;

    /// A priority, and the instant and id of its first open row.
    struct mark {
        std::int64_t priority = 0;
        instant from{};
        job_id id{};
        friend bool operator==(mark, mark) noexcept = default;
    };

    /// What one statement saw, before its transaction had written anything.
    struct look {
        std::int64_t oldest_running = 0;  ///< every transaction of a lower number has ended
        std::int64_t next = 0;            ///< no transaction of this number or a higher one had begun
        instant began{};                  ///< a reading of the server's clock before the snapshot was taken
        std::vector<mark> first{};        ///< of the priorities that have open rows
    };

    /// Highest priority first.
    std::vector<mark> marks(std::string_view queue) const {
        const std::lock_guard lock{mutex_};
        const auto known = queues_.find(queue);
        return known == queues_.end() ? std::vector<mark>{} : known->second.marks;
    }

    /// The earliest instant there is where nothing is known.
    instant mark_of(std::string_view queue, std::int64_t priority) const {
        const std::lock_guard lock{mutex_};
        if (const auto known = queues_.find(queue); known != queues_.end()) {
            for (const mark& each : known->second.marks) {
                if (each.priority == priority) {
                    return each.from;
                }
            }
        }
        return instant::min();
    }

    /// Whether it is time for a look. Says so once.
    bool is_due(std::string_view queue, steady::time_point now = steady::now()) {
        const std::lock_guard lock{mutex_};
        auto known = queues_.find(queue);
        if (known == queues_.end()) {
            if (queues_.size() >= most_queues) {
                queues_.clear();
            }
            known = queues_.try_emplace(std::string{queue}).first;
        }
        if (now < known->second.due) {
            return false;
        }
        known->second.due = now + shortest_pause;
        return true;
    }

    /// `took` bounds what looking costs: a small part of the time.
    void saw(std::string_view queue, const look& seen, steady::duration took, steady::time_point now = steady::now()) {
        const std::lock_guard lock{mutex_};
        const auto known = queues_.find(queue);
        if (known != queues_.end()) {
            known->second.add(seen);
            known->second.due = now + std::max<steady::duration>(shortest_pause, 20 * took);
        }
    }

private:
    static constexpr std::size_t most_queues = 1000;
    static constexpr std::size_t most_priorities = 64;
    static constexpr std::chrono::milliseconds shortest_pause{100};

    struct line {
        steady::time_point due{};
        std::vector<mark> marks{};
        instant settled = instant::min();  ///< no transaction will make an open row before it
        std::optional<look> earlier{};     ///< whose transactions may still run

        void add(const look& seen) {
            if (earlier && (seen.next < earlier->next || seen.began < earlier->began)) {
                marks.clear();
                settled = instant::min();
                earlier.reset();
            }
            if (earlier && seen.oldest_running >= earlier->next) {
                settled = std::max(settled, earlier->began);
                earlier.reset();
            }
            if (!earlier) {
                earlier = look{seen.oldest_running, seen.next, seen.began, {}};
            }
            for (mark& each : marks) {
                each = {each.priority, settled};
            }
            for (const mark& each : seen.first) {
                const auto at = std::lower_bound(marks.begin(), marks.end(), each,
                                                 [](const mark& a, const mark& b) { return a.priority > b.priority; });
                const mark found = each.from < settled ? each : mark{each.priority, settled};
                if (at != marks.end() && at->priority == each.priority) {
                    *at = found;
                } else {
                    marks.insert(at, found);
                }
            }
            if (marks.size() > most_priorities) {
                marks.resize(most_priorities);
            }
        }
    };

    mutable std::mutex mutex_{};
    std::map<std::string, line, std::less<>> queues_{};
};

/// Marks as statements take them.
struct written_marks {
    explicit written_marks(const std::vector<low_water::mark>& marks) {
        for (const low_water::mark& each : marks) {
            priorities.push(each.priority);
            lows.push(each.from);
            ids.push(each.id.value);
        }
    }
    array<std::int64_t> priorities{};
    array<instant> lows{};
    array<std::int64_t> ids{};
};

}  // namespace leasehold::inline v0_1_0::detail::postgres
