// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <leasehold/clock.hpp>
#include <leasehold/job.hpp>
#include <leasehold/postgres/connection.hpp>
#include <leasehold/postgres/intake.hpp>
#include <leasehold/postgres/low_water.hpp>
#include <leasehold/postgres/rows.hpp>
#include <leasehold/postgres/transaction_clock.hpp>
#include <leasehold/read_ahead.hpp>
#include <leasehold/store.hpp>

namespace leasehold::inline v0_1_0::detail::postgres {

/// What a transaction can do to the rows: see `row_transaction`. What it writes goes out with its next question, or
/// with its commit.
class primitives {
public:
    primitives(connection& on, low_water& lows, transaction_clock clock) : on_{on}, clock_{clock}, lows_{lows} {}
    primitives(const primitives&) = delete;
    primitives& operator=(const primitives&) = delete;

    store_id identity() {
        if (!identity_) {
            look();
        }
        return *identity_;
    }

    /// After the last lock that the transaction has waited for.
    const reading& now() {
        if ((clock_.is_servers() && !clock_.is_taken()) || !foreseen_.empty()) {
            clock_.ask();
            look();
        }
        return clock_.get();
    }

    /// How many more jobs the calls that this transaction is still to carry may claim: they are locked in one request.
    void expect(std::size_t claims) noexcept { expected_ = claims; }

    /// Jobs that are to come in: where their lines end is asked for together with what time it is.
    void foresee(std::span<const job> jobs) {
        clock_.ask();
        tails_.clear();
        for (const job& each : jobs) {
            const bool is_known = std::any_of(foreseen_.begin(), foreseen_.end(), [&](const line& known) {
                return known.second == each.priority && known.first == each.queue;
            });
            if (!is_known && foreseen_.size() < most_foreseen) {
                foreseen_.emplace_back(each.queue, each.priority);
            }
        }
    }

    std::vector<row> vested(std::string_view queue, std::size_t limit) {
        if (ahead_.knows(queue, limit)) {
            return ahead_.first(limit);
        }
        const std::size_t enough = limit + expected_;
        std::vector<row> rows = candidates(queue, enough);
        if (expected_ == 0) {
            return rows;
        }
        const bool is_all = rows.size() < enough;
        ahead_.keep(queue, std::move(rows), is_all);
        return ahead_.first(limit);
    }

    std::vector<row> hold(std::span<const job_id> ids) {
        if (ids.empty()) {
            return {};
        }
        return rows_of(ids.size() == 1 ? locked(on_.says().hold, with(ids.front().value)).back()
                                       : locked(on_.says().hold_many, with(numbers_of(ids))).back());
    }

    std::vector<row_bytes> bytes(std::span<const granted_row> rows) {
        const bool are_known =
            std::all_of(rows.begin(), rows.end(), [&](const granted_row& each) { return read_.contains(each.id); });
        if (!are_known) {
            read_bytes(rows);
        }
        std::vector<row_bytes> all;
        all.reserve(rows.size());
        for (const granted_row& each : rows) {
            all.push_back(std::move(read_.extract(each.id).mapped()));
        }
        return all;
    }

    std::vector<enqueued> insert(std::span<const insertion> jobs, on_conflict policy) {
        if (jobs.empty()) {
            return {};
        }
        start();
        const bool as_a_whole = policy == on_conflict::nothing;
        if (as_a_whole) {
            on_.gather(on_.says().begin_part);
        }
        intake_of taking{on_, jobs};
        std::vector<enqueued> answers = taking.run();
        const bool is_withheld = as_a_whole && any_conflict(answers);
        if (is_withheld) {
            on_.gather(on_.says().undo_part);
            withhold(answers, taking.first_new());
        }
        if (as_a_whole) {
            on_.gather(on_.says().end_part);
        }
        ahead_.forget();
        made_ready_ = made_ready_ || (!is_withheld && taking.has_made_some());
        return answers;
    }

    std::optional<instant> tail(std::string_view queue, std::int32_t priority) {
        for (const auto& [where, at] : tails_) {
            if (where.second == priority && where.first == queue) {
                return at;
            }
        }
        start();
        return optional_instant_at(on_.ask(on_.says().tail, tail_of(queue, priority)), 0, 0);
    }

    void write(std::span<const change> changes) {
        if (changes.empty()) {
            return;
        }
        start();
        tails_.clear();
        for (const change& each : changes) {
            ahead_.written(*each.to);
            made_ready_ = made_ready_ || each.to->state == job_state::ready;
            if (each.checkpoint) {
                read_.erase(each.to->id);
            }
        }
        if (changes.size() == 1) {
            on_.gather(on_.says().write, parameters_of(changes.front()));
            return;
        }
        for (std::size_t at = 0; at < changes.size();) {
            written_rows some;
            while (at < changes.size() && some.bytes() < enough_bytes) {
                some.push(changes[at++]);
            }
            on_.gather(on_.says().write_many, some.all());
        }
    }

    void erase(std::span<const job_id> ids) {
        if (ids.empty()) {
            return;
        }
        start();
        forget();
        on_.gather(on_.says().erase, with(numbers_of(ids)));
        on_.gather(on_.says().erase_receipts, with(numbers_of(ids)));
    }

    void add_receipt(job_id id, const receipt& note) {
        start();
        read_.erase(id);
        on_.gather(on_.says().insert_receipt, with(id.value, note.token.value, note.owner, note.at, note.note));
    }

    std::vector<row> ended(instant before, std::size_t limit, bool quarantined) {
        std::vector<std::int64_t> wanted{number(job_state::finished), number(job_state::cancelled)};
        if (quarantined) {
            wanted.push_back(number(job_state::quarantined));
        }
        array<std::int64_t> states;
        for (const std::int64_t each : wanted) {
            states.push(each);
        }
        start();
        std::vector<row> rows =
            rows_of(on_.ask(on_.says().ended, with(states, before, static_cast<std::int64_t>(limit))));
        std::sort(rows.begin(), rows.end(),
                  [](const row& a, const row& b) { return std::tie(*a.ended_at, a.id) < std::tie(*b.ended_at, b.id); });
        if (rows.size() > limit) {
            rows.resize(limit);
        }
        return rows;
    }

    /// A part of the transaction that stands only once it is released.
    class part {
    public:
        explicit part(primitives& of) : of_{&of} {
            of.start();
            of.on_.gather(of.on_.says().begin_part);
        }
        part(const part&) = delete;
        part& operator=(const part&) = delete;
        ~part() {
            if (of_ != nullptr) {
                of_->take_back();
            }
        }
        /// What was done so far is with the server then, so that the caller's own statements may follow.
        void release() {
            of_->on_.gather(of_->on_.says().end_part);
            of_->on_.flush();
            of_ = nullptr;
        }

    private:
        primitives* of_;
    };
    part savepoint() { return part{*this}; }

    /// libpq's own connection, for the caller's SQL in the same transaction.
    PGconn* native() {
        start();
        on_.flush();
        return on_.handle();
    }

    /// Whether the server still has the transaction open, and takes statements in it.
    bool is_open() const noexcept { return on_.in_transaction() || (!is_started_ && on_.is_idle()); }

protected:
    ~primitives() = default;

    /// To be done before the first statement.
    virtual void begin() = 0;

    void start() {
        if (!is_started_) {
            begin();
            is_started_ = true;
        }
    }

    connection& on_;  // NOLINT(*-non-private-*): what the kinds of transaction are made of
    transaction_clock clock_;
    bool is_started_ = false;
    bool made_ready_ = false;  ///< whether who waits for a job should look

private:
    using line = std::pair<std::string, std::int32_t>;
    /// More lines than that are looked at one by one.
    static constexpr std::size_t most_foreseen = 256;

    /// Asks what the store is, what time it is there, and what was foreseen.
    void look() {
        start();
        const std::vector<line> asked = std::exchange(foreseen_, {});
        for (const auto& [queue, priority] : asked) {
            on_.gather(on_.says().tail, tail_of(queue, priority));
        }
        on_.gather(on_.says().writers_meta);
        const std::vector<answer> answers = on_.flush();
        take_meta(answers.back());
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const answer& each = answers[answers.size() - 1 - asked.size() + i];
            tails_.emplace_back(asked[i], optional_instant_at(each, 0, 0));
        }
    }

    void take_meta(const answer& from) {
        const meta found = meta_of(from);
        identity_ = found.identity;
        clock_.answered(found.microseconds);
    }

    /// A statement that locks rows; its answer is the last. The last column of its last row says what time it is once
    /// all are locked; what the store is, is asked once a transaction, and says so as well.
    std::vector<answer> locked(const statement& what, parameters values) {
        start();
        foreseen_.clear();
        tails_.clear();
        clock_.ask();
        on_.gather(what, std::move(values));
        const bool asks_meta = !identity_;
        if (asks_meta) {
            on_.gather(on_.says().meta);
        }
        std::vector<answer> answers = on_.flush();
        if (asks_meta) {
            take_meta(answers.back());
            answers.pop_back();
        } else if (const answer& rows = answers.back(); rows.rows() > 0) {
            clock_.answered(rows.integer(rows.rows() - 1, rows.columns() - 1));
        }
        return answers;
    }

    std::vector<row> candidates(std::string_view queue, std::size_t limit) {
        const std::optional<reading> seen = clock_.glance();
        const auto bound = [&](instant reading::*which) { return seen ? std::optional{*seen.*which} : std::nullopt; };
        const written_marks from{lows_.marks(queue)};
        // Before anything is written: what this transaction did, and may yet undo, it would see as done.
        const bool is_looking = clock_.is_servers() && !is_started_ && lows_.is_due(queue);
        const auto asked = std::chrono::steady_clock::now();
        start();
        if (is_looking) {
            on_.gather(on_.says().first_open, with(queue));
        }
        const std::vector<answer> answers =
            locked(on_.says().vested, with(queue, static_cast<std::int64_t>(limit), bound(&reading::at),
                                           bound(&reading::taking_at), from.priorities, from.lows, from.ids));
        if (is_looking) {
            lows_.saw(queue, look_in(answers[answers.size() - 2]), std::chrono::steady_clock::now() - asked);
        }
        const answer& found = answers.back();
        std::vector<row> rows = rows_of(found);
        for (int at = 0; at < found.rows(); ++at) {
            read_[rows[static_cast<std::size_t>(at)].id] = {found.text(at, row_width), found.text(at, row_width + 1),
                                                            receipts_in(found, at, row_width + 2)};
        }
        // As the server gave them, save one that changed while it was being locked.
        std::sort(rows.begin(), rows.end(), [](const row& a, const row& b) {
            return std::tie(b.priority, a.vests_at, a.id) < std::tie(a.priority, b.vests_at, b.id);
        });
        return rows;
    }

    static low_water::look look_in(const answer& seen) {
        low_water::look look{seen.integer(0, 0), seen.integer(0, 1), instant_at(seen, 0, 2), {}};
        for (int at = 0; at < seen.rows(); ++at) {
            if (!seen.is_null(at, 4)) {
                look.first.push_back({seen.integer(at, 3), instant_at(seen, at, 4), job_id{seen.integer(at, 5)}});
            }
        }
        return look;
    }

    parameters tail_of(std::string_view queue, std::int32_t priority) const {
        return with(queue, std::int64_t{priority}, lows_.mark_of(queue, priority));
    }

    void read_bytes(std::span<const granted_row> rows) {
        array<std::int64_t> ids;
        for (const granted_row& each : rows) {
            ids.push(each.id.value);
        }
        start();
        on_.gather(on_.says().bytes, with(ids));
        on_.gather(on_.says().receipts, with(ids));
        const std::vector<answer> answers = on_.flush();
        const answer& bytes = answers[answers.size() - 2];
        const answer& notes = answers.back();
        for (int at = 0; at < bytes.rows(); ++at) {
            read_[rows[static_cast<std::size_t>(at)].id] = {bytes.text(at, 0), bytes.text(at, 1), {}};
        }
        for (int at = 0; at < notes.rows(); ++at) {
            read_[job_id{notes.integer(at, 0)}].receipts.push_back(
                {claim_token{notes.integer(at, 1)}, notes.text(at, 2), instant_at(notes, at, 3), notes.text(at, 4)});
        }
    }

    void forget() noexcept {
        read_.clear();
        tails_.clear();
        ahead_.forget();
    }

    void take_back() noexcept {
        forget();
        on_.drop_gathered();
        try {
            if (on_.is_well()) {
                on_.gather(on_.says().undo_part);
                on_.gather(on_.says().end_part);
                on_.flush();
            }
        } catch (...) {  // NOLINT(bugprone-empty-catch): the transaction is lost then, and nothing of it stands
        }
    }

    low_water& lows_;
    std::optional<store_id> identity_{};
    std::vector<line> foreseen_{};
    std::vector<std::pair<line, std::optional<instant>>> tails_{};
    std::map<job_id, row_bytes> read_{};  ///< what came with rows that are locked
    read_ahead ahead_{};
    std::size_t expected_ = 0;
};

}  // namespace leasehold::inline v0_1_0::detail::postgres
