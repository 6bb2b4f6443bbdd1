// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/arguments.hpp>
#include <leasehold/event_notes.hpp>
#include <leasehold/job.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/rules.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/short_list.hpp>
#include <leasehold/store.hpp>
#include <leasehold/text.hpp>
#include <leasehold/time.hpp>
#include <leasehold/waiting_line.hpp>

namespace leasehold::inline v0_1_0::detail {

/// What a claim in one transaction came to.
struct claimed {
    std::vector<lease> leases{};
    bool cut_short = false;  ///< as many rows were set aside as one transaction may: look on in the next
};

/// Every verb, once, over an open transaction whose owner commits it. It takes rows from the store, asks the rules, and
/// gives the rows back. Each verb locks first and reads the clock then. Arguments have been checked.
template <row_transaction Transaction>
class session {
public:
    /// The most rows that one transaction sets aside, so that the lock is not held for long.
    static constexpr std::size_t most_set_aside = 1000;

    /// Notes what it does in `events`, where there is one.
    explicit session(Transaction& transaction, std::vector<event>* events = nullptr)
        : transaction_{transaction}, notes_{events} {}

    /// `in_batch`: whether a refusal says which job it is about.
    std::vector<enqueued> enqueue(std::span<const job> jobs, on_conflict policy, bool in_batch) {
        if constexpr (requires { transaction_.foresee(jobs); }) {
            transaction_.foresee(jobs);
        }
        const instant now = transaction_.now().at;
        waiting_line line{transaction_, notes_, now};
        std::vector<insertion> rows;
        rows.reserve(jobs.size());
        for (const job& work : jobs) {
            const span_of_work span = in_batch ? resolve_in_batch(jobs, work, now) : resolve(work, now);
            const rules::vesting start = line.vest(work.queue, work.priority, span.due);
            rows.push_back({&work, rules::enqueue(work.max_attempts, span.deadline, start), now});
        }
        std::vector<enqueued> answers = transaction_.insert(rows, policy);
        notes_.taken_in(jobs, answers, now);
        return answers;
    }

    /// Takes up to `limit` jobs from the queues in their order; sets aside what can no longer be worked on.
    claimed claim(std::string_view owner, millis lease_for, std::span<const std::string_view> queues,
                  std::size_t limit) {
        claimed answer;
        std::size_t put_aside = 0;
        for (const std::string_view queue : queues) {
            bool more = true;
            while (more && answer.leases.size() < limit && put_aside < most_set_aside) {
                const std::size_t left = limit - answer.leases.size();
                // One row at first; more with every one that is dead.
                const std::size_t wanted = std::min(left + put_aside, most_set_aside);
                std::vector<row> rows = transaction_.vested(queue, wanted);
                const std::size_t before = answer.leases.size() + put_aside;
                put_aside += take(rows, owner, lease_for, left, most_set_aside - put_aside, answer.leases);
                more = rows.size() == wanted && answer.leases.size() + put_aside > before;
            }
        }
        answer.cut_short = put_aside == most_set_aside;
        add_bytes(answer.leases);
        return answer;
    }

    std::vector<settlement> finish(std::span<const marker* const> rounds, std::span<const std::string_view> results) {
        return settle(event_kind::finished, rounds, finishing(results));
    }

    settlement finish(const marker& round, std::string_view result) {
        return settle_one(event_kind::finished, round, finishing(std::span{&result, 1}));
    }

    /// Both in one: claims whatever the finish answers; from the finished job's own queue where none is named.
    finished_and_claimed finish_and_claim(const marker& round, std::string_view result, const claim_terms& next) {
        finished_and_claimed answer{finish(round, result)};
        std::vector<std::string_view> queues(next.queues.begin(), next.queues.end());
        std::string own_queue;
        if (queues.empty() && answer.finished.current) {
            own_queue = std::move(hold_one(round.id).front().queue);
            queues.emplace_back(own_queue);
        }
        claimed taken = claim(next.owner, next.lease_for, queues, 1);
        answer.more = taken.cut_short && taken.leases.empty();
        if (!taken.leases.empty()) {
            answer.next = std::move(taken.leases.front());
        }
        return answer;
    }

    /// On success the marker holds the new lease end; the caller passes it on after the commit.
    std::vector<settlement> renew(std::span<const marker* const> rounds, millis lease_for) {
        return settle(event_kind::renewed, rounds, [&](std::size_t, const row& held, const reading& now, change&) {
            return rules::renew(held.columns(), lease_for, now.at);
        });
    }

    std::vector<settlement> refresh(std::span<const marker* const> rounds) {
        return settle(
            std::nullopt, rounds, [](std::size_t, const row& held, const reading&, change&) { return held.columns(); },
            rules::match::same_round);
    }

    settlement fail(const marker& round, std::string_view error, millis retry_after) {
        const std::string text = made_valid(error);
        return settle_one(event_kind::failed, round, [&](std::size_t, const row& held, const reading& now, change&) {
            return rules::fail(held.columns(), text, line_at(now.at).vest(held, retry_after), now.at);
        });
    }

    std::vector<settlement> release(std::span<const marker* const> rounds, millis after) {
        std::optional<waiting_line<Transaction>> line;  // one for all: the clock is read once
        return settle(event_kind::released, rounds, [&](std::size_t, const row& held, const reading& now, change&) {
            if (!line) {
                line.emplace(transaction_, notes_, now.at);
            }
            return rules::release(held.columns(), line->vest(held, after));
        });
    }

    settlement release(const marker& round, millis after) {
        const marker* const only = &round;
        return std::move(release(std::span{&only, 1}, after).front());
    }

    settlement quarantine(const marker& round, std::string_view why) {
        const std::string text = made_valid(why);
        return settle_one(event_kind::quarantined, round,
                          [&](std::size_t, const row& held, const reading& now, change&) {
                              return rules::quarantine(held.columns(), text, now.at);
                          });
    }

    settlement checkpoint(const marker& round, std::string_view bytes) {
        return settle_one(std::nullopt, round, [&](std::size_t, const row& held, const reading&, change& to) {
            to.checkpoint = bytes;
            return held.columns();
        });
    }

    settlement leave_receipt(const marker& round, std::string_view note) {
        std::vector<row> rows = hold_one(round.id);
        const instant now = transaction_.now().at;
        if (round.store != transaction_.identity()) {
            rows.clear();
        }
        const std::optional<rules::columns> seen = seen_of(rows);
        const verdict why = rules::judge_receipt(round.view(), transaction_.identity(), seen ? &*seen : nullptr);
        notes_.settled(std::nullopt, why, round, rows.empty() ? nullptr : &rows.front(), now);
        if (why == verdict::applied) {
            transaction_.add_receipt(round.id,
                                     {round.token, made_valid(round.owner, longest_name), now, made_valid(note)});
        }
        return {why, now, round, standing_of(rows)};
    }

    amendment revoke(job_id id, claim_token seen) {
        return amend(
            event_kind::revoked, id,
            [&](const rules::columns* now_there, instant) { return rules::judge_revoke(now_there, seen); },
            [&](const row& held, instant now) { return rules::revoke(held.columns(), line_at(now).vest(held, {})); });
    }

    amendment cancel(job_id id, std::optional<claim_token> seen) {
        return amend(
            event_kind::cancelled, id,
            [&](const rules::columns* now_there, instant) { return rules::judge_cancel(now_there, seen); },
            [](const row& held, instant now) { return rules::cancel(held.columns(), now); });
    }

    amendment requeue(job_id id, claim_token seen, const requeue_options& how) {
        const bool new_deadline = how.deadline || how.expires_in;
        return amend(
            event_kind::requeued, id,
            [&](const rules::columns* now_there, instant now) {
                return rules::judge_requeue(now_there, seen, new_deadline, now);
            },
            [&](const row& held, instant now) {
                const span_of_work span = resolve(how, now, held.deadline);
                return rules::requeue(held.columns(), span.deadline,
                                      line_at(now).vest(held.queue, held.priority, span.due));
            });
    }

    std::size_t prune(const prune_options& which) {
        const instant before = saturating_subtract(transaction_.now().at, which.older_than);
        std::vector<job_id> ids;
        for (const row& candidate : transaction_.ended(before, which.limit, which.quarantined)) {
            if (rules::is_prunable(candidate.columns(), before, which.quarantined)) {
                ids.push_back(candidate.id);
            }
        }
        transaction_.erase(ids);
        return ids.size();
    }

    reading now() { return transaction_.now(); }

private:
    static span_of_work resolve_in_batch(std::span<const job> jobs, const job& work, instant now) {
        try {
            return resolve(work, now);
        } catch (const std::invalid_argument& refused) {
            refuse("job " + std::to_string(&work - jobs.data()), refused.what());
        }
    }

    static auto finishing(std::span<const std::string_view> results) {
        return [results](std::size_t i, const row& held, const reading& now, change& to) {
            if (!results.empty() && !results[i].empty()) {
                to.result = results[i];  // a job that is held has none yet
            }
            return rules::finish(held.columns(), now.at);
        };
    }

    waiting_line<Transaction> line_at(instant now) { return {transaction_, notes_, now}; }

    std::vector<row> hold_one(job_id id) { return transaction_.hold(std::span{&id, 1}); }

    static std::optional<rules::columns> seen_of(const std::vector<row>& rows) {
        return rows.empty() ? std::nullopt : std::optional{rows.front().columns()};
    }

    standing standing_of(const row& held) const {
        return {held.marker_in(transaction_.identity()), held.state, held.ended_by, held.deadline};
    }

    std::optional<standing> standing_of(const std::vector<row>& rows) const {
        return rows.empty() ? std::nullopt : std::optional{standing_of(rows.front())};
    }

    /// Grants or sets aside, in order, until `left` are granted or `may_put_aside` set aside. Returns how many were set
    /// aside.
    std::size_t take(std::vector<row>& rows, std::string_view owner, millis lease_for, std::size_t left,
                     std::size_t may_put_aside, std::vector<lease>& granted) {
        const reading now = transaction_.now();
        short_list<change> changes{rows.size()};
        short_list<row*> taken{rows.size()};
        std::size_t changed = 0;
        std::size_t kept = 0;
        for (row& candidate : rows) {
            if (kept == left || changed - kept == may_put_aside) {
                break;
            }
            const rules::columns seen = candidate.columns();
            const rules::decision decided = rules::decide(seen, now.at, now.taking_at);
            if (decided.what == rules::taking::leave) {
                continue;
            }
            if (seen.state == job_state::leased) {
                notes_.changed(event_kind::lapsed, candidate, now.at);
            }
            if (decided.what == rules::taking::grant) {
                candidate.assign(rules::grant(seen, owner, lease_for, now.at));
                taken.all()[kept++] = &candidate;
            } else {
                candidate.assign(rules::put_aside(seen, decided.why, now.at));
            }
            notes_.changed(decided.what == rules::taking::grant ? event_kind::claimed : event_kind::quarantined,
                           candidate, now.at);
            changes.all()[changed++].to = &candidate;
        }
        transaction_.write(changes.all().first(changed));
        for (row* const held : taken.all().first(kept)) {
            hand_over(granted.emplace_back(held->marker_in(transaction_.identity())), *held, now);
        }
        return changed - kept;
    }

    static void hand_over(lease& granted, row& held, const reading& now) {
        granted.key = std::move(held.key);
        granted.queue = std::move(held.queue);
        granted.deadline = held.deadline;
        granted.granted = now.at;
        granted.local_until = rules::local_end(now.pace, now.at, granted.lease_until);
    }

    void add_bytes(std::vector<lease>& leases) {
        if (leases.empty()) {
            return;
        }
        static constexpr claim_token first{1};
        short_list<granted_row> rows{leases.size()};
        std::transform(leases.begin(), leases.end(), rows.all().begin(), [](const lease& held) {
            return granted_row{held.id, held.token == first};
        });
        std::vector<row_bytes> bytes = transaction_.bytes(rows.all());
        for (std::size_t i = 0; i < leases.size(); ++i) {
            leases[i].payload = std::move(bytes[i].payload);
            leases[i].checkpoint = std::move(bytes[i].checkpoint);
            leases[i].receipts = std::move(bytes[i].receipts);
        }
    }

    /// The one way of every holder's verb: hold the rows, read the clock, judge each marker in the order given, make
    /// the change where the answer is `applied`.
    template <class Effect>
    void settle(std::optional<event_kind> what, std::span<const marker* const> rounds, std::span<settlement> answers,
                const Effect& effect, rules::match how = rules::match::whole_marker) {
        std::vector<row> rows = hold_all(rounds);
        const reading now = transaction_.now();
        const store_id here = transaction_.identity();
        short_list<change> list{rows.size()};
        const std::span<change> changes = list.all();
        for (std::size_t i = 0; i < rounds.size(); ++i) {
            const marker& round = *rounds[i];
            const auto at = std::lower_bound(rows.begin(), rows.end(), round.id,
                                             [](const row& held, job_id id) { return held.id < id; });
            const bool found = round.store == here && at != rows.end() && at->id == round.id;
            const std::optional<rules::columns> seen = found ? std::optional{at->columns()} : std::nullopt;
            const verdict why = rules::judge(round.view(), here, seen ? &*seen : nullptr, now.at, how);
            if (why == verdict::applied) {
                change& to = changes[static_cast<std::size_t>(at - rows.begin())];
                const rules::columns next = effect(i, *at, now, to);
                if (next != *seen || to.result || to.checkpoint) {
                    at->assign(next);
                    to.to = &*at;
                }
            }
            notes_.settled(what, why, round, found ? &*at : nullptr, now.at);
            settlement& answer = answers[i];
            answer.why = why;
            answer.at = now.at;
            answer.presented = round;
            if (found) {
                answer.current = standing_of(*at);
            }
        }
        const auto end =
            std::remove_if(changes.begin(), changes.end(), [](const change& c) { return c.to == nullptr; });
        transaction_.write(std::span{changes.begin(), end});
    }

    template <class Effect>
    std::vector<settlement> settle(std::optional<event_kind> what, std::span<const marker* const> rounds,
                                   const Effect& effect, rules::match how = rules::match::whole_marker) {
        std::vector<settlement> answers(rounds.size());
        settle(what, rounds, answers, effect, how);
        return answers;
    }

    template <class Effect>
    settlement settle_one(std::optional<event_kind> what, const marker& round, const Effect& effect) {
        const marker* const only = &round;
        settlement answer;
        settle(what, std::span{&only, 1}, std::span{&answer, 1}, effect);
        return answer;
    }

    /// The rows of those rounds by ascending id; those of another store's rounds have ids of ours. (Whose they are is
    /// asked after the locks: on a server that answer comes with theirs.)
    std::vector<row> hold_all(std::span<const marker* const> rounds) {
        short_list<job_id> ids{rounds.size()};
        auto end = ids.all().begin();
        for (const marker* const round : rounds) {
            *end++ = round->id;
        }
        if (rounds.size() > 1) {  // (for one, g++ warns of what a sort would do with many)
            std::sort(ids.all().begin(), end);
            end = std::unique(ids.all().begin(), end);
        }
        return transaction_.hold(std::span<const job_id>{ids.all().begin(), end});
    }

    template <class Judge, class Effect>
    amendment amend(event_kind what, job_id id, const Judge& judge, const Effect& effect) {
        std::vector<row> rows = hold_one(id);
        const instant now = transaction_.now().at;
        const std::optional<rules::columns> seen = seen_of(rows);
        const verdict why = judge(seen ? &*seen : nullptr, now);
        if (why == verdict::applied) {
            notes_.changed(what, rows.front(), now);
            rows.front().assign(effect(rows.front(), now));
            const change to{&rows.front()};
            transaction_.write(std::span{&to, 1});
        }
        return {why, now, id, standing_of(rows)};
    }

    Transaction& transaction_;
    event_notes notes_;
};

}  // namespace leasehold::inline v0_1_0::detail
