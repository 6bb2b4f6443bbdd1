// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <leasehold/leasehold.hpp>
#include <leasehold/memory_store.hpp>

namespace broken {

using namespace leasehold;

/// What a store may have wrong, one at a time.
enum class fault : std::uint8_t {
    none,
    // the order and the choice of vested rows
    priority_ignored,
    order_by_id,
    latest_first,
    leases_given_early,
    lapsed_leases_never_given,
    delayed_given_early,
    limit_of_vested_ignored,
    rows_of_any_queue,
    stopped_by_a_step_back,
    // what is held, written and erased
    held_in_another_order,
    a_column_dropped,
    payload_touched,
    unnamed_bytes_dropped,
    whole_seconds,
    erase_keeps_the_row,
    erase_keeps_the_key,
    // transactions
    rollback_keeps_the_rows,
    commit_forgets,
    savepoint_ignored,
    savepoint_never_released,
    // keys and ids
    key_unique_across_queues,
    keys_without_case,
    payloads_not_compared,
    withholds_nothing,
    ids_reused,
    // bytes and receipts
    bytes_cut_at_nul,
    bytes_in_order_of_id,
    every_round_the_first,
    receipts_newest_first,
    // the line, and what has ended
    tail_unknown,
    tail_of_those_that_wait,
    limit_of_ended_ignored,
    ended_at_any_time,
    quarantined_always_ended,
    ended_newest_first,
    // whose store it is, and whose clock
    identity_never_renewed,
    identity_known_from_the_start,
    any_axis,
    clock_read_before_the_lock,
    clock_read_twice,
    // what is seen, and who is woken
    view_of_what_is_not_committed,
    view_of_many_moments,
    pages_that_end_early,
    next_vesting_unknown,
    silent_commits,
};

/// What is in a store; `uncommitted`: also while a transaction is open.
struct contents {
    detail::memory::state rows{};
    std::mutex mutex{};
    std::optional<std::vector<record>> uncommitted{};
};

/// A transaction of the store in memory, with the fault that the store has.
class transaction : public detail::memory::transaction {
    using sound = detail::memory::transaction;

public:
    transaction(contents& all, single_reading clock, fault what, const store_id& known_as,
                const std::optional<reading>& early, std::function<reading()> read)
        : sound{all.rows, clock}, all_{all}, fault_{what}, known_as_{known_as}, early_{early}, read_{std::move(read)} {}
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
    ~transaction() {
        if (fault_ == fault::rollback_keeps_the_rows) {
            sound::commit();
        }
        const std::lock_guard lock{all_.mutex};
        all_.uncommitted.reset();
    }

    store_id identity() const { return fault_ == fault::identity_known_from_the_start ? known_as_ : sound::identity(); }

    reading now() {
        if (fault_ == fault::clock_read_twice) {
            (void)sound::now();
            return read_();
        }
        return early_ ? *early_ : sound::now();
    }

    std::vector<row> vested(std::string_view queue, std::size_t limit) {
        constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
        const instant at = now().at;
        const auto by = [](const auto& key) { return [key](const row& a, const row& b) { return key(a) < key(b); }; };
        switch (fault_) {
            case fault::priority_ignored:
                return first(limit, sorted(sound::vested(queue, all), by([](const row& r) {
                                               return std::tuple{r.vests_at, r.id};
                                           })));
            case fault::order_by_id:
                return first(limit, sorted(sound::vested(queue, all), by([](const row& r) { return r.id; })));
            case fault::latest_first:
                return first(limit, sorted(sound::vested(queue, all), by([](const row& r) {
                                               return std::tuple{-r.priority, instant{} - r.vests_at, r.id};
                                           })));
            case fault::leases_given_early:
                return first(limit, open_rows(queue, [&](const row& r) {
                                 return r.state == job_state::leased || !r.waits || r.vests_at <= at;
                             }));
            case fault::delayed_given_early:
                return first(limit, open_rows(queue, [&](const row& r) {
                                 return r.state == job_state::ready || r.vests_at <= at;
                             }));
            case fault::lapsed_leases_never_given:
                return first(limit, open_rows(queue, [&](const row& r) {
                                 return r.state == job_state::ready && (!r.waits || r.vests_at <= at);
                             }));
            case fault::stopped_by_a_step_back:
                return first(limit, open_rows(queue, [&](const row& r) { return r.vests_at <= at; }));
            case fault::limit_of_vested_ignored: return sound::vested(queue, all);
            case fault::rows_of_any_queue:
                return state().open.empty() ? std::vector<row>{} : sound::vested(state().open.begin()->first, limit);
            default: return sound::vested(queue, limit);
        }
    }

    std::vector<row> hold(std::span<const job_id> ids) {
        std::vector<row> rows = sound::hold(ids);
        if (fault_ == fault::held_in_another_order) {
            std::reverse(rows.begin(), rows.end());
        }
        return rows;
    }

    std::vector<row_bytes> bytes(std::span<const granted_row> rows) {
        std::vector<granted_row> asked(rows.begin(), rows.end());
        if (fault_ == fault::bytes_in_order_of_id) {
            std::sort(asked.begin(), asked.end(),
                      [](const granted_row& a, const granted_row& b) { return a.id < b.id; });
        }
        std::vector<row_bytes> all = sound::bytes(asked);
        for (row_bytes& each : all) {
            if (fault_ == fault::receipts_newest_first) {
                std::reverse(each.receipts.begin(), each.receipts.end());
            }
            if (fault_ == fault::every_round_the_first) {
                each.checkpoint.clear();
                each.receipts.clear();
            }
        }
        return all;
    }

    std::vector<enqueued> insert(std::span<const insertion> jobs, on_conflict policy) {
        std::vector<job> contents;
        std::vector<insertion> changed(jobs.begin(), jobs.end());
        contents.reserve(jobs.size());
        for (insertion& each : changed) {
            job& work = contents.emplace_back(*each.content);
            each.content = &work;
            spoil(work);
            spoil(each.columns);
        }
        std::vector<enqueued> answers =
            sound::insert(changed, fault_ == fault::withholds_nothing ? on_conflict::keep_others : policy);
        if (fault_ == fault::payloads_not_compared) {
            for (enqueued& each : answers) {
                each.answer = each.answer == intake::conflict ? intake::duplicate : each.answer;
            }
        }
        show_what_is_not_committed();
        return answers;
    }

    std::optional<instant> tail(std::string_view queue, std::int32_t priority) {
        if (fault_ == fault::tail_unknown) {
            return std::nullopt;
        }
        std::optional<instant> last = sound::tail(queue, priority);
        if (fault_ == fault::tail_of_those_that_wait) {
            for (const row& each : open_rows(queue, [&](const row& r) { return r.priority == priority; })) {
                last = std::max(each.vests_at, last.value_or(each.vests_at));
            }
        }
        return last;
    }

    void write(std::span<const change> changes) {
        for (change each : changes) {
            row to = *each.to;
            each.to = &to;
            if (fault_ == fault::a_column_dropped) {
                to.last_error = state().jobs.at(to.id).columns.last_error;
            }
            if (fault_ == fault::unnamed_bytes_dropped && !each.checkpoint) {
                each.checkpoint = "";
            }
            spoil(to);
            sound::write(std::span{&each, 1});
            if (fault_ == fault::payload_touched) {
                state().jobs.at(to.id).bytes.payload.clear();
            }
        }
        show_what_is_not_committed();
    }

    void erase(std::span<const job_id> ids) {
        for (const job_id id : ids) {
            const row gone = state().jobs.at(id).columns;
            if (fault_ != fault::erase_keeps_the_row) {
                sound::erase(std::span{&id, 1});
            }
            if (fault_ == fault::erase_keeps_the_key) {
                state().keys[{gone.queue, gone.key}] = id;
            }
            if (fault_ == fault::ids_reused) {
                state().last_id = state().jobs.empty() ? 0 : state().jobs.rbegin()->first.value;
            }
        }
    }

    std::vector<row> ended(instant before, std::size_t limit, bool quarantined) {
        constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
        switch (fault_) {
            case fault::limit_of_ended_ignored: return sound::ended(before, all, quarantined);
            case fault::ended_at_any_time: return sound::ended(instant::max(), limit, quarantined);
            case fault::quarantined_always_ended: return sound::ended(before, limit, true);
            case fault::ended_newest_first: {
                std::vector<row> rows = sound::ended(before, all, quarantined);
                std::reverse(rows.begin(), rows.end());
                return first(limit, std::move(rows));
            }
            default: return sound::ended(before, limit, quarantined);
        }
    }

    /// A savepoint, with the fault that the store has.
    class part {
    public:
        part(transaction& of, fault what) : whole_{static_cast<sound&>(of).savepoint()}, fault_{what} {}
        part(const part&) = delete;
        part& operator=(const part&) = delete;
        ~part() {
            if (fault_ == fault::savepoint_ignored) {
                whole_.release();
            }
        }
        void release() noexcept {
            if (fault_ != fault::savepoint_never_released) {
                whole_.release();
            }
        }

    private:
        sound::part whole_;
        fault fault_;
    };

    part savepoint() { return part{*this, fault_}; }

    void commit() {
        if (fault_ != fault::commit_forgets) {
            sound::commit();
        }
    }

private:
    static std::vector<row> first(std::size_t limit, std::vector<row> rows) {
        rows.resize(std::min(limit, rows.size()));
        return rows;
    }

    template <class Before>
    static std::vector<row> sorted(std::vector<row> rows, const Before& before) {
        std::sort(rows.begin(), rows.end(), before);
        return rows;
    }

    detail::memory::state& state() noexcept { return all_.rows; }

    /// In claim order.
    template <class Which>
    std::vector<row> open_rows(std::string_view queue, const Which& which) {
        std::vector<row> rows;
        for (const auto& [id, job] : state().jobs) {
            if (job.columns.queue == queue && !has_ended(job.columns.state) && which(job.columns)) {
                rows.push_back(job.columns);
            }
        }
        return sorted(std::move(rows), [](const row& a, const row& b) {
            return std::tuple{-a.priority, a.vests_at, a.id} < std::tuple{-b.priority, b.vests_at, b.id};
        });
    }

    void spoil(job& work) {
        if (fault_ == fault::bytes_cut_at_nul) {
            work.payload = work.payload.c_str();
        }
        if (fault_ == fault::keys_without_case) {
            for (char& letter : work.key) {
                letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
            }
        }
        if (fault_ == fault::key_unique_across_queues && !work.key.empty()) {
            for (const auto& [known, id] : state().keys) {
                work.queue = known.second == work.key ? known.first : work.queue;
            }
        }
    }

    template <class Columns>
    void spoil(Columns& columns) const {
        if (fault_ == fault::whole_seconds) {
            columns.vests_at = std::chrono::floor<std::chrono::seconds>(columns.vests_at);
            if (columns.lease_until) {
                columns.lease_until = std::chrono::floor<std::chrono::seconds>(*columns.lease_until);
            }
        }
    }

    void show_what_is_not_committed() {
        if (fault_ != fault::view_of_what_is_not_committed) {
            return;
        }
        std::vector<record> rows;
        for (const auto& [id, job] : state().jobs) {
            rows.push_back({{job.columns}});
        }
        const std::lock_guard lock{all_.mutex};
        all_.uncommitted = std::move(rows);
    }

    contents& all_;
    fault fault_;
    store_id known_as_;
    std::optional<reading> early_;
    std::function<reading()> read_;
};

}  // namespace broken
