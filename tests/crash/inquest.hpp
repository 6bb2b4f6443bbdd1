// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/leasehold.hpp>

#include "crash/notes.hpp"

namespace crash {

using namespace leasehold;
using rows = std::map<job_id, record>;

template <class Queue>
rows all_of(const Queue& queue) {
    rows all;
    for (const record& each : queue.list({.limit = 1000}).items) {
        all.emplace(each.id, *queue.find(each.id));
    }
    return all;
}

/// What a process that was killed did to a queue, held against what it was told: nothing acknowledged may be missing,
/// and of what was under way each call is done whole or not at all.
class inquest {
public:
    inquest(const rows& before, const rows& after, const notes& told) : before_{before}, after_{after} {
        told.each([this](const noted_call& call) { calls_.push_back(&call); });
    }

    /// What is wrong; nothing where all is well.
    std::string fault() {
        for (const noted_call* const call : calls_) {
            if (call->at == noted_call::stage::threw) {
                return "a call threw: " + named(*call);
            }
        }
        for (const auto& [id, row] : before_) {
            require(after_.contains(id), "lost: job " + to_text(id));
        }
        for (const auto& [id, row] : after_) {
            check(row);
        }
        check_intake();
        check_joint_calls();
        return fault_;
    }

private:
    using verb = noted_call::verb;

    void require(bool holds, const std::string& otherwise) {
        if (!holds && fault_.empty()) {
            fault_ = otherwise;
        }
    }
    static std::string named(const noted_call& call) {
        return "call " + std::to_string(call.number) + " of kind " + std::to_string(static_cast<int>(call.what));
    }

    template <class Which>
    std::vector<const noted_call*> those(const Which& which) const {
        std::vector<const noted_call*> found;
        std::copy_if(calls_.begin(), calls_.end(), std::back_inserter(found),
                     [&](const noted_call* call) { return which(*call); });
        return found;
    }
    template <class Which>
    bool any(const Which& which) const {
        return std::any_of(calls_.begin(), calls_.end(), [&](const noted_call* call) { return which(*call); });
    }
    template <class Which>
    std::size_t count(const Which& which) const {
        return those(which).size();
    }

    void check(const record& row) {
        const std::string job = "job " + to_text(row.id) + ": ";
        const auto before = before_.find(row.id);
        const record start = before != before_.end() ? before->second : new_row(row);
        require(row.key == start.key && row.payload == start.payload, job + "another key or payload");

        const claim_token last = last_acknowledged(row.id, start.token);
        require(row.token >= last, job + "a token that was acknowledged is gone");
        check_bytes(row, start);
        if (row.token > last) {
            check_unanswered_claim(row, last);
        } else if (row.token == start.token) {
            require(row.state == start.state && row.owner == start.owner && row.lease_until == start.lease_until &&
                        row.attempt == start.attempt && row.result == start.result,
                    job + "changed by nobody");
        } else {
            check_round(row);
        }
    }

    /// As it was enqueued, by whichever call has its key.
    record new_row(const record& row) {
        record fresh;
        for (const noted_call* const call : calls_) {
            for (std::size_t i = 0; i < call->jobs; ++i) {
                if (key_of(call->number + i) == row.key) {
                    fresh.key = row.key;
                    fresh.payload = bytes_of(call->number + i);
                }
            }
        }
        require(!fresh.key.empty(), "job " + to_text(row.id) + ": enqueued by nobody");
        return fresh;
    }

    claim_token last_acknowledged(job_id id, claim_token start) {
        std::vector<std::int64_t> tokens{start.value};
        for (const noted_call* const call :
             those([&](const auto& each) { return each.claims() && each.is_answered() && each.got_id == id.value; })) {
            require(call->got_token > start.value && std::count(tokens.begin(), tokens.end(), call->got_token) == 0,
                    "job " + to_text(id) + ": token " + std::to_string(call->got_token) + " was given twice");
            tokens.push_back(call->got_token);
        }
        return {*std::max_element(tokens.begin(), tokens.end())};
    }

    /// A round that was given to nobody: its claim was under way.
    void check_unanswered_claim(const record& row, claim_token last) {
        const std::string job = "job " + to_text(row.id) + ": ";
        require(row.state == job_state::leased && any([&](const auto& each) {
                    return each.is_open() && each.claims() && owner_of(each.number) == row.owner;
                }),
                job + "a round that nobody asked for");
        const auto open_claims = count([](const auto& each) { return each.is_open() && each.claims(); });
        require(row.token.value - last.value <= static_cast<std::int64_t>(open_claims),
                job + "more rounds than claims");
        require(!any([&](const auto& each) {
            return each.finishes() && each.is_answered() && each.is_applied && each.id == row.id.value;
        }),
                job + "claimed after it was finished");
    }

    /// The row's round is the last that was acknowledged.
    void check_round(const record& row) {
        const std::string job = "job " + to_text(row.id) + ": ";
        const auto claim = those([&](const auto& each) {
            return each.claims() && each.is_answered() && each.got_id == row.id.value &&
                   each.got_token == row.token.value;
        });
        std::int64_t until = claim.front()->got_until;
        const noted_call* end = nullptr;
        const noted_call* open = nullptr;
        for (const noted_call* const call :
             those([&](const auto& each) { return each.id == row.id.value && each.token == row.token.value; })) {
            if (call->is_open()) {
                open = call;
            } else if (call->is_applied && call->what == verb::renew) {
                until = call->got_until;
            } else if (call->is_applied && (call->finishes() || call->what == verb::fail)) {
                end = call;
            }
        }
        const bool may_end = open != nullptr && (open->finishes() || open->what == verb::fail);
        if (end == nullptr && may_end && row.state != job_state::leased) {
            end = open;
        }
        if (end == nullptr) {
            const std::int64_t found = row.lease_until ? row.lease_until->time_since_epoch().count() : 0;
            const bool may_renew = open != nullptr && open->what == verb::renew;
            require(
                row.state == job_state::leased && row.owner == owner_of(claim.front()->number) && row.result.empty(),
                job + "not held as it was acknowledged");
            require(found == until || (may_renew && found > until), job + "another lease end than acknowledged");
        } else if (end->what == verb::fail) {
            require(row.state == job_state::ready && row.owner.empty() && row.last_error == key_of(end->number),
                    job + "not failed as it was said");
        } else {
            require(row.state == job_state::finished && row.result == bytes_of(end->number) &&
                        row.ended_by == ender::holder,
                    job + "not finished with its result");
        }
    }

    /// What is there beside the row, of whichever round.
    void check_bytes(const record& row, const record& start) {
        const std::string job = "job " + to_text(row.id) + ": ";
        const auto of_row = [&](verb what, bool is_open) {
            return those([&, what, is_open](const noted_call& each) {
                return each.what == what && each.id == row.id.value &&
                       (is_open ? each.is_open() : each.is_answered() && each.is_applied);
            });
        };
        const auto failed = start.failures + static_cast<std::int64_t>(of_row(verb::fail, false).size());
        const auto failing = static_cast<std::int64_t>(of_row(verb::fail, true).size());
        require(row.failures >= failed && row.failures <= failed + failing, job + "another count of failures");

        const auto kept = of_row(verb::checkpoint, false);
        const auto open = of_row(verb::checkpoint, true);
        const auto last = std::max_element(kept.begin(), kept.end(), [](const noted_call* a, const noted_call* b) {
            return std::pair{a->token, a->number} < std::pair{b->token, b->number};
        });
        require(row.checkpoint == (last == kept.end() ? start.checkpoint : bytes_of((*last)->number)) ||
                    std::any_of(open.begin(), open.end(),
                                [&](const noted_call* call) { return row.checkpoint == bytes_of(call->number); }),
                job + "another checkpoint");

        const auto left = of_row(verb::leave_receipt, false);
        const auto may_be = of_row(verb::leave_receipt, true);
        for (const noted_call* const call : left) {
            require(has_receipt(row, *call), job + "a receipt is gone");
        }
        const auto open_ones = static_cast<std::size_t>(std::count_if(
            may_be.begin(), may_be.end(), [&](const noted_call* call) { return has_receipt(row, *call); }));
        require(row.receipts.size() == start.receipts.size() + left.size() + open_ones, job + "receipts of nobody");
    }
    static bool has_receipt(const record& row, const noted_call& call) {
        return std::any_of(row.receipts.begin(), row.receipts.end(), [&](const receipt& each) {
            return each.note == key_of(call.number) && each.token.value == call.token;
        });
    }

    /// What was acknowledged is there under its id; a batch is there whole or not at all.
    void check_intake() {
        std::map<std::string, job_id> by_key;
        for (const auto& [id, row] : after_) {
            require(by_key.emplace(row.key, id).second, "two jobs have one key: " + row.key);
        }
        for (const noted_call* const call : those([](const auto& each) { return each.jobs > 0; })) {
            std::size_t found = 0;
            for (std::size_t i = 0; i < call->jobs; ++i) {
                const auto job = by_key.find(key_of(call->number + i));
                found += job != by_key.end() ? 1U : 0U;
                require(i > 0 || !call->is_answered() || (job != by_key.end() && job->second.value == call->got_id),
                        "an acknowledged job is not there: " + key_of(call->number));
            }
            require(found == call->jobs || (found == 0 && call->is_open()), "half there: " + named(*call));
        }
    }

    /// One commit finishes a job and claims the next.
    void check_joint_calls() {
        for (const noted_call* const call : those([](const auto& each) {
                 return each.is_open() && each.what == verb::finish_and_claim && each.is_long;
             })) {
            const record& done = after_.at({call->id});
            const bool is_finished = done.state == job_state::finished;
            bool has_claimed = false;
            bool could_claim = false;
            for (const auto& [id, row] : after_) {
                has_claimed = has_claimed || row.owner == owner_of(call->number);
                const auto before = before_.find(id);
                could_claim = could_claim || (before != before_.end() && before->second.state == job_state::ready &&
                                              row.state == job_state::ready && row.token == before->second.token);
            }
            require(is_finished ? has_claimed || !could_claim : !has_claimed, "half done: " + named(*call));
        }
    }

    const rows& before_;
    const rows& after_;
    std::vector<const noted_call*> calls_{};
    std::string fault_{};
};

}  // namespace crash
