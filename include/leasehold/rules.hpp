// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

/// The rules: who may do what to a job, and what it does to the row. Pure functions on plain values; time is an
/// argument. No clock, no store, no allocation, nothing thrown.
namespace leasehold::inline v0_1_0::rules {

/// Every column of a row that a verb may change, and those that a rule looks at. The rules work on `columns`, whose
/// texts are views, so that they are literal values; a row owns its texts.
template <class Text>
struct basic_columns {
    job_state state = job_state::ready;    ///< where the job stands
    Text owner{};                          ///< who runs it; empty without a holder
    claim_token token{};                   ///< which round it is in, or was in last
    std::int32_t attempt = 0;              ///< rounds that count against `max_attempts`
    std::int32_t max_attempts = 1;         ///< 1 or more
    std::optional<instant> lease_until{};  ///< while leased, and of the last round once ended
    std::optional<instant> deadline{};     ///< from then on it must not be worked on
    bool waits = false;                    ///< whether `vests_at` must pass before a claim; else it only orders
    instant vests_at{};                    ///< when a claim may look at it; its place in the line
    std::int64_t failures = 0;             ///< attempts whose holder said so; held at the end of the range
    std::int64_t lapses = 0;               ///< leases that ended without a word; held at the end of the range
    std::optional<ender> ended_by{};       ///< once it has ended
    std::optional<instant> ended_at{};     ///< once it has ended
    Text reason{};                         ///< of a job that was set aside
    Text last_error{};                     ///< of the last failure
    friend constexpr bool operator==(const basic_columns&, const basic_columns&) noexcept = default;
};

/// A row as the rules see it: valid as long as the texts live.
using columns = basic_columns<std::string_view>;

/// Field by field, in either direction.
template <class To, class From>
constexpr void copy_columns(basic_columns<To>& to, const basic_columns<From>& from) {
    to.state = from.state;
    to.owner = from.owner;
    to.token = from.token;
    to.attempt = from.attempt;
    to.max_attempts = from.max_attempts;
    to.lease_until = from.lease_until;
    to.deadline = from.deadline;
    to.waits = from.waits;
    to.vests_at = from.vests_at;
    to.failures = from.failures;
    to.lapses = from.lapses;
    to.ended_by = from.ended_by;
    to.ended_at = from.ended_at;
    to.reason = from.reason;
    to.last_error = from.last_error;
}

/// No instant. Assigned rather than `reset()`, after which clang 14 cannot copy the row at compile time.
inline constexpr std::optional<instant> no_instant{};

/// When a row that is or becomes ready may be taken.
struct vesting {
    bool waits = false;  ///< whether `at` must pass before; else it only orders
    instant at{};        ///< the instant
    friend constexpr bool operator==(vesting, vesting) noexcept = default;
};

// ---- Time. A lease covers [granted, lease_until): at lease_until it is already over. --------------------------------

/// Whether the holder may still act.
constexpr bool is_live(instant lease_until, instant now) noexcept { return now < lease_until; }

/// Whether somebody else may take the job: at every instant the exact negation of `is_live`.
constexpr bool is_takeable(instant lease_until, instant now) noexcept { return !is_live(lease_until, now); }

/// Whether a deadline is over. No deadline is never over.
constexpr bool is_past(std::optional<instant> deadline, instant now) noexcept {
    return deadline.has_value() && is_takeable(*deadline, now);
}

/// Whether an instant can be judged by: one step inside the range on both sides, so that the ends stay apart from it.
constexpr bool is_readable(instant now) noexcept { return instant::min() < now && now < instant::max(); }

/// The earlier of `start + length` and the deadline. The sum is held at the ends of the range.
constexpr instant clamped(instant start, millis length, std::optional<instant> deadline) noexcept {
    const instant end = saturating_add(start, length);
    return std::min(end, deadline.value_or(end));
}

/// Where a lease granted at `now` ends.
constexpr instant lease_end(instant now, millis lease_for, std::optional<instant> deadline) noexcept {
    return clamped(now, lease_for, deadline);
}

/// Where a lease renewed at `now` ends: never earlier than it did.
constexpr instant renewed_end(instant lease_until, instant now, millis lease_for,
                              std::optional<instant> deadline) noexcept {
    return std::max(lease_until, lease_end(now, lease_for, deadline));
}

/// A holder's own reckoning of the same end, on the pace that was read just before the clock said `now`.
constexpr pace_point local_end(pace_point pace, instant now, instant lease_until) noexcept {
    return saturating_add(pace, saturating_subtract(lease_until, now));
}

/// What is left of a lease by the holder's own reckoning: never below zero.
constexpr millis time_left(pace_point local_until, pace_point pace) noexcept {
    return std::max(millis{}, saturating_subtract(local_until, pace));
}

/// Whether a row due at `due` must wait for it.
constexpr bool must_wait(instant due, instant now) noexcept { return is_live(due, now); }

/// When a row made ready may be taken. `tail` is the greatest `vests_at` among the rows of its queue and priority that
/// do not wait: one that need not wait goes behind them, whatever the clock has done since.
constexpr vesting vest(instant due, instant now, std::optional<instant> tail) noexcept {
    return must_wait(due, now) ? vesting{true, due} : vesting{false, std::max(now, tail.value_or(now))};
}

// ---- Enqueue --------------------------------------------------------------------------------------------------------

/// A job as it comes in.
constexpr columns enqueue(std::int32_t max_attempts, std::optional<instant> deadline, vesting start) noexcept {
    return {.max_attempts = max_attempts, .deadline = deadline, .waits = start.waits, .vests_at = start.at};
}

// ---- Claim ----------------------------------------------------------------------------------------------------------

/// What a claim does with a row.
enum class taking : std::uint8_t { leave, grant, set_aside };

/// What a claim does with one row.
struct decision {
    taking what = taking::leave;  ///< leave it, grant it, or set it aside
    dead_end why{};               ///< where it is set aside
    friend constexpr bool operator==(decision, decision) noexcept = default;
};

/// Whether a claim may look at the row. `taking_at` judges leases that are another's: `now`, less the skew of a clock
/// that is only assumed to be synchronised.
constexpr bool is_vested(const columns& row, instant now, instant taking_at) noexcept {
    switch (row.state) {
        case job_state::ready: return !row.waits || !must_wait(row.vests_at, now);
        case job_state::leased: return row.lease_until.has_value() && is_takeable(*row.lease_until, taking_at);
        default: return false;
    }
}

/// Whether one more round would be one too many.
constexpr bool attempts_used_up(const columns& row) noexcept { return row.attempt >= row.max_attempts; }

/// What a claim does with the row: in the order of precedence. `taking_at` as in `is_vested`.
constexpr decision decide(const columns& row, instant now, instant taking_at) noexcept {
    if (!is_vested(row, now, taking_at)) {
        return {taking::leave};
    }
    if (is_past(row.deadline, now)) {
        return {taking::set_aside, dead_end::deadline_passed};
    }
    if (attempts_used_up(row)) {
        return {taking::set_aside, dead_end::attempts_exhausted};
    }
    if (row.token.value == std::numeric_limits<std::int64_t>::max()) {
        return {taking::set_aside, dead_end::token_exhausted};
    }
    return {taking::grant};
}

/// One more, held at the end of the range.
constexpr std::int64_t bumped(std::int64_t count) noexcept { return saturating_add(count, 1); }

/// A lease that ended without a word from its holder.
constexpr columns lapse(columns row) noexcept {
    row.lapses = bumped(row.lapses);
    return row;
}

/// The row ended: its marker stays, so that it can be told whose end it was.
constexpr columns end(columns row, job_state how, ender who, instant now) noexcept {
    row.state = how;
    row.ended_by = who;
    row.ended_at = now;
    return row;
}

/// The row in its next round: token and attempt one higher. Only for what `decide` grants.
constexpr columns grant(columns row, std::string_view owner, millis lease_for, instant now) noexcept {
    if (row.state == job_state::leased) {
        row = lapse(row);
    }
    row.state = job_state::leased;
    row.owner = owner;
    row.token.value += 1;  // `decide` refuses a row whose token is at the end of the range
    row.attempt += 1;      // and one whose attempt is not below max_attempts
    row.lease_until = lease_end(now, lease_for, row.deadline);
    row.waits = true;
    row.vests_at = *row.lease_until;
    return row;
}

/// The row set aside by a claim, without a new round. Only for what `decide` sets aside.
constexpr columns put_aside(columns row, dead_end why, instant now) noexcept {
    if (row.state == job_state::leased) {
        row = lapse(row);
    }
    row = end(row, job_state::quarantined, ender::claim, now);
    row.reason = to_text(why);
    return row;
}

// ---- Settling: one predicate for every verb of a holder -------------------------------------------------------------

/// The refusal of a job that has ended so.
constexpr verdict ended_as(job_state state) noexcept {
    switch (state) {
        case job_state::finished: return verdict::finished;
        case job_state::quarantined: return verdict::quarantined;
        default: return verdict::cancelled;
    }
}

/// How much of a marker must equal the row: all of it, or (to learn the lease end after an unknown answer) all but
/// `lease_until`.
enum class match : std::uint8_t { whole_marker, same_round };

/// Whether a holder's call counts, in the order of precedence. `here` is the store's id, `row` the job's row or null.
constexpr verdict judge(const marker_view& presented, store_id here, const columns* row, instant now,
                        match how = match::whole_marker) noexcept {
    if (presented.store != here) {
        return verdict::foreign;
    }
    if (row == nullptr) {
        return verdict::missing;
    }
    if (has_ended(row->state)) {
        return ended_as(row->state);
    }
    if (row->token != presented.token) {
        return verdict::superseded;
    }
    if (row->state != job_state::leased || !row->lease_until.has_value()) {
        return verdict::not_leased;
    }
    const bool same_end = how == match::same_round || *row->lease_until == presented.lease_until;
    if (!detail::same_bytes(row->owner, presented.owner) || row->attempt != presented.attempt || !same_end) {
        return verdict::altered;
    }
    if (is_past(row->deadline, now)) {
        return verdict::past_deadline;
    }
    return is_live(*row->lease_until, now) ? verdict::applied : verdict::expired;
}

/// Whether late evidence can be true. It changes no job, so nothing else is asked.
constexpr verdict judge_receipt(const marker_view& presented, store_id here, const columns* row) noexcept {
    if (presented.store != here) {
        return verdict::foreign;
    }
    if (row == nullptr) {
        return verdict::missing;
    }
    return presented.token.value < 1 || row->token < presented.token ? verdict::impossible_token : verdict::applied;
}

/// The row with its lease moved, never to an earlier end. Only where `judge` applied, as all that follow.
constexpr columns renew(columns row, millis lease_for, instant now) noexcept {
    row.lease_until = renewed_end(row.lease_until.value_or(now), now, lease_for, row.deadline);
    row.vests_at = *row.lease_until;
    return row;
}

/// The row done.
constexpr columns finish(columns row, instant now) noexcept {
    return end(row, job_state::finished, ender::holder, now);
}

/// The row set aside by its holder.
constexpr columns quarantine(columns row, std::string_view reason, instant now) noexcept {
    row = end(row, job_state::quarantined, ender::holder, now);
    row.reason = reason;
    return row;
}

/// The row without a holder, ready from `start` on.
constexpr columns make_ready(columns row, vesting start) noexcept {
    row.state = job_state::ready;
    row.owner = {};
    row.lease_until = no_instant;
    row.waits = start.waits;
    row.vests_at = start.at;
    return row;
}

/// The row after a failed attempt: ready from `retry` on, or set aside where it was the last.
constexpr columns fail(columns row, std::string_view error, vesting retry, instant now) noexcept {
    row.failures = bumped(row.failures);
    row.last_error = error;
    if (attempts_used_up(row)) {
        row = end(row, job_state::quarantined, ender::holder, now);
        row.reason = to_text(dead_end::attempts_exhausted);
        return row;
    }
    return make_ready(row, retry);
}

/// Gives back the attempt: it was not spent.
constexpr columns release(columns row, vesting start) noexcept {
    row.attempt = std::max(row.attempt - 1, 0);
    return make_ready(row, start);
}

// ---- Operator's verbs -----------------------------------------------------------------------------------------------

/// Whether an operator may end the lease: in the order of precedence.
constexpr verdict judge_revoke(const columns* row, claim_token seen) noexcept {
    if (row == nullptr) {
        return verdict::missing;
    }
    if (row->token != seen) {
        return verdict::superseded;
    }
    if (has_ended(row->state)) {
        return ended_as(row->state);
    }
    return row->state == job_state::leased ? verdict::applied : verdict::not_leased;
}

/// Whether an operator may cancel the job: in the order of precedence.
constexpr verdict judge_cancel(const columns* row, std::optional<claim_token> seen) noexcept {
    if (row == nullptr) {
        return verdict::missing;
    }
    if (seen.has_value() && row->token != *seen) {
        return verdict::superseded;
    }
    return row->state == job_state::finished || row->state == job_state::cancelled ? ended_as(row->state)
                                                                                   : verdict::applied;
}

/// `new_deadline`: whether one was given; the job's own counts only where none was.
constexpr verdict judge_requeue(const columns* row, claim_token seen, bool new_deadline, instant now) noexcept {
    if (row == nullptr) {
        return verdict::missing;
    }
    if (row->token != seen) {
        return verdict::superseded;
    }
    if (row->state == job_state::finished) {
        return verdict::finished;
    }
    if (!has_ended(row->state)) {
        return verdict::not_ended;
    }
    return !new_deadline && is_past(row->deadline, now) ? verdict::past_deadline : verdict::applied;
}

/// The row without its lease, whose attempt stays spent.
constexpr columns revoke(columns row, vesting start) noexcept { return make_ready(lapse(row), start); }

/// The row ended by an operator.
constexpr columns cancel(columns row, instant now) noexcept {
    return end(row, job_state::cancelled, ender::operator_, now);
}

/// `deadline` is the new one, or the job's own again.
constexpr columns requeue(columns row, std::optional<instant> deadline, vesting start) noexcept {
    row.attempt = 0;
    row.deadline = deadline;
    row.ended_by = std::optional<ender>{};
    row.ended_at = no_instant;
    row.reason = {};
    return make_ready(row, start);
}

/// Whether a job ended at or before `before` may be erased; one set aside only where that was asked for.
constexpr bool is_prunable(const columns& row, instant before, bool quarantined) noexcept {
    return has_ended(row.state) && row.ended_at.has_value() && is_takeable(*row.ended_at, before) &&
           (quarantined || row.state != job_state::quarantined);
}

}  // namespace leasehold::inline v0_1_0::rules
