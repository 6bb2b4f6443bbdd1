// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <leasehold/clock.hpp>
#include <leasehold/job.hpp>
#include <leasehold/read_ahead.hpp>
#include <leasehold/sqlite/connection.hpp>
#include <leasehold/sqlite/open_transaction.hpp>
#include <leasehold/sqlite/rows.hpp>
#include <leasehold/sqlite/sql.hpp>
#include <leasehold/sqlite/transaction_clock.hpp>
#include <leasehold/store.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// What a transaction can do to the rows, once it has the write lock: see `row_transaction`.
class primitives {
public:
    primitives(connection& on, const store_id& identity, transaction_clock clock) noexcept
        : on_{on}, identity_{identity}, clock_{clock} {}
    primitives(const primitives&) = delete;
    primitives& operator=(const primitives&) = delete;

    store_id identity() const noexcept { return identity_; }
    const reading& now() { return clock_.get(on_); }

    /// How many more jobs the calls that this transaction is still to carry may claim: they need not look one by one.
    void expect(std::size_t claims) noexcept { expected_ = claims; }

    std::vector<row> vested(std::string_view queue, std::size_t limit) {
        if (ahead_.knows(queue, limit)) {
            return ahead_.first(limit);
        }
        if (expected_ == 0) {
            return candidates(queue, limit);
        }
        const std::size_t enough = limit + expected_;
        std::vector<row> rows = candidates(queue, enough);
        const bool is_all = rows.size() < enough;
        ahead_.keep(queue, std::move(rows), is_all);
        return ahead_.first(limit);
    }

    std::vector<row> hold(std::span<const job_id> ids) {
        std::vector<row> rows;
        rows.reserve(ids.size());
        for (const job_id id : ids) {
            running query = on_.prepared(select_row);
            query.bind(id.value);
            append_rows(query, rows);
        }
        return rows;
    }

    std::vector<row_bytes> bytes(std::span<const granted_row> rows) {
        std::vector<row_bytes> all;
        all.reserve(rows.size());
        for (const granted_row& each : rows) {
            row_bytes& found = all.emplace_back();
            found.payload = bytes_of(on_, select_payload, each.id);
            if (!each.is_first_round) {
                found.checkpoint = bytes_of(on_, select_checkpoint, each.id);
                found.receipts = receipts_of(on_, each.id);
            }
        }
        return all;
    }

    std::vector<enqueued> insert(std::span<const insertion> jobs, on_conflict policy) {
        std::optional<sqlite::savepoint> whole;
        if (policy == on_conflict::nothing) {
            whole.emplace(on_);
        }
        job_id first_new{std::numeric_limits<std::int64_t>::max()};
        std::vector<enqueued> answers;
        answers.reserve(jobs.size());
        for (const insertion& made : jobs) {
            answers.push_back(insert(made));
            if (answers.back().answer == intake::accepted) {
                first_new = std::min(first_new, answers.back().id);
            }
        }
        if (whole && any_conflict(answers)) {
            whole.reset();
            withhold(answers, first_new);
        } else if (whole) {
            whole->release();
        }
        return answers;
    }

    std::optional<instant> tail(std::string_view queue, std::int32_t priority) {
        running query = on_.prepared(sqlite::tail);
        query.bind(queue, priority).step();
        return optional_instant_at(query, 0);
    }

    void write(std::span<const change> changes) {
        if (!changes.empty()) {
            clock_.written(on_);
        }
        for (const change& each : changes) {
            write_row(on_, *each.to);
            ahead_.written(*each.to);
            made_ready_ = made_ready_ || each.to->state == job_state::ready;
            if (each.result) {
                set_bytes(on_, set_result, delete_result, each.to->id, *each.result);
            }
            if (each.checkpoint) {
                set_bytes(on_, set_checkpoint, delete_checkpoint, each.to->id, *each.checkpoint);
            }
        }
    }

    void erase(std::span<const job_id> ids) {
        if (!ids.empty()) {
            clock_.written(on_);
        }
        for (const job_id id : ids) {
            on_.prepared(delete_row).bind(id.value).run();
            on_.prepared(delete_payload).bind(id.value).run();
            on_.prepared(delete_checkpoint).bind(id.value).run();
            on_.prepared(delete_result).bind(id.value).run();
            on_.prepared(delete_receipts).bind(id.value).run();
        }
    }

    void add_receipt(job_id id, const receipt& note) {
        clock_.written(on_);
        on_.prepared(insert_receipt).bind(id.value, note.token.value, note.owner, note.at, note.note).run();
    }

    std::vector<row> ended(instant before, std::size_t limit, bool quarantined) {
        std::vector<row> rows;
        for (const job_state state : {job_state::finished, job_state::cancelled, job_state::quarantined}) {
            if (state != job_state::quarantined || quarantined) {
                running query = on_.prepared(ended_rows);
                query.bind(number(state), before, static_cast<std::int64_t>(limit));
                append_rows(query, rows);
            }
        }
        for (const row& job : rows) {
            if (!has_ended(job.state)) {
                raise_impossible(job.id, "a place among ended jobs", "and is " + std::string{to_text(job.state)});
            }
        }
        std::sort(rows.begin(), rows.end(),
                  [](const row& a, const row& b) { return std::tie(*a.ended_at, a.id) < std::tie(*b.ended_at, b.id); });
        if (rows.size() > limit) {
            rows.resize(limit);
        }
        return rows;
    }

    /// The engine's own object, for the caller's SQL in the same transaction.
    SQLite::Database& native() noexcept { return on_.database(); }

    /// Whether the engine still has the transaction open.
    bool is_open() const noexcept { return on_.in_transaction(); }

protected:
    ~primitives() = default;

    connection& on_;  // NOLINT(*-non-private-*): what the two kinds of transaction are made of
    store_id identity_;
    transaction_clock clock_;
    bool made_ready_ = false;  ///< whether who waits for a job should look

private:
    read_ahead ahead_{};
    std::size_t expected_ = 0;

    std::vector<row> candidates(std::string_view queue, std::size_t limit) {
        const reading now = clock_.get(on_);
        std::vector<row> rows;
        std::int64_t above = std::numeric_limits<std::int64_t>::max();
        while (rows.size() < limit) {
            const std::optional<std::int64_t> priority = priority_below(on_, queue, above);
            if (!priority) {
                break;
            }
            add_heads(rows, queue, *priority, limit - rows.size(), now);
            above = *priority;
        }
        refuse_twice(rows);
        return rows;
    }

    /// A job that a damaged index names twice would go to two holders.
    static void refuse_twice(const std::vector<row>& rows) {
        if (rows.size() < 2) {
            return;  // as for most claims
        }
        std::vector<job_id> ids(rows.size());
        std::transform(rows.begin(), rows.end(), ids.begin(), [](const row& job) { return job.id; });
        std::sort(ids.begin(), ids.end());
        if (const auto twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end()) {
            raise_impossible(*twice, "a place in line", "twice");
        }
    }

    /// Adds the first rows of one priority: the heads of its two ranges, in claim order.
    void add_heads(std::vector<row>& rows, std::string_view queue, std::int64_t priority, std::size_t limit,
                   const reading& now) {
        const auto most = static_cast<std::int64_t>(limit);
        const auto from = static_cast<std::ptrdiff_t>(rows.size());
        {
            running query = on_.prepared(free_heads);
            query.bind(queue, priority, most);
            append_rows(query, rows);
        }
        {
            running query = on_.prepared(waiting_heads);
            query.bind(queue, priority, now.at, now.taking_at, most);
            append_rows(query, rows);
        }
        const auto earlier = [](const row& a, const row& b) {
            return std::tie(a.vests_at, a.id) < std::tie(b.vests_at, b.id);
        };
        if (!std::is_sorted(rows.begin() + from, rows.end(), earlier)) {  // mostly one of the two is empty
            std::sort(rows.begin() + from, rows.end(), earlier);
        }
        if (rows.size() > static_cast<std::size_t>(from) + limit) {
            rows.resize(static_cast<std::size_t>(from) + limit);
        }
    }

    enqueued insert(const insertion& made) {
        const job& work = *made.content;
        if (!work.key.empty()) {
            running query = on_.prepared(select_same_key);
            if (query.bind(work.queue, work.key, blob{work.payload}).step()) {
                const job_id id{query.integer(0)};
                return {id, query.integer(2) != 0 ? intake::duplicate : intake::conflict,
                        bounded<job_state>(query, 1, id, "state", 0, 4)};
            }
        }
        clock_.written(on_);
        const job_id id = add_row(on_, made);
        ahead_.forget();
        if (!work.payload.empty()) {
            on_.prepared(insert_payload).bind(id.value, blob{work.payload}).run();
        }
        made_ready_ = true;
        return {id, intake::accepted, made.columns.state};
    }
};

}  // namespace leasehold::inline v0_1_0::detail::sqlite
