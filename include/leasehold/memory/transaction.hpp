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

namespace leasehold::inline v0_1_0::detail::memory {

/// A write transaction: has the store to itself, and takes its changes back unless it commits.
///
/// Each change first gets all the memory that it needs, and then only moves nodes and swaps values; so does each step
/// back. A lack of memory leaves nothing half done, and a rollback cannot fail.
class transaction {
public:
    transaction(state& shared, single_reading clock) : state_{shared}, lock_{shared.locked()}, reading_{clock} {}
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
    ~transaction() {
        roll_back(0);
        if (undo_.capacity() > room_kept) {
            undo_ = std::vector<undo>{};
        }
    }

    store_id identity() const noexcept { return state_.identity; }
    const reading& now() { return reading_.get(); }

    std::vector<row> vested(std::string_view queue, std::size_t limit) {
        const reading now = reading_.get();
        std::vector<row> rows;
        const auto found = state_.open.find(queue);
        if (found == state_.open.end()) {
            return rows;
        }
        for (const auto& [priority, both] : found->second) {
            auto free = both.free.begin();
            auto waiting = both.waiting.begin();
            while (rows.size() < limit) {
                const bool any_waiting = waiting != both.waiting.end() && waiting->first.at <= now.at;
                if (free == both.free.end() && !any_waiting) {
                    break;
                }
                const bool take_free = free != both.free.end() && (!any_waiting || free->first < waiting->first);
                last_ = (take_free ? free++ : waiting++)->second;
                const row& candidate = last_->columns;
                if (candidate.state != job_state::leased || candidate.vests_at <= now.taking_at) {
                    rows.push_back(candidate);
                }
            }
        }
        return rows;
    }

    std::vector<row> hold(std::span<const job_id> ids) {
        std::vector<row> rows;
        rows.reserve(ids.size());
        for (const job_id id : ids) {
            if (const entry* const found = find(id)) {
                rows.push_back(found->columns);
            }
        }
        return rows;
    }

    std::vector<row_bytes> bytes(std::span<const granted_row> rows) {
        std::vector<row_bytes> all;
        all.reserve(rows.size());
        for (const granted_row& each : rows) {
            all.push_back(find(each.id)->bytes);
        }
        return all;
    }

    std::vector<enqueued> insert(std::span<const insertion> jobs, on_conflict policy) {
        const std::size_t undo_from = undo_.size();
        const job_id first_new{state_.last_id + 1};
        std::vector<enqueued> answers;
        answers.reserve(jobs.size());
        for (const insertion& made : jobs) {
            answers.push_back(insert(made));
        }
        if (policy == on_conflict::nothing && any_conflict(answers)) {
            roll_back(undo_from);
            withhold(answers, first_new);
        }
        return answers;
    }

    std::optional<instant> tail(std::string_view queue, std::int32_t priority) {
        const auto found = state_.open.find(queue);
        if (found == state_.open.end()) {
            return std::nullopt;
        }
        const auto both = found->second.find(priority);
        if (both == found->second.end() || both->second.free.empty()) {
            return std::nullopt;
        }
        return both->second.free.rbegin()->first.at;
    }

    void write(std::span<const change> changes) {
        for (const change& each : changes) {
            entry& there = *find(each.to->id);
            lanes* const line = line_for(there, each.to->state);
            columns next = *each.to;
            undo& before = undo_.emplace_back();
            before.job = &there;
            before.line = line;
            if (each.result) {
                before.result = *each.result;
            }
            if (each.checkpoint) {
                before.checkpoint = *each.checkpoint;
            }
            swap(before, there, next);  // a step back without columns, where memory was lacking, does nothing
            emptied_ = emptied_ || (before.line != nullptr && before.line->empty());
            made_ready_ = made_ready_ || each.to->state == job_state::ready;
        }
    }

    void erase(std::span<const job_id> ids) {
        for (const job_id id : ids) {
            make_room();
            undo_.push_back(taken_out(*find(id)));
        }
    }

    void add_receipt(job_id id, const receipt& note) {
        make_room();
        entry& there = *find(id);
        there.bytes.receipts.push_back(note);
        undo_.push_back({.job = &there, .receipt_added = true});
    }

    std::vector<row> ended(instant before, std::size_t limit, bool quarantined) {
        std::vector<row> rows;
        for (const auto& [where, job] : state_.ended) {
            if (where.at > before || rows.size() == limit) {
                break;
            }
            const row& candidate = job->columns;
            if (quarantined || candidate.state != job_state::quarantined) {
                rows.push_back(candidate);
            }
        }
        return rows;
    }

    /// A part of the transaction that stands only once it is released.
    class part {
    public:
        explicit part(transaction& of) noexcept : of_{&of}, from_{of.undo_.size()} {}
        part(const part&) = delete;
        part& operator=(const part&) = delete;
        ~part() {
            if (of_ != nullptr) {
                of_->roll_back(from_);
            }
        }
        void release() noexcept { of_ = nullptr; }

    private:
        transaction* of_;
        std::size_t from_;
    };

    part savepoint() {
        state_.process.refuse_another();
        return part{*this};
    }
    bool is_open() const noexcept { return true; }

    void commit() {
        state_.process.refuse_another();
        for (const undo& done : undo_) {
            if (emptied_ && done.columns) {
                state_.tidy(done.job->columns.queue, done.job->columns.priority);
            }
        }
        undo_.clear();
        if (made_ready_) {
            state_.changes.ring();
        }
    }

private:
    static constexpr std::size_t room_kept = 1024;  ///< steps

    /// A verb asks for the same row several times in a row.
    entry* find(job_id id) noexcept {
        if (last_ == nullptr || last_->columns.id != id) {
            const auto found = state_.jobs.find(id);
            last_ = found == state_.jobs.end() ? nullptr : &found->second;
        }
        return last_;
    }

    enqueued insert(const insertion& made) {
        const job& work = *made.content;
        if (!work.key.empty()) {
            const auto found = state_.keys.find(full_key_view{work.queue, work.key});
            if (found != state_.keys.end()) {
                const entry& there = state_.jobs.at(found->second);
                return {there.columns.id, there.bytes.payload == work.payload ? intake::duplicate : intake::conflict,
                        there.columns.state};
            }
        }
        const job_id id{state_.last_id + 1};
        job_map job_node;
        entry& fresh = job_node[id];
        fresh.columns.assign(made.columns);
        fresh.columns.id = id;
        fresh.columns.queue = work.queue;
        fresh.columns.key = work.key;
        fresh.columns.priority = work.priority;
        fresh.columns.enqueued_at = made.enqueued_at;
        fresh.bytes.payload = work.payload;
        lane place_node;
        place_node.emplace(place_of(fresh.columns), &fresh);
        key_map key_node;
        if (!work.key.empty()) {
            key_node.emplace(full_key{work.queue, work.key}, id);
        }
        make_room();
        fresh.line = line_for(fresh, fresh.columns.state);

        stand(fresh, place_node.extract(place_node.begin()));
        state_.keys.merge(key_node);
        state_.jobs.merge(job_node);
        state_.last_id = id.value;
        made_ready_ = true;
        undo_.push_back({.job = &fresh, .made = true});
        return {id, intake::accepted, made.columns.state};
    }

    /// The lanes of an open row's queue and priority, made where they are not there yet; none for one that has ended.
    lanes* line_for(const entry& job, job_state as) {
        if (has_ended(as)) {
            return nullptr;
        }
        return job.line != nullptr ? job.line : &state_.open[job.columns.queue][job.columns.priority];
    }

    /// For one more step back: from then on nothing can fail.
    void make_room() {
        if (undo_.size() == undo_.capacity()) {
            undo_.reserve(2 * undo_.size() + 1);
        }
    }

    /// Exchanges what `other` has with what is there, gives the row its next columns, and moves it to its lane.
    void swap(undo& other, entry& there, columns& next) noexcept {
        lane::node_type moved = state_.lane_of(there).extract(there.stands);
        other.columns.emplace(static_cast<columns&&>(there.columns));
        static_cast<columns&>(there.columns) = std::move(next);
        std::swap(there.line, other.line);
        stand(there, std::move(moved));
        if (other.result) {
            std::swap(there.result, *other.result);
        }
        if (other.checkpoint) {
            std::swap(there.bytes.checkpoint, *other.checkpoint);
        }
    }

    /// Puts a row into its lane: mostly behind all others.
    void stand(entry& job, lane::node_type at) noexcept {
        lane& to = state_.lane_of(job);
        at.key() = place_of(job.columns);
        job.stands = to.insert(to.end(), std::move(at));
    }

    /// Takes a row out, whole.
    undo taken_out(entry& job) noexcept {
        undo out{.job = &job};
        out.place = state_.lane_of(job).extract(job.stands);
        const row& known_as = job.columns;
        if (const auto known = state_.keys.find(full_key_view{known_as.queue, known_as.key});
            known != state_.keys.end()) {
            out.key = state_.keys.extract(known);
        }
        out.erased = state_.jobs.extract(known_as.id);
        last_ = nullptr;
        return out;
    }

    void step_back(undo& last) noexcept {
        entry& there = *last.job;
        if (last.made) {
            taken_out(there);
            return;
        }
        if (last.erased) {
            stand(there, std::move(last.place));
            state_.keys.insert(std::move(last.key));
            state_.jobs.insert(std::move(last.erased));
            return;
        }
        if (last.receipt_added) {
            there.bytes.receipts.pop_back();
        }
        if (last.columns) {
            columns earlier = std::move(*last.columns);
            swap(last, there, earlier);
        }
    }

    void roll_back(std::size_t down_to) noexcept {
        while (undo_.size() > down_to) {
            step_back(undo_.back());
            undo_.pop_back();
        }
    }

    state& state_;
    std::unique_lock<std::mutex> lock_;
    single_reading reading_;
    std::vector<undo>& undo_ = state_.undoing;
    entry* last_ = nullptr;  ///< that was found
    bool made_ready_ = false;
    bool emptied_ = false;  ///< lanes of a queue and priority
};

}  // namespace leasehold::inline v0_1_0::detail::memory
