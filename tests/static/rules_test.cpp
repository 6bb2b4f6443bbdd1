// SPDX-License-Identifier: MIT
/// Each rule at each of its boundaries: one before, exactly at, one after, and at the ends of the range.
#include <leasehold/rules.hpp>

#include "literals.hpp"

namespace {

using namespace literals;
namespace r = leasehold::rules;

// ---- A lease covers [granted, lease_until) -------------------------------------------------------------------------

static_assert(r::is_live(at(1000), at(999)) && !r::is_live(at(1000), at(1000)) && !r::is_live(at(1000), at(1001)));
static_assert(!r::is_takeable(at(1000), at(999)) && r::is_takeable(at(1000), at(1000)));
static_assert(r::is_takeable(at(1000), at(1001)));
static_assert(r::is_live(instant::max(), at(highest - 1)) && !r::is_live(instant::min(), instant::min()));

/// At every instant exactly one of the two holds.
constexpr bool are_negations() {
    for (int end = -3; end <= 3; ++end) {
        for (int now = -4; now <= 4; ++now) {
            if (r::is_live(at(end), at(now)) == r::is_takeable(at(end), at(now))) {
                return false;
            }
        }
    }
    return true;
}
static_assert(are_negations());

static_assert(!r::is_past(at(100), at(99)) && r::is_past(at(100), at(100)) && r::is_past(at(100), at(101)));
static_assert(!r::is_past(std::nullopt, instant::max()));

static_assert(!r::is_readable(instant::min()) && r::is_readable(at(lowest + 1)));
static_assert(r::is_readable(at(highest - 1)) && !r::is_readable(instant::max()) && r::is_readable(at(0)));

// ---- Ends: clamped to the deadline, saturating ---------------------------------------------------------------------

static_assert(r::lease_end(at(0), ms(1000), at(100)) == at(100));
static_assert(r::lease_end(at(0), ms(99), at(100)) == at(99) && r::lease_end(at(0), ms(100), at(100)) == at(100));
static_assert(r::lease_end(at(0), ms(101), at(100)) == at(100));
static_assert(r::lease_end(at(5), ms(1), std::nullopt) == at(6));
static_assert(r::lease_end(at(5), longest, std::nullopt) == instant::max());
static_assert(r::lease_end(at(highest - 1), ms(1), std::nullopt) == instant::max());
static_assert(r::lease_end(at(highest - 1), ms(2), std::nullopt) == instant::max());
static_assert(r::lease_end(at(highest - 1), longest, at(highest - 1)) == at(highest - 1));
static_assert(r::lease_end(at(lowest + 1), longest, std::nullopt) == at(0));

static_assert(r::renewed_end(at(1000), at(500), ms(600), std::nullopt) == at(1100));
static_assert(r::renewed_end(at(1000), at(500), ms(500), std::nullopt) == at(1000));
static_assert(r::renewed_end(at(1000), at(500), ms(499), std::nullopt) == at(1000));
static_assert(r::renewed_end(at(1000), at(500), ms(501), std::nullopt) == at(1001));
static_assert(r::renewed_end(at(1000), at(500), longest, at(1500)) == at(1500));
static_assert(r::renewed_end(at(1000), at(500), longest, at(900)) == at(1000));
static_assert(r::renewed_end(at(1000), at(500), longest, std::nullopt) == instant::max());

static_assert(r::local_end(pace_point{ms(40).count() * std::chrono::milliseconds{1}}, at(1000), at(1250)) ==
              pace_point{std::chrono::milliseconds{290}});
static_assert(r::local_end(pace_point{std::chrono::milliseconds{highest - 5}}, at(0), at(6)) == pace_point::max());
static_assert(r::local_end(pace_point{}, at(-2), instant::max()) == pace_point::max());

static_assert(r::time_left(pace_point{std::chrono::milliseconds{10}}, pace_point{std::chrono::milliseconds{3}}) ==
              ms(7));
static_assert(r::time_left(pace_point{}, pace_point{}) == ms(0));
static_assert(r::time_left(pace_point{}, pace_point{std::chrono::milliseconds{1}}) == ms(0));
static_assert(r::time_left(pace_point::max(), pace_point::min()) == longest);
static_assert(r::time_left(pace_point::min(), pace_point::max()) == ms(0));

// ---- When a row that is made ready may be taken --------------------------------------------------------------------

static_assert(!r::must_wait(at(9), at(10)) && !r::must_wait(at(10), at(10)) && r::must_wait(at(11), at(10)));
static_assert(r::vest(at(11), at(10), std::nullopt) == r::vesting{true, at(11)});
static_assert(r::vest(at(11), at(10), at(20)) == r::vesting{true, at(11)});
static_assert(r::vest(at(10), at(10), std::nullopt) == r::vesting{false, at(10)});
static_assert(r::vest(at(9), at(10), std::nullopt) == r::vesting{false, at(10)});
static_assert(r::vest(at(10), at(10), at(9)) == r::vesting{false, at(10)});
static_assert(r::vest(at(10), at(10), at(10)) == r::vesting{false, at(10)});
static_assert(r::vest(at(10), at(10), at(11)) == r::vesting{false, at(11)});

static_assert(r::clamped(at(10), ms(0), at(11)) == at(10) && r::clamped(at(10), ms(1), at(11)) == at(11));
static_assert(r::clamped(at(10), ms(2), at(11)) == at(11) &&
              r::clamped(at(10), longest, std::nullopt) == instant::max());

// ---- Enqueue -------------------------------------------------------------------------------------------------------

static_assert(r::columns{}.max_attempts == 1 && !r::columns{}.waits && !r::vesting{}.waits);
constexpr r::columns fresh = r::enqueue(3, at(900), {true, at(50)});
static_assert(fresh == with(r::columns{}, [](auto& row) {
                  row.state = job_state::ready;
                  row.token = {0};
                  row.attempt = 0;
                  row.max_attempts = 3;
                  row.deadline = at(900);
                  row.waits = true;
                  row.vests_at = at(50);
              }));
static_assert(fresh.owner.empty() && !fresh.lease_until && fresh.failures == 0 && fresh.lapses == 0);

// ---- What a claim does with a row ----------------------------------------------------------------------------------

constexpr r::columns ready = r::enqueue(5, std::nullopt, {false, at(500)});
constexpr r::columns delayed = r::enqueue(5, std::nullopt, {true, at(500)});

static_assert(r::is_vested(ready, at(499), at(499)) && r::is_vested(ready, at(lowest + 1), at(lowest + 1)));
static_assert(!r::is_vested(delayed, at(499), at(499)) && r::is_vested(delayed, at(500), at(500)));
static_assert(r::is_vested(delayed, at(501), at(501)) && r::is_vested(delayed, at(500), at(400)));
static_assert(!r::is_vested(held(), at(999), at(999)) && r::is_vested(held(), at(1000), at(1000)));
static_assert(!r::is_vested(held(), at(1001), at(999)) && r::is_vested(held(), at(999), at(1000)));
static_assert(!r::is_vested(with(held(), [](auto& row) { row.lease_until = r::no_instant; }), at(2000), at(2000)));
static_assert(!r::is_vested(with(ready, [](auto& row) { row.state = job_state::finished; }), at(900), at(900)));
static_assert(!r::is_vested(with(ready, [](auto& row) { row.state = job_state::quarantined; }), at(900), at(900)));
static_assert(!r::is_vested(with(ready, [](auto& row) { row.state = job_state::cancelled; }), at(900), at(900)));

constexpr r::columns attempts(int attempt, int max_attempts) {
    return with(ready, [&](auto& row) {
        row.attempt = attempt;
        row.max_attempts = max_attempts;
    });
}
static_assert(!r::attempts_used_up(attempts(4, 5)) && r::attempts_used_up(attempts(5, 5)));
static_assert(r::attempts_used_up(attempts(6, 5)) && !r::attempts_used_up(attempts(0, 1)));

constexpr r::decision left{r::taking::leave};
constexpr r::decision granted{r::taking::grant};
constexpr r::decision aside(dead_end why) { return {r::taking::set_aside, why}; }
constexpr r::columns due_at(r::columns row, std::int64_t deadline) {
    return with(row, [&](auto& changed) { changed.deadline = at(deadline); });
}
constexpr r::columns in_round(r::columns row, std::int64_t token) {
    return with(row, [&](auto& changed) { changed.token = {token}; });
}

static_assert(r::decide(ready, at(0), at(0)) == granted && r::decide(delayed, at(499), at(499)) == left);
static_assert(r::decide(held(), at(999), at(999)) == left && r::decide(held(), at(1000), at(1000)) == granted);
static_assert(r::decide(due_at(ready, 100), at(99), at(99)) == granted);
static_assert(r::decide(due_at(ready, 100), at(100), at(100)) == aside(dead_end::deadline_passed));
static_assert(r::decide(due_at(ready, 100), at(101), at(101)) == aside(dead_end::deadline_passed));
static_assert(r::decide(due_at(ready, 100), at(100), at(99)) == aside(dead_end::deadline_passed));
static_assert(r::decide(attempts(4, 5), at(0), at(0)) == granted);
static_assert(r::decide(attempts(5, 5), at(0), at(0)) == aside(dead_end::attempts_exhausted));
static_assert(r::decide(in_round(ready, highest - 1), at(0), at(0)) == granted);
static_assert(r::decide(in_round(ready, highest), at(0), at(0)) == aside(dead_end::token_exhausted));
// The top line first: a deadline before the attempts, the attempts before the token.
static_assert(r::decide(in_round(due_at(attempts(5, 5), 100), highest), at(100), at(100)) ==
              aside(dead_end::deadline_passed));
static_assert(r::decide(in_round(attempts(5, 5), highest), at(0), at(0)) == aside(dead_end::attempts_exhausted));
// A row that may not be looked at is left, whatever else is true of it.
static_assert(r::decide(due_at(held(), 500), at(999), at(999)) == left);

static_assert(r::bumped(0) == 1 && r::bumped(highest - 1) == highest && r::bumped(highest) == highest);

constexpr r::columns taken = r::grant(ready, "B", ms(1000), at(600));
static_assert(taken == with(ready, [](auto& row) {
                  row.state = job_state::leased;
                  row.owner = "B";
                  row.token = {1};
                  row.attempt = 1;
                  row.lease_until = at(1600);
                  row.waits = true;
                  row.vests_at = at(1600);
              }));
static_assert(r::grant(held(), "B", ms(1000), at(1000)) == with(held(), [](auto& row) {
                  row.owner = "B";
                  row.token = {3};
                  row.attempt = 3;
                  row.lease_until = at(2000);
                  row.vests_at = at(2000);
                  row.lapses = 1;
              }));
static_assert(r::grant(due_at(ready, 700), "B", ms(1000), at(600)).lease_until == at(700));
static_assert(r::grant(due_at(ready, 700), "B", ms(1000), at(600)).vests_at == at(700));
static_assert(r::grant(in_round(ready, highest - 1), "B", ms(1), at(0)).token.value == highest);
static_assert(r::grant(with(held(), [](auto& row) { row.lapses = highest; }), "B", ms(1), at(1000)).lapses == highest);

static_assert(r::put_aside(ready, dead_end::attempts_exhausted, at(600)) == with(ready, [](auto& row) {
                  row.state = job_state::quarantined;
                  row.ended_by = ender::claim;
                  row.ended_at = at(600);
                  row.reason = "attempts_exhausted";
              }));
static_assert(r::put_aside(held(), dead_end::deadline_passed, at(1000)) == with(held(), [](auto& row) {
                  row.state = job_state::quarantined;
                  row.lapses = 1;
                  row.ended_by = ender::claim;
                  row.ended_at = at(1000);
                  row.reason = "deadline_passed";
              }));
static_assert(r::put_aside(ready, dead_end::token_exhausted, at(600)).reason == "token_exhausted");

// ---- Settling: the reasons in their order --------------------------------------------------------------------------

constexpr verdict judged(const marker_view& presented, r::columns row, std::int64_t now,
                         r::match how = r::match::whole_marker) {
    return r::judge(presented, here, &row, at(now), how);
}
constexpr marker_view presenting(marker_view presented, auto change) {
    change(presented);
    return presented;
}

static_assert(judged(mine(), held(), 999) == verdict::applied && judged(mine(), held(), 0) == verdict::applied);
static_assert(judged(mine(), held(), 1000) == verdict::expired && judged(mine(), held(), 1001) == verdict::expired);
static_assert(judged(mine(), due_at(held(), 500), 499) == verdict::applied);
static_assert(judged(mine(), due_at(held(), 500), 500) == verdict::past_deadline);
static_assert(judged(mine(), due_at(held(), 500), 501) == verdict::past_deadline);
static_assert(judged(mine(), due_at(held(), 1000), 1000) == verdict::past_deadline);
static_assert(judged(mine(), due_at(held(), 1001), 1000) == verdict::expired);

static_assert(judged(presenting(mine(), [](auto& m) { m.store = elsewhere; }), held(), 0) == verdict::foreign);
static_assert(r::judge(mine(), here, nullptr, at(0)) == verdict::missing);
static_assert(r::judge(mine(), elsewhere, nullptr, at(0)) == verdict::foreign);

constexpr r::columns in_state(r::columns row, job_state state) {
    return with(row, [&](auto& changed) { changed.state = state; });
}
static_assert(judged(mine(), in_state(held(), job_state::finished), 0) == verdict::finished);
static_assert(judged(mine(), in_state(held(), job_state::quarantined), 0) == verdict::quarantined);
static_assert(judged(mine(), in_state(held(), job_state::cancelled), 0) == verdict::cancelled);
static_assert(judged(mine(), in_round(in_state(held(), job_state::finished), 3), 0) == verdict::finished);

static_assert(judged(mine(), in_round(held(), 3), 0) == verdict::superseded);
static_assert(judged(mine(), in_round(held(), 1), 0) == verdict::superseded);
static_assert(judged(mine(), in_round(in_state(held(), job_state::ready), 3), 0) == verdict::superseded);
static_assert(judged(mine(), in_state(held(), job_state::ready), 0) == verdict::not_leased);
static_assert(judged(mine(), with(held(), [](auto& row) { row.lease_until = r::no_instant; }), 0) ==
              verdict::not_leased);

constexpr marker_view other_owner = presenting(mine(), [](auto& m) { m.owner = "B"; });
constexpr marker_view other_attempt = presenting(mine(), [](auto& m) { m.attempt = 1; });
constexpr marker_view other_end = presenting(mine(), [](auto& m) { m.lease_until = at(999); });
static_assert(judged(other_owner, held(), 0) == verdict::altered &&
              judged(other_owner, held(), 1000) == verdict::altered);
static_assert(judged(other_attempt, held(), 0) == verdict::altered);
static_assert(judged(presenting(mine(), [](auto& m) { m.attempt = 3; }), held(), 0) == verdict::altered);
static_assert(judged(other_end, held(), 0) == verdict::altered && judged(other_end, held(), 1000) == verdict::altered);
static_assert(judged(presenting(mine(), [](auto& m) { m.lease_until = at(1001); }), held(), 1000) == verdict::altered);
static_assert(judged(other_end, due_at(held(), 500), 500) == verdict::altered);

// To learn the lease end after an unknown answer, all but the end must be the same.
static_assert(judged(other_end, held(), 999, r::match::same_round) == verdict::applied);
static_assert(judged(other_end, held(), 1000, r::match::same_round) == verdict::expired);
static_assert(judged(mine(), held(), 0, r::match::same_round) == verdict::applied);
static_assert(judged(other_owner, held(), 0, r::match::same_round) == verdict::altered);
static_assert(judged(other_attempt, held(), 0, r::match::same_round) == verdict::altered);
static_assert(judged(mine(), due_at(held(), 500), 500, r::match::same_round) == verdict::past_deadline);

constexpr verdict receipt_of(std::int64_t token, const r::columns* row, store_id store = here) {
    return r::judge_receipt(presenting(mine(), [&](auto& m) { m.token = {token}; }), store, row);
}
constexpr r::columns second_round = held();
constexpr r::columns done = in_state(held(), job_state::finished);
static_assert(receipt_of(2, &second_round) == verdict::applied && receipt_of(1, &second_round) == verdict::applied);
static_assert(receipt_of(0, &second_round) == verdict::impossible_token);
static_assert(receipt_of(-1, &second_round) == verdict::impossible_token);
static_assert(receipt_of(3, &second_round) == verdict::impossible_token);
static_assert(receipt_of(1, &done) == verdict::applied && receipt_of(1, nullptr) == verdict::missing);
static_assert(receipt_of(1, &second_round, elsewhere) == verdict::foreign);
static_assert(receipt_of(0, nullptr, elsewhere) == verdict::foreign);

// ---- What each verb of a holder does to the row --------------------------------------------------------------------

static_assert(r::renew(held(), ms(700), at(500)) == with(held(), [](auto& row) {
                  row.lease_until = at(1200);
                  row.vests_at = at(1200);
              }));
static_assert(r::renew(held(), ms(1), at(500)) == held());
static_assert(r::renew(due_at(held(), 1100), longest, at(500)).lease_until == at(1100));
static_assert(r::renew(with(held(), [](auto& row) { row.lease_until = r::no_instant; }), ms(5), at(500)).lease_until ==
              at(505));

static_assert(r::finish(held(), at(700)) == with(held(), [](auto& row) {
                  row.state = job_state::finished;
                  row.ended_by = ender::holder;
                  row.ended_at = at(700);
              }));
static_assert(r::quarantine(held(), "odd", at(700)) == with(held(), [](auto& row) {
                  row.state = job_state::quarantined;
                  row.ended_by = ender::holder;
                  row.ended_at = at(700);
                  row.reason = "odd";
              }));

static_assert(r::fail(held(), "second", {true, at(800)}, at(700)) == with(held(), [](auto& row) {
                  row.state = job_state::ready;
                  row.owner = {};
                  row.lease_until = r::no_instant;
                  row.failures = 2;
                  row.last_error = "second";
                  row.waits = true;
                  row.vests_at = at(800);
              }));
static_assert(r::fail(held(), "second", {false, at(900)}, at(700)).waits == false);
constexpr r::columns last_attempt = with(held(), [](auto& row) { row.max_attempts = 2; });
static_assert(r::fail(last_attempt, "second", {true, at(800)}, at(700)) == with(last_attempt, [](auto& row) {
                  row.state = job_state::quarantined;
                  row.failures = 2;
                  row.last_error = "second";
                  row.ended_by = ender::holder;
                  row.ended_at = at(700);
                  row.reason = "attempts_exhausted";
              }));
static_assert(r::fail(with(held(), [](auto& row) { row.failures = highest; }), "", {}, at(0)).failures == highest);

static_assert(r::release(held(), {false, at(700)}) == with(held(), [](auto& row) {
                  row.state = job_state::ready;
                  row.owner = {};
                  row.lease_until = r::no_instant;
                  row.attempt = 1;
                  row.waits = false;
                  row.vests_at = at(700);
              }));
static_assert(r::release(with(held(), [](auto& row) { row.attempt = 1; }), {}).attempt == 0);
static_assert(r::release(with(held(), [](auto& row) { row.attempt = 0; }), {}).attempt == 0);

// ---- Operator's verbs ----------------------------------------------------------------------------------------------

constexpr r::columns waiting = with(ready, [](auto& row) { row.token = {2}; });
constexpr r::columns quarantined = in_state(held(), job_state::quarantined);
constexpr r::columns cancelled = in_state(held(), job_state::cancelled);

static_assert(r::judge_revoke(&second_round, {2}) == verdict::applied);
static_assert(r::judge_revoke(nullptr, {2}) == verdict::missing);
static_assert(r::judge_revoke(&second_round, {1}) == verdict::superseded);
static_assert(r::judge_revoke(&second_round, {3}) == verdict::superseded);
static_assert(r::judge_revoke(&done, {1}) == verdict::superseded);
static_assert(r::judge_revoke(&done, {2}) == verdict::finished);
static_assert(r::judge_revoke(&quarantined, {2}) == verdict::quarantined);
static_assert(r::judge_revoke(&cancelled, {2}) == verdict::cancelled);
static_assert(r::judge_revoke(&waiting, {2}) == verdict::not_leased);

static_assert(r::judge_cancel(&second_round, {}) == verdict::applied);
static_assert(r::judge_cancel(&second_round, claim_token{2}) == verdict::applied);
static_assert(r::judge_cancel(&second_round, claim_token{1}) == verdict::superseded);
static_assert(r::judge_cancel(&waiting, {}) == verdict::applied &&
              r::judge_cancel(&quarantined, {}) == verdict::applied);
static_assert(r::judge_cancel(nullptr, {}) == verdict::missing);
static_assert(r::judge_cancel(&done, {}) == verdict::finished && r::judge_cancel(&cancelled, {}) == verdict::cancelled);
static_assert(r::judge_cancel(&done, claim_token{1}) == verdict::superseded);

static_assert(r::judge_requeue(&quarantined, {2}, false, at(0)) == verdict::applied);
static_assert(r::judge_requeue(&cancelled, {2}, false, at(0)) == verdict::applied);
static_assert(r::judge_requeue(nullptr, {2}, false, at(0)) == verdict::missing);
static_assert(r::judge_requeue(&quarantined, {3}, false, at(0)) == verdict::superseded);
static_assert(r::judge_requeue(&done, {2}, false, at(0)) == verdict::finished);
static_assert(r::judge_requeue(&second_round, {2}, false, at(0)) == verdict::not_ended);
static_assert(r::judge_requeue(&waiting, {2}, false, at(0)) == verdict::not_ended);
constexpr r::columns overdue = due_at(quarantined, 100);
static_assert(r::judge_requeue(&overdue, {2}, false, at(99)) == verdict::applied);
static_assert(r::judge_requeue(&overdue, {2}, false, at(100)) == verdict::past_deadline);
static_assert(r::judge_requeue(&overdue, {2}, true, at(100)) == verdict::applied);

static_assert(r::revoke(held(), {false, at(700)}) == with(held(), [](auto& row) {
                  row.state = job_state::ready;
                  row.owner = {};
                  row.lease_until = r::no_instant;
                  row.waits = false;
                  row.vests_at = at(700);
                  row.lapses = 1;
              }));
static_assert(r::cancel(held(), at(700)) == with(held(), [](auto& row) {
                  row.state = job_state::cancelled;
                  row.ended_by = ender::operator_;
                  row.ended_at = at(700);
              }));
constexpr r::columns set_apart = r::quarantine(held(), "odd", at(700));
static_assert(r::requeue(set_apart, at(5000), {true, at(900)}) == with(held(), [](auto& row) {
                  row.state = job_state::ready;
                  row.owner = {};
                  row.attempt = 0;
                  row.lease_until = r::no_instant;
                  row.deadline = at(5000);
                  row.waits = true;
                  row.vests_at = at(900);
              }));
static_assert(r::requeue(set_apart, std::nullopt, {}).deadline == std::nullopt);

static_assert(!r::is_prunable(set_apart, at(699), true) && r::is_prunable(set_apart, at(700), true));
static_assert(r::is_prunable(set_apart, at(701), true) && !r::is_prunable(set_apart, at(700), false));
constexpr r::columns finished = r::finish(held(), at(700));
static_assert(r::is_prunable(finished, at(700), false) && !r::is_prunable(finished, at(699), false));
static_assert(r::is_prunable(r::cancel(held(), at(700)), at(700), false));
static_assert(!r::is_prunable(held(), instant::max(), true) && !r::is_prunable(ready, instant::max(), true));
static_assert(!r::is_prunable(done, instant::max(), true));  // an end without an instant is no end to judge by

// ---- Field by field ------------------------------------------------------------------------------------------------

constexpr r::columns full = with(r::fail(set_apart, "err", {true, at(3)}, at(4)), [](auto& row) {
    row.state = job_state::cancelled;
    row.owner = "O";
    row.deadline = at(9);
    row.lease_until = at(8);
    row.lapses = 6;
    row.reason = "why";
});
constexpr r::columns copied = [] {
    r::columns to;
    r::copy_columns(to, full);
    return to;
}();
static_assert(copied == full);

}  // namespace
