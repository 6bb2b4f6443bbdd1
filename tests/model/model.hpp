// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/job.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/settlement.hpp>

/// The queue once more, as plainly as it can be said: one list of rows, searched from end to end. A second opinion: it
/// is written from the tables of the design and asks none of the library's rules, so where the two differ, one is
/// wrong.
namespace model {

using namespace leasehold;

/// `a + b`, held at the ends of the range.
inline instant plus(instant a, millis b) {
    if (b.count() > 0 && a > instant::max() - b.to_chrono()) {
        return instant::max();
    }
    if (b.count() < 0 && a < instant::min() - b.to_chrono()) {
        return instant::min();
    }
    return a + b.to_chrono();
}

/// The sentences that a planted fault gets wrong.
struct sentences {
    /// A lease covers [granted, lease_until); a deadline is over at its instant.
    static bool is_over(instant end, instant now) { return end <= now; }
    /// A renewal never shortens.
    static instant renewed(instant old, instant asked) { return std::max(old, asked); }
    /// A release gives its attempt back.
    static std::int32_t after_release(std::int32_t attempt) { return attempt - 1; }
    /// A claim takes the higher priority, then what vested earlier, then the lower id.
    static bool goes_first(const record& a, const record& b) {
        if (a.priority != b.priority) {
            return a.priority > b.priority;
        }
        return a.vests_at != b.vests_at ? a.vests_at < b.vests_at : a.id < b.id;
    }
    /// Who need not wait stands behind all that need not wait either, whatever the clock has done.
    static instant behind(instant last, instant now) { return std::max(last, now); }
    /// A marker with another token is of another round.
    static bool is_other_round(claim_token presented, claim_token row) { return presented != row; }
};

/// Which ids are never a job's. What a store does with those that nobody has seen is its own choice.
enum class gaps : std::uint8_t { none, taken_back, all };  ///< all: also one for each job that was known already

/// Has the verbs of the queue, at the time `now`.
template <class Says = sentences>
struct queue {
    store_id store{};
    instant now{};
    gaps leaves_out = gaps::none;
    std::int64_t last_id = 0;
    std::vector<record> rows{};

    // ---- Work comes in ----

    enqueued enqueue(const job& work) { return enqueue_many(std::span{&work, 1}).front(); }

    std::vector<enqueued> enqueue_many(std::span<const job> jobs, on_conflict policy = on_conflict::keep_others) {
        for (const job& work : jobs) {
            resolve(work, std::nullopt);  // one that is refused refuses all
        }
        const whole before{rows, last_id};
        std::vector<enqueued> answers;
        bool conflict = false;
        for (const job& work : jobs) {
            answers.push_back(add(work));
            conflict = conflict || answers.back().answer == intake::conflict;
        }
        if (conflict && policy == on_conflict::nothing) {
            take_back(before);
            for (enqueued& answer : answers) {
                if (row(answer.id) == nullptr) {
                    answer.id = {};
                    answer.answer = answer.answer == intake::conflict ? intake::conflict : intake::withheld;
                }
            }
        }
        return answers;
    }

    // ---- Claims ----

    std::optional<lease> claim(std::string_view owner, millis lease_for, std::string_view name = "default") {
        std::vector<lease> one = claim_many(owner, lease_for, 1, name);
        return one.empty() ? std::nullopt : std::optional{std::move(one.front())};
    }

    std::vector<lease> claim_many(std::string_view owner, millis lease_for, std::size_t limit,
                                  std::string_view name = "default") {
        std::vector<lease> granted;
        for (record* next = nullptr; granted.size() < limit && (next = first_vested(name)) != nullptr;) {
            if (next->state == job_state::leased) {
                ++next->lapses;
            }
            if (next->deadline && Says::is_over(*next->deadline, now)) {
                end(*next, job_state::quarantined, ender::claim, "deadline_passed");
            } else if (next->attempt >= next->max_attempts) {
                end(*next, job_state::quarantined, ender::claim, "attempts_exhausted");
            } else {
                granted.push_back(grant(*next, owner, lease_for));
            }
        }
        return granted;
    }

    finished_and_claimed finish_and_claim(const marker& round, std::string_view result, const claim_terms& next) {
        finished_and_claimed answer{finish(round, result)};
        std::vector<std::string> names = next.queues;
        if (names.empty() && answer.finished.current) {
            names.push_back(row(round.id)->queue);
        }
        for (const std::string& name : names) {
            if (!answer.next) {
                answer.next = claim(next.owner, next.lease_for, name);
            }
        }
        return answer;
    }

    // ---- What a holder says ----

    settlement finish(const marker& round, std::string_view result = {}) {
        return settle(round, [&](record& job) {
            job.result = result;
            end(job, job_state::finished, ender::holder, job.reason);
        });
    }
    template <class Markers>
    std::vector<settlement> finish_many(const Markers& rounds) {
        return each(rounds, [&](const auto& one) {
            if constexpr (requires { one.result; }) {
                return finish(one.round, one.result);
            } else {
                return finish(one);
            }
        });
    }

    settlement renew(lease& round, millis lease_for) { return renew_many(std::vector<lease*>{&round}, lease_for)[0]; }
    template <class Pointers>
    std::vector<settlement> renew_many(const Pointers& rounds, millis lease_for) {
        std::vector<settlement> answers = each(rounds, [&](const marker* round) {
            return settle(*round, [&](record& job) {
                job.lease_until = job.vests_at = Says::renewed(*job.lease_until, no_later(plus(now, lease_for), job));
            });
        });
        for (std::size_t i = 0; i < answers.size(); ++i) {
            follow(*rounds[i], answers[i]);
        }
        return answers;
    }
    settlement refresh(lease& round) {
        marker presented = round;
        if (const record* const job = row(round.id); job != nullptr && job->lease_until) {
            presented.lease_until = *job->lease_until;  // all but the end is asked for
        }
        settlement answer = settle(presented, [](record&) {});
        answer.presented = round;
        follow(round, answer);
        return answer;
    }

    settlement fail(const marker& round, std::string_view error, millis retry_after = {}) {
        return settle(round, [&](record& job) {
            ++job.failures;
            job.last_error = error;
            if (job.attempt >= job.max_attempts) {
                end(job, job_state::quarantined, ender::holder, "attempts_exhausted");
            } else {
                make_ready(job, no_later(plus(now, retry_after), job));
            }
        });
    }
    settlement release(const marker& round, millis after = {}) {
        return settle(round, [&](record& job) {
            job.attempt = Says::after_release(job.attempt);
            make_ready(job, no_later(plus(now, after), job));
        });
    }
    template <class Markers>
    std::vector<settlement> release_many(const Markers& rounds, millis after = {}) {
        return each(rounds, [&](const marker& round) { return release(round, after); });
    }
    settlement quarantine(const marker& round, std::string_view why) {
        return settle(round, [&](record& job) { end(job, job_state::quarantined, ender::holder, std::string{why}); });
    }
    settlement checkpoint(const marker& round, std::string_view bytes) {
        return settle(round, [&](record& job) { job.checkpoint = bytes; });
    }
    settlement leave_receipt(const marker& round, std::string_view note) {
        record* const job = row(round.id);
        settlement answer{verdict::applied, now, round, standing_of(job)};
        if (round.store != store) {
            answer = {verdict::foreign, now, round, std::nullopt};
        } else if (job == nullptr) {
            answer.why = verdict::missing;
        } else if (round.token.value < 1 || round.token > job->token) {
            answer.why = verdict::impossible_token;
        } else {
            job->receipts.push_back({round.token, round.owner, now, std::string{note}});
        }
        return answer;
    }

    // ---- What an operator says ----

    amendment revoke(job_id id, claim_token seen) {
        record* const job = row(id);
        verdict why = seen_by_operator(job, seen);
        if (why == verdict::applied && has_ended(*job)) {
            why = ended_as(*job);
        } else if (why == verdict::applied && job->state != job_state::leased) {
            why = verdict::not_leased;
        }
        if (why == verdict::applied) {
            ++job->lapses;
            make_ready(*job, now);
        }
        return {why, now, id, standing_of(job)};
    }
    amendment cancel(job_id id, std::optional<claim_token> seen = {}) {
        record* const job = row(id);
        verdict why = seen_by_operator(job, seen);
        if (why == verdict::applied && has_ended(*job) && job->state != job_state::quarantined) {
            why = ended_as(*job);
        }
        if (why == verdict::applied) {
            end(*job, job_state::cancelled, ender::operator_, job->reason);
        }
        return {why, now, id, standing_of(job)};
    }
    amendment requeue(job_id id, claim_token seen, const requeue_options& how = {}) {
        record* const job = row(id);
        verdict why = seen_by_operator(job, seen);
        if (why == verdict::applied && job->state == job_state::finished) {
            why = verdict::finished;
        } else if (why == verdict::applied && !has_ended(*job)) {
            why = verdict::not_ended;
        } else if (why == verdict::applied && !how.deadline && !how.expires_in && job->deadline &&
                   Says::is_over(*job->deadline, now)) {
            why = verdict::past_deadline;
        }
        if (why == verdict::applied) {
            const auto [due, deadline] = resolve(how, job->deadline);
            job->attempt = 0;
            job->deadline = deadline;
            job->reason.clear();
            job->ended_by.reset();
            job->ended_at.reset();
            make_ready(*job, due);
        }
        return {why, now, id, standing_of(job)};
    }
    std::size_t prune(const prune_options& which) {
        std::size_t gone = 0;
        for (; gone < which.limit; ++gone) {
            auto oldest = rows.end();
            for (auto at = rows.begin(); at != rows.end(); ++at) {
                const bool asked = has_ended(*at) && plus(*at->ended_at, which.older_than) <= now &&
                                   (which.quarantined || at->state != job_state::quarantined);
                if (asked && (oldest == rows.end() || at->ended_at < oldest->ended_at)) {
                    oldest = at;
                }
            }
            if (oldest == rows.end()) {
                break;
            }
            rows.erase(oldest);
        }
        return gone;
    }

    // ---- Several verbs in one ----

    template <class Work>
    void transact(const Work& work) {
        const whole before{rows, last_id};
        try {
            work(*this);
        } catch (...) {
            take_back(before);
            throw;
        }
    }

    // ---- Reading ----

    std::optional<record> find(job_id id) const {
        for (const record& each : rows) {
            if (each.id == id) {
                record shown = each;
                shown.store = store;
                shown.payload_size = shown.payload.size();
                shown.result_size = shown.result.size();
                shown.checkpoint_size = shown.checkpoint.size();
                return shown;
            }
        }
        return std::nullopt;
    }
    std::optional<record> find(std::string_view name, std::string_view key) const {
        for (const record& each : rows) {
            if (each.queue == name && each.key == key) {
                return find(each.id);
            }
        }
        return std::nullopt;
    }
    page<record> list(const filter& which = {}) const {
        page<record> answer;
        for (const record& each : rows) {
            const bool fits = each.id > which.after && (!which.queue || each.queue == *which.queue) &&
                              (!which.state || each.state == *which.state);
            if (fits && answer.items.size() == which.limit) {
                answer.next = answer.items.back().id;
                break;
            }
            if (fits) {
                answer.items.push_back(*find(each.id));
                record& shown = answer.items.back();
                shown.payload = shown.result = shown.checkpoint = "";
            }
        }
        return answer;
    }
    statistics stats() const {
        std::map<std::string, queue_statistics> counted;
        for (const record& each : rows) {
            queue_statistics& of = counted[each.queue];
            of.queue = each.queue;
            switch (each.state) {
                case job_state::ready: ++(each.waits ? of.delayed : of.ready); break;
                case job_state::leased: ++of.leased; break;
                case job_state::finished: ++of.finished; break;
                case job_state::quarantined: ++of.quarantined; break;
                case job_state::cancelled: ++of.cancelled; break;
            }
            const bool at_once = each.state == job_state::ready && !each.waits;
            if (at_once && (!of.oldest_ready || each.vests_at < *of.oldest_ready)) {
                of.oldest_ready = each.vests_at;
            }
        }
        statistics answer;
        for (const auto& [name, of] : counted) {
            answer.queues.push_back(of);
        }
        return answer;
    }

private:
    record* row(job_id id) {
        const auto found = std::find_if(rows.begin(), rows.end(), [&](const record& each) { return each.id == id; });
        return found == rows.end() ? nullptr : &*found;
    }

    static bool has_ended(const record& job) {
        return job.state == job_state::finished || job.state == job_state::quarantined ||
               job.state == job_state::cancelled;
    }

    static verdict ended_as(const record& job) {
        return job.state == job_state::finished    ? verdict::finished
               : job.state == job_state::cancelled ? verdict::cancelled
                                                   : verdict::quarantined;
    }

    struct times {
        instant due{};
        std::optional<instant> deadline{};
    };

    template <class Schedule>
    times resolve(const Schedule& when, std::optional<instant> own) const {
        times found{when.not_before ? *when.not_before : plus(now, when.delay), own};
        if (when.deadline) {
            found.deadline = when.deadline;
        }
        if (when.expires_in) {
            found.deadline = plus(now, *when.expires_in);
        }
        if (found.deadline && (*found.deadline <= now || *found.deadline <= found.due)) {
            throw std::invalid_argument{"the deadline is not ahead"};
        }
        return found;
    }

    static instant no_later(instant end, const record& job) {
        return job.deadline && *job.deadline < end ? *job.deadline : end;
    }

    enqueued add(const job& work) {
        if (!work.key.empty()) {
            if (const auto known = find(work.queue, work.key)) {
                last_id += leaves_out == gaps::all ? 1 : 0;
                return {known->id, known->payload == work.payload ? intake::duplicate : intake::conflict, known->state};
            }
        }
        const times when = resolve(work, std::nullopt);
        record fresh;
        fresh.id = {++last_id};
        fresh.queue = work.queue;
        fresh.key = work.key;
        fresh.payload = work.payload;
        fresh.priority = work.priority;
        fresh.max_attempts = work.max_attempts;
        fresh.deadline = when.deadline;
        fresh.enqueued_at = now;
        make_ready(fresh, when.due);
        rows.push_back(fresh);
        return {fresh.id, intake::accepted, job_state::ready};
    }

    struct whole {
        std::vector<record> rows{};
        std::int64_t last_id = 0;
    };

    void take_back(const whole& before) {
        rows = before.rows;
        last_id = leaves_out == gaps::none ? before.last_id : last_id;
    }

    void make_ready(record& job, instant due) {
        instant last = now;
        for (const record& each : rows) {
            const bool in_line = each.state == job_state::ready && !each.waits && each.queue == job.queue &&
                                 each.priority == job.priority && each.id != job.id;
            if (in_line) {
                last = std::max(last, each.vests_at);
            }
        }
        job.state = job_state::ready;
        job.owner.clear();
        job.lease_until.reset();
        job.waits = due > now;
        job.vests_at = job.waits ? due : Says::behind(last, now);
    }

    void end(record& job, job_state how, ender who, const std::string& reason) const {
        job.state = how;
        job.ended_by = who;
        job.ended_at = now;
        job.reason = reason;
    }

    record* first_vested(std::string_view name) {
        record* first = nullptr;
        for (record& each : rows) {
            const bool vested =
                each.queue == name && ((each.state == job_state::ready && (!each.waits || each.vests_at <= now)) ||
                                       (each.state == job_state::leased && Says::is_over(*each.lease_until, now)));
            if (vested && (first == nullptr || Says::goes_first(each, *first))) {
                first = &each;
            }
        }
        return first;
    }

    lease grant(record& job, std::string_view owner, millis lease_for) {
        job.state = job_state::leased;
        job.owner = owner;
        ++job.token.value;
        ++job.attempt;
        job.lease_until = job.vests_at = no_later(plus(now, lease_for), job);
        job.waits = true;
        lease held{marker_of(job)};
        held.key = job.key;
        held.queue = job.queue;
        held.payload = job.payload;
        held.deadline = job.deadline;
        held.checkpoint = job.checkpoint;
        held.receipts = job.receipts;
        held.granted = now;
        held.local_until = pace_point{held.lease_until.time_since_epoch()};  // the clock's pace is its own time
        return held;
    }

    marker marker_of(const record& job) const {
        return {store, job.id, job.owner, job.token, job.attempt, job.lease_until ? *job.lease_until : instant{}};
    }

    std::optional<standing> standing_of(const record* job) const {
        if (job == nullptr) {
            return std::nullopt;
        }
        return standing{marker_of(*job), job->state, job->ended_by, job->deadline};
    }

    /// The design's table, top line first.
    verdict judge(const marker& presented, const record* job) const {
        if (presented.store != store) {
            return verdict::foreign;
        }
        if (job == nullptr) {
            return verdict::missing;
        }
        if (has_ended(*job)) {
            return ended_as(*job);
        }
        if (Says::is_other_round(presented.token, job->token)) {
            return verdict::superseded;
        }
        if (job->state == job_state::ready) {
            return verdict::not_leased;
        }
        if (presented.owner != job->owner || presented.attempt != job->attempt ||
            presented.lease_until != *job->lease_until) {
            return verdict::altered;
        }
        if (job->deadline && Says::is_over(*job->deadline, now)) {
            return verdict::past_deadline;
        }
        return Says::is_over(*job->lease_until, now) ? verdict::expired : verdict::applied;
    }

    template <class Effect>
    settlement settle(const marker& presented, const Effect& effect) {
        record* const job = row(presented.id);
        const verdict why = judge(presented, job);
        if (why == verdict::applied) {
            effect(*job);
        }
        return {why, now, presented, why == verdict::foreign ? std::nullopt : standing_of(job)};
    }

    template <class Range, class Verb>
    static std::vector<settlement> each(const Range& range, const Verb& verb) {
        std::vector<settlement> answers;
        for (const auto& one : range) {
            answers.push_back(verb(one));
        }
        return answers;
    }

    static void follow(marker& round, const settlement& answer) {
        if (answer) {
            round.lease_until = answer.current->round.lease_until;
        }
    }
    static void follow(lease& round, const settlement& answer) {
        follow(static_cast<marker&>(round), answer);
        if (answer) {
            round.local_until = pace_point{round.lease_until.time_since_epoch()};
        }
    }

    static verdict seen_by_operator(const record* job, std::optional<claim_token> seen) {
        if (job == nullptr) {
            return verdict::missing;
        }
        return seen && *seen != job->token ? verdict::superseded : verdict::applied;
    }
};

}  // namespace model
