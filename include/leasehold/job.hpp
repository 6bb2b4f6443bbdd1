// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/marker.hpp>
#include <leasehold/rules.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0 {

/// One piece of work, as it is enqueued.
struct job {
    std::string queue = "default";        ///< valid UTF-8 without NUL, 1 to 255 bytes
    std::string key{};                    ///< the business ID, unique in its queue while the row exists; empty: none
    std::string payload{};                ///< any bytes
    std::int32_t priority = 0;            ///< -128 to 127, higher first
    millis delay{};                       ///< not to be taken before this has passed,
    std::optional<instant> not_before{};  ///< or before this instant: at most one of the two
    std::optional<millis> expires_in{};   ///< not to be worked on after this has passed,
    std::optional<instant> deadline{};    ///< or from this instant on: at most one of the two
    std::int32_t max_attempts = 5;        ///< 1 or more
};

/// What became of a job that was enqueued.
enum class intake : std::uint8_t {
    accepted,   ///< new: a row was made
    duplicate,  ///< its key is there with the same payload: no change
    conflict,   ///< its key is there with another payload: no change
    withheld,   ///< another job of the call was in conflict, and `on_conflict::nothing` was asked for
};

/// What a conflict in a batch means for the batch's other jobs.
enum class on_conflict : std::uint8_t { keep_others, nothing };

constexpr std::string_view to_text(intake answer) noexcept {
    constexpr std::array<std::string_view, 4> names{"accepted", "duplicate", "conflict", "withheld"};
    return detail::name_of(answer, names);
}

/// What became of a job that was enqueued, and where the one with its key stands.
struct enqueued {
    job_id id{};                         ///< of the row that has the key; 0 where there is none
    intake answer = intake::accepted;    ///< see `intake`
    job_state state = job_state::ready;  ///< of that row
    friend bool operator==(const enqueued&, const enqueued&) noexcept = default;
};

/// `accepted 17 ready`
inline std::string to_text(const enqueued& answer) {
    return std::string{to_text(answer.answer)} + ' ' + to_text(answer.id) + ' ' + std::string{to_text(answer.state)};
}

/// Evidence that a holder left, perhaps after its lease: what it knows of an effect that it had.
struct receipt {
    claim_token token{};  ///< the round that it speaks of
    std::string owner{};  ///< as its author said
    instant at{};         ///< when it was left
    std::string note{};   ///< text, at most 4 KiB
    friend bool operator==(const receipt&, const receipt&) noexcept = default;
};

/// What a store keeps of a job, without its bytes.
struct row : rules::basic_columns<std::string> {
    job_id id{};                ///< 1 or more
    std::string queue{};        ///< its name
    std::string key{};          ///< the business ID; empty: none
    std::int32_t priority = 0;  ///< -128 to 127, higher first
    instant enqueued_at{};      ///< by the clock of the call that made it
    friend bool operator==(const row&, const row&) noexcept = default;

    /// What the rules see of it; valid as long as the row is neither changed nor moved.
    rules::columns columns() const noexcept {
        rules::columns seen;
        rules::copy_columns(seen, *this);
        return seen;
    }

    /// The marker of the row's round in its store; of a job without a holder the owner is empty.
    leasehold::marker marker_in(const store_id& store) const {
        return {store, id, owner, token, attempt, lease_until.value_or(instant{})};
    }

    /// Takes over what a rule made of `columns()`.
    void assign(const rules::columns& changed) { rules::copy_columns(*this, changed); }
};

/// A job as `find` and `list` show it. `list` leaves the bytes empty and gives their sizes alone.
struct record : row {
    store_id store{};                 ///< of the store that it is in
    std::string payload{};            ///< as it was enqueued
    std::string result{};             ///< of the finish; empty: none
    std::string checkpoint{};         ///< the latest; empty: none
    std::size_t payload_size = 0;     ///< bytes
    std::size_t result_size = 0;      ///< bytes
    std::size_t checkpoint_size = 0;  ///< bytes
    std::vector<receipt> receipts{};  ///< oldest first
    friend bool operator==(const record&, const record&) noexcept = default;

    /// The marker of the row's round.
    leasehold::marker marker() const { return marker_in(store); }
};

/// Which jobs to list: all that fit what is named, by ascending id.
struct filter {
    std::optional<std::string> queue{};  ///< by name; unset: any
    std::optional<job_state> state{};    ///< unset: any
    job_id after{};                      ///< only ids above this one: `page::next` of the page before
    std::size_t limit = 100;             ///< 1 to 1,000
};

/// A part of a list, and how to go on.
template <class T>
struct page {
    std::vector<T> items{};        ///< in order
    std::optional<job_id> next{};  ///< for `filter::after`; nothing where this was the last page
};

/// How many jobs of a queue stand where.
struct queue_statistics {
    std::string queue{};                    ///< its name
    std::uint64_t ready = 0;                ///< takeable at once
    std::uint64_t delayed = 0;              ///< ready from an instant on, which may have come
    std::uint64_t leased = 0;               ///< lapsed ones that nobody took yet included
    std::uint64_t finished = 0;             ///< ended by a holder, and not pruned yet
    std::uint64_t quarantined = 0;          ///< set aside for a person
    std::uint64_t cancelled = 0;            ///< ended by an operator
    std::optional<instant> oldest_ready{};  ///< the earliest `vests_at` of those takeable at once
    friend bool operator==(const queue_statistics&, const queue_statistics&) noexcept = default;

    /// Counts `count` jobs of one kind in, of which the earliest has `vests_at`.
    void add(job_state state, bool waits, std::uint64_t count, instant vests_at) {
        switch (state) {
            case job_state::ready: (waits ? delayed : ready) += count; break;
            case job_state::leased: leased += count; break;
            case job_state::finished: finished += count; break;
            case job_state::quarantined: quarantined += count; break;
            case job_state::cancelled: cancelled += count; break;
        }
        if (state == job_state::ready && !waits) {
            oldest_ready = std::min(vests_at, oldest_ready.value_or(vests_at));
        }
    }
};

/// How many jobs stand where, in every queue.
struct statistics {
    std::vector<queue_statistics> queues{};  ///< by name; a queue without rows is not there
};

/// Which ended jobs to erase, with their bytes and receipts: those that ended `older_than` ago or before.
struct prune_options {
    millis older_than{};       ///< before now, by the queue's clock; not negative
    std::size_t limit = 1000;  ///< at most so many by one call: 1 to 1,000
    bool quarantined = false;  ///< also those set aside for a person
};

/// How a job goes back to work.
struct requeue_options {
    millis delay{};                       ///< not to be taken before this has passed,
    std::optional<instant> not_before{};  ///< or before this instant: at most one of the two
    std::optional<millis> expires_in{};   ///< a new deadline: this long from now,
    std::optional<instant> deadline{};    ///< or this instant: at most one of the two; none: the job's own stays
};

}  // namespace leasehold::inline v0_1_0
