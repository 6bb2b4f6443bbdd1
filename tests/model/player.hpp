// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/job.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/settlement.hpp>

#include "lines.hpp"
#include "step.hpp"

namespace model {

/// A step as it was made, and what came of it.
struct told {
    std::string call{};
    std::string answer{};
};

/// Makes steps on one queue, the library's or the model's: what it keeps of the answers decides what the next ones
/// present.
template <class Queue>
class player {
public:
    /// The calls of different owners may go through different handles of one store.
    explicit player(std::vector<Queue*> handles) : handles_{std::move(handles)} {}

    told play(const step& s, instant now) {
        queue_ = handles_[s.who % handles_.size()];
        owner_ = owners[s.who % owners.size()];
        call_.clear();
        try {
            std::string answer = perform(s, now);
            return {call_, std::move(answer)};
        } catch (const std::invalid_argument&) {
            return {call_, "refused"};
        }
    }

private:
    static constexpr std::size_t most_kept = 12;

    std::string perform(const step& s, instant now) {
        switch (s.what) {
            case verb::enqueue: return enqueue(job_of(s, now));
            case verb::enqueue_many: return enqueue_many(s, now);
            case verb::claim: return claim(s);
            case verb::claim_many: return claim_many(s);
            case verb::finish: return finish(s);
            case verb::finish_many: return finish_many(s);
            case verb::finish_and_claim: return finish_and_claim(s);
            case verb::renew:
            case verb::refresh: return prolong(s);
            case verb::renew_many: return renew_many(s);
            case verb::fail:
            case verb::release:
            case verb::quarantine:
            case verb::checkpoint:
            case verb::leave_receipt: return settle(*queue_, s, chosen(s, s.mark));
            case verb::release_many: return release_many(s);
            case verb::revoke:
            case verb::cancel:
            case verb::requeue: return amend(s, now);
            case verb::prune: return prune(s);
            case verb::find: return find(s);
            case verb::list: return list(s);
            case verb::stats: return called("stats"), line(queue_->stats());
            case verb::transact: return transact(s, now);
            case verb::clock_step:
            case verb::new_store_id: break;  // not the player's
        }
        return {};
    }

    void called(const std::string& what) { call_ += (call_.empty() ? "" : ", ") + what; }

    static std::string text(millis length) { return length == longest ? "longest" : std::to_string(length.count()); }

    // ---- Markers that were kept ----

    /// The younger ones first.
    std::size_t place(unsigned which) const { return kept_.size() - 1 - which % kept_.size(); }

    marker chosen(const step& s, unsigned which) const {
        marker m{{}, {1}, owner_, {1}, 1, {}};
        if (!kept_.empty()) {
            m = kept_[place(which)];
        }
        switch (s.wrong) {
            case flaw::none: break;
            case flaw::store: m.store.bytes[0] ^= 1U; break;
            case flaw::id: m.id.value += 1; break;
            case flaw::owner: m.owner = m.owner == "A" ? "B" : "A"; break;
            case flaw::token_below: m.token.value -= 1; break;
            case flaw::token_above: m.token.value += 1; break;
            case flaw::attempt: m.attempt += 1; break;
            case flaw::lease_until:  // (also where it is the end of the range)
                m.lease_until = instant{std::chrono::milliseconds{m.lease_until.time_since_epoch().count() ^ 1}};
                break;
        }
        return m;
    }

    /// As many as `flags` says, some twice.
    std::vector<marker> several(const step& s) const {
        std::vector<marker> all;
        for (unsigned i = 0; i <= s.flags % 4; ++i) {
            all.push_back(chosen(s, s.mark + i * s.other));
        }
        return all;
    }

    void keep(const marker& m) {
        if (kept_.size() == most_kept) {
            kept_.erase(kept_.begin());
        }
        kept_.push_back(m);
    }

    /// The marker of the row that an operator looks at: of a job that was claimed, or the one before or after it.
    marker looked_at(const step& s) const {
        const marker m = chosen(s, s.mark);
        const auto row = queue_->find(job_id{m.id.value + static_cast<std::int64_t>(s.other % 3) - 1});
        return row && !s.flag(5) ? row->marker() : m;
    }

    std::string taken(const std::optional<lease>& held) {
        if (held) {
            keep(*held);
        }
        return line(held);
    }

    // ---- Verbs ----

    std::string enqueue(const job& work) {
        called("enqueue " + text(work));
        return line(queue_->enqueue(work));
    }

    static std::string text(const job& work) {
        return work.queue + "/" + (work.key.empty() ? "-" : work.key) + " payload=" + work.payload +
               " priority=" + std::to_string(work.priority) + " max=" + std::to_string(work.max_attempts) +
               text_of_times(work);
    }

    template <class Schedule>
    static std::string text_of_times(const Schedule& when) {
        return (when.delay != millis{} ? " delay=" + text(when.delay) : "") +
               (when.not_before ? " not_before=" + to_text(*when.not_before) : "") +
               (when.expires_in ? " expires_in=" + text(*when.expires_in) : "") +
               (when.deadline ? " deadline=" + to_text(*when.deadline) : "");
    }

    std::string enqueue_many(const step& s, instant now) {
        std::vector<job> jobs;
        for (unsigned i = 0; i < 1 + s.mark % 4; ++i) {
            jobs.push_back(job_of(s, now, i));
            called((i == 0 ? "enqueue_many " : "") + text(jobs.back()));
        }
        const on_conflict policy = s.flag(5) ? on_conflict::nothing : on_conflict::keep_others;
        called(policy == on_conflict::nothing ? "nothing on conflict" : "keep others");
        return line(queue_->enqueue_many(jobs, policy));
    }

    std::string claim(const step& s) {
        called("claim for " + text(length_of(s)) + " from " + queue_of(s));
        return taken(queue_->claim(owner_, length_of(s), queue_of(s)));
    }

    std::string claim_many(const step& s) {
        const std::size_t limit = 1 + s.other % 5;
        called("claim_many " + std::to_string(limit) + " for " + text(length_of(s)) + " from " + queue_of(s));
        const std::vector<lease> all = queue_->claim_many(owner_, length_of(s), limit, queue_of(s));
        for (const lease& held : all) {
            keep(held);
        }
        return line(all);
    }

    std::string finish(const step& s) {
        const marker m = chosen(s, s.mark);
        called("finish " + line(m));
        return line(queue_->finish(m, result(s)));
    }

    static std::string result(const step& s) { return s.flag(0) ? "done" + std::to_string(s.other) : ""; }

    std::string finish_many(const step& s) {
        const std::vector<marker> rounds = several(s);
        called("finish_many " + line(rounds));
        if (s.flag(3)) {
            return line(queue_->finish_many(rounds));
        }
        std::vector<completion> completions;
        for (const marker& round : rounds) {
            completions.push_back({round, result(s)});
        }
        return line(queue_->finish_many(completions));
    }

    std::string finish_and_claim(const step& s) {
        const marker m = chosen(s, s.mark);
        claim_terms next{.owner = owner_, .lease_for = length_of(s)};
        if (s.flag(1)) {
            next.queues = {queue_of(s)};
        }
        if (s.flag(1) && s.flag(2)) {
            next.queues.emplace_back(s.flag(0) ? "default" : "other");
        }
        called("finish " + line(m) + " and claim for " + text(next.lease_for));
        for (const std::string& name : next.queues) {
            called("from " + name);
        }
        const finished_and_claimed answer = queue_->finish_and_claim(m, result(s), next);
        const std::string next_line = taken(answer.next);
        return line(answer.finished) + "; next " + next_line + (answer.more ? "; more" : "");
    }

    /// Through a copy, of which the marker kept knows nothing, or through the marker kept.
    std::string prolong(const step& s) {
        const marker before = chosen(s, s.mark);
        lease held{before};
        const bool renews = s.what == verb::renew;
        called(renews ? "renew for " + text(length_of(s)) + ' ' + line(before) : "refresh " + line(before));
        const settlement answer = renews ? queue_->renew(held, length_of(s)) : queue_->refresh(held);
        if (answer && !s.flag(0)) {
            kept_[place(s.mark)] = held;
        } else if (answer) {
            keep(held);
        }
        return line(answer) + "; holds " + line(held);
    }

    std::string renew_many(const step& s) {
        std::vector<marker> rounds = several(s);
        called("renew_many for " + text(length_of(s)) + ' ' + line(rounds));
        std::vector<marker*> pointers;
        for (marker& round : rounds) {
            pointers.push_back(&round);
        }
        const std::vector<settlement> answers = queue_->renew_many(pointers, length_of(s));
        for (std::size_t i = 0; i < rounds.size(); ++i) {
            if (answers[i]) {
                keep(rounds[i]);
            }
        }
        return line(answers) + "; holds " + line(rounds);
    }

    /// Verbs that a session has too.
    template <class Session>
    std::string settle(Session& on, const step& s, const marker& m) {
        switch (s.what) {
            case verb::fail:
                called("fail, again after " + text(delay_of(s)) + ", " + line(m));
                return line(on.fail(m, "error " + std::to_string(s.other), delay_of(s)));
            case verb::release:
                called("release for " + text(delay_of(s)) + ' ' + line(m));
                return line(on.release(m, delay_of(s)));
            case verb::quarantine: called("quarantine " + line(m)); return line(on.quarantine(m, "a person must look"));
            case verb::checkpoint:
                called("checkpoint " + line(m));
                return line(on.checkpoint(m, "page " + std::to_string(s.other)));
            case verb::leave_receipt:
                called("leave_receipt " + line(m));
                return line(on.leave_receipt(m, "sent " + std::to_string(s.other)));
            default: called("finish " + line(m)); return line(on.finish(m, result(s)));
        }
    }

    std::string release_many(const step& s) {
        const std::vector<marker> rounds = several(s);
        called("release_many for " + text(delay_of(s)) + ' ' + line(rounds));
        return line(queue_->release_many(rounds, delay_of(s)));
    }

    std::string amend(const step& s, instant now) {
        const marker seen = looked_at(s);
        if (s.what == verb::revoke) {
            called("revoke " + line(seen));
            return line(queue_->revoke(seen.id, seen.token));
        }
        if (s.what == verb::cancel) {
            called("cancel " + line(seen) + (s.flag(4) ? " whatever its token" : ""));
            return line(s.flag(4) ? queue_->cancel(seen.id) : queue_->cancel(seen.id, seen.token));
        }
        requeue_options how;
        schedule(how, s, now);
        called("requeue " + line(seen) + text_of_times(how));
        return line(queue_->requeue(seen.id, seen.token, how));
    }

    std::string prune(const step& s) {
        const prune_options which{length_of(s) == longest ? millis{} : length_of(s), 1 + s.other % 4, s.flag(0)};
        called("prune older than " + text(which.older_than) + " limit " + std::to_string(which.limit) +
               (which.quarantined ? ", quarantined too" : ""));
        return std::to_string(queue_->prune(which));
    }

    std::string find(const step& s) {
        if (s.key > 0) {
            const std::string key = "k" + std::to_string(s.key);
            called("find " + queue_of(s) + '/' + key);
            return line(queue_->find(queue_of(s), key));
        }
        const marker m = chosen(s, s.mark);
        called("find job " + to_text(m.id));
        return line(queue_->find(m.id));
    }

    std::string list(const step& s) {
        filter which{.after = {static_cast<std::int64_t>(s.mark)}, .limit = 1 + s.other};
        if (s.flag(1)) {
            which.queue = queue_of(s);
        }
        if (s.flag(2)) {
            which.state = static_cast<job_state>(s.length % 5);
        }
        called("list");
        return line(queue_->list(which));
    }

    /// Three verbs in one transaction of the queue, which is rolled back more often than not.
    std::string transact(const step& s, instant now) {
        struct changed_mind {};
        std::string answers;
        called("in one transaction");
        try {
            queue_->transact([&](auto& session) {
                const job work = job_of(s, now);
                called("enqueue " + text(work));
                answers += line(session.enqueue(work));
                for (const unsigned which : {s.mark, s.other}) {
                    step part = s;
                    part.what = session_verbs[(which + s.length) % session_verbs.size()];
                    answers += "\n  and " + settle(session, part, chosen(s, which));
                }
                if (s.length % 3 != 0) {
                    throw changed_mind{};
                }
            });
        } catch (const changed_mind&) {
            called("rolled back");
        }
        return answers;
    }

    static constexpr std::array<verb, 6> session_verbs{verb::finish,     verb::fail,       verb::release,
                                                       verb::quarantine, verb::checkpoint, verb::leave_receipt};

    std::vector<Queue*> handles_;
    Queue* queue_ = nullptr;
    std::string owner_{};
    std::string call_{};
    std::vector<marker> kept_{};
};

}  // namespace model
