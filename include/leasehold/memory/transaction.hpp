// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/clock.hpp>
#include <leasehold/job.hpp>
#include <leasehold/memory/state.hpp>
#include <leasehold/store.hpp>

namespace leasehold::detail::memory {

/// A write transaction: has the store to itself, and takes its changes back unless it commits.
class transaction {
public:
    transaction(state& shared, single_reading clock) : state_{shared}, lock_{shared.mutex}, reading_{clock} {}
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
    ~transaction() { roll_back(); }

    store_id identity() const noexcept { return state_.identity; }
    const reading& now() { return reading_.get(); }

    std::vector<row> vested(std::string_view queue, std::size_t limit) {
        const reading now = reading_.get();
        std::vector<row> rows;
        const auto found = state_.open.find(queue);
        if (found == state_.open.end()) {
            return rows;
        }
        for (const auto& [priority, line] : found->second) {
            auto free = line.free.begin();
            auto waiting = line.waiting.begin();
            while (rows.size() < limit) {
                const bool any_waiting = waiting != line.waiting.end() && waiting->first <= now.at;
                if (free == line.free.end() && !any_waiting) {
                    break;
                }
                const bool take_free = free != line.free.end() && (!any_waiting || *free < *waiting);
                rows.push_back(state_.jobs.at((take_free ? free++ : waiting++)->second).columns);
                if (rows.back().state == job_state::leased && rows.back().vests_at > now.taking_at) {
                    rows.pop_back();
                }
            }
        }
        return rows;
    }

    std::vector<row> hold(std::span<const job_id> ids) {
        std::vector<row> rows;
        rows.reserve(ids.size());
        for (const job_id id : ids) {
            if (const auto found = state_.jobs.find(id); found != state_.jobs.end()) {
                rows.push_back(found->second.columns);
            }
        }
        return rows;
    }

    std::vector<row_bytes> bytes(std::span<const job_id> ids) {
        std::vector<row_bytes> all;
        all.reserve(ids.size());
        for (const job_id id : ids) {
            all.push_back(state_.jobs.at(id).bytes);
        }
        return all;
    }

    std::vector<enqueued> insert(std::span<const insertion> jobs, on_conflict policy) {
        const std::size_t undo_from = undo_.size();
        std::vector<enqueued> answers;
        answers.reserve(jobs.size());
        for (const insertion& made : jobs) {
            answers.push_back(insert(made));
        }
        const auto in_conflict = [](const enqueued& a) { return a.answer == intake::conflict; };
        if (policy == on_conflict::nothing && std::any_of(answers.begin(), answers.end(), in_conflict)) {
            withhold(answers, undo_from);
        }
        return answers;
    }

    std::optional<instant> tail(std::string_view queue, std::int32_t priority) {
        const auto found = state_.open.find(queue);
        if (found == state_.open.end()) {
            return std::nullopt;
        }
        const auto line = found->second.find(priority);
        if (line == found->second.end() || line->second.free.empty()) {
            return std::nullopt;
        }
        return line->second.free.rbegin()->first;
    }

    void write(std::span<const change> changes) {
        for (const change& each : changes) {
            entry& there = state_.jobs.at(each.to->id);
            undo before{.id = each.to->id, .columns = *each.to};
            state_.unindex(there.columns);
            std::swap(there.columns, *before.columns);
            state_.index(there.columns);
            if (each.result) {
                before.result = std::exchange(there.result, std::string{*each.result});
            }
            if (each.checkpoint) {
                before.checkpoint = std::exchange(there.bytes.checkpoint, std::string{*each.checkpoint});
            }
            undo_.push_back(std::move(before));
        }
    }

    void erase(std::span<const job_id> ids) {
        for (const job_id id : ids) {
            undo_.push_back({.id = id, .erased = state_.remove(id)});
        }
    }

    void add_receipt(job_id id, const receipt& note) {
        state_.jobs.at(id).bytes.receipts.push_back(note);
        undo_.push_back({.id = id, .receipt_added = true});
    }

    std::vector<row> ended(instant before, std::size_t limit, bool quarantined) {
        std::vector<row> rows;
        for (const auto& [at, id] : state_.ended) {
            if (at > before || rows.size() == limit) {
                break;
            }
            const row& candidate = state_.jobs.at(id).columns;
            if (quarantined || candidate.state != job_state::quarantined) {
                rows.push_back(candidate);
            }
        }
        return rows;
    }

    void commit() noexcept { undo_.clear(); }

private:
    /// One step back: what it names is put as it was; a row that was made goes.
    struct undo {
        job_id id{};
        bool made = false;
        bool receipt_added = false;
        std::optional<row> columns{};
        std::optional<std::string> result{};
        std::optional<std::string> checkpoint{};
        std::optional<entry> erased{};
    };

    enqueued insert(const insertion& made) {
        const job& work = *made.content;
        if (!work.key.empty()) {
            const auto found = state_.keys.find(state::key_of(work.queue, work.key));
            if (found != state_.keys.end()) {
                const entry& there = state_.jobs.at(found->second);
                return {there.columns.id, there.bytes.payload == work.payload ? intake::duplicate : intake::conflict,
                        there.columns.state};
            }
        }
        entry fresh;
        fresh.columns.assign(made.columns);
        fresh.columns.id = job_id{state_.last_id + 1};
        fresh.columns.queue = work.queue;
        fresh.columns.key = work.key;
        fresh.columns.priority = work.priority;
        fresh.columns.enqueued_at = made.enqueued_at;
        fresh.bytes.payload = work.payload;
        const enqueued answer{fresh.columns.id, intake::accepted, fresh.columns.state};
        undo_.push_back({.id = answer.id, .made = true});
        state_.add(std::move(fresh));
        state_.last_id = answer.id.value;
        return answer;
    }

    /// Takes back what a batch wrote. What refers to a row of its own that is gone again, names none.
    void withhold(std::vector<enqueued>& answers, std::size_t undo_from) {
        roll_back(undo_from);
        for (enqueued& answer : answers) {
            if (answer.answer == intake::accepted) {
                answer = {{}, intake::withheld, job_state::ready};
            } else if (!state_.jobs.contains(answer.id)) {
                answer = {{}, answer.answer == intake::duplicate ? intake::withheld : answer.answer, job_state::ready};
            }
        }
    }

    void roll_back(std::size_t down_to = 0) {
        while (undo_.size() > down_to) {
            step_back(std::move(undo_.back()));
            undo_.pop_back();
        }
    }

    void step_back(undo last) {
        if (last.made) {
            state_.remove(last.id);
            return;
        }
        if (last.erased) {
            state_.add(std::move(*last.erased));
            return;
        }
        entry& there = state_.jobs.at(last.id);
        if (last.receipt_added) {
            there.bytes.receipts.pop_back();
        }
        if (last.columns) {
            state_.unindex(there.columns);
            there.columns = std::move(*last.columns);
            state_.index(there.columns);
        }
        if (last.result) {
            there.result = std::move(*last.result);
        }
        if (last.checkpoint) {
            there.bytes.checkpoint = std::move(*last.checkpoint);
        }
    }

    state& state_;
    std::unique_lock<std::mutex> lock_;
    single_reading reading_;
    std::vector<undo> undo_{};
};

}  // namespace leasehold::detail::memory
