// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <leasehold/clock.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/job.hpp>
#include <leasehold/random_store_id.hpp>
#include <leasehold/store.hpp>

namespace leasehold {

namespace detail::memory {

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

class view {
public:
    explicit view(state& shared) : state_{shared}, lock_{shared.mutex} {}

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
        const auto found = state_.keys.find(state::key_of(queue, key));
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

}  // namespace detail::memory

/// Keeps jobs in the memory of one process. A handle: copies share their rows, which last as long as the last of them.
class memory_store {
public:
    static constexpr reach reaches = reach::process;

    memory_store() : state_{std::make_shared<detail::memory::state>()} {}

    /// Records the clock's axis at the first call; throws `store_unsupported` for another one.
    void attach(clock_axis axis) {
        const std::unique_lock lock{state_->mutex};
        if (state_->axis.value_or(axis) != axis) {
            throw store_unsupported{"this store's instants are of a " + std::string{to_text(*state_->axis)} +
                                    " clock, not of a " + std::string{to_text(axis)} + " clock"};
        }
        state_->axis = axis;
    }

    template <local_clock Clock>
    detail::memory::transaction begin(const Clock& clock) {
        return detail::memory::transaction{*state_, single_reading::of(clock)};
    }

    detail::memory::view view() { return detail::memory::view{*state_}; }

    store_id renew_identity() {
        const std::unique_lock lock{state_->mutex};
        return state_->identity = detail::random_store_id();
    }

private:
    std::shared_ptr<detail::memory::state> state_;
};

static_assert(lease_store<memory_store>);
static_assert(clock_for<process_clock, memory_store> && clock_for<manual_clock, memory_store>);

}  // namespace leasehold
