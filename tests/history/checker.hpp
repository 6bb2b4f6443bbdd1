// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "history/call.hpp"
#include "model/model.hpp"

/// Is there an order of the calls that explains their answers? It keeps the order of calls of which one had been
/// answered before the other was asked, judges by instants that never fall, and gives every answer as the plain model
/// of the queue gives it. The search is that of Wing and Gong, with what was once tried in vain remembered, as Lowe
/// does.
///
/// A claim chooses among all jobs, so the jobs of a history can't be looked at one by one: the model is the whole
/// queue. What keeps the search small is that a process asks one thing at a time: how far each has come, and what the
/// rows are then, is all that one has to know.
namespace history {

struct finding {
    bool explained = false;
    std::size_t states = 0;  ///< that the search went through
    std::string timeline{};  ///< where it was not explained: how far one gets, and what does not fit there
};

class checker {
public:
    checker(store_id store, const std::vector<call>& calls) {
        for (const call& each : calls) {
            lanes_.resize(std::max(lanes_.size(), each.process + 1));
            lanes_[each.process].push_back(&each);
        }
        for (lane& each : lanes_) {
            std::stable_sort(each.begin(), each.end(), [](auto* a, auto* b) { return a->start < b->start; });
        }
        total_ = calls.size();
        start_.store = store;
    }

    finding check() {
        for (const lane& each : lanes_) {
            for (const call* made : each) {
                if (!is_judged_within(*made)) {
                    found_.timeline = "judged by an instant outside of the call:\n  " + line(*made) + '\n';
                    return found_;
                }
            }
        }
        found_.explained = explain(progress(lanes_.size()), start_);
        if (!found_.explained) {
            found_.timeline = timeline();
        }
        return found_;
    }

private:
    using lane = std::vector<const call*>;
    using progress = std::vector<std::size_t>;  ///< how many calls of each process have their place in the order
    using queue = model::queue<>;

    struct refusal {
        const call* made = nullptr;
        std::string why{};
    };

    static bool is_judged_within(const call& made) {
        return !made.at || (std::chrono::floor<std::chrono::milliseconds>(made.start) <= made.at->time_since_epoch() &&
                            made.at->time_since_epoch() <= made.end);
    }

    bool explain(const progress& done, const queue& now) {
        if (order_.size() == total_) {
            return true;
        }
        ++found_.states;
        std::vector<refusal> refusals;
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            if (done[i] == lanes_[i].size()) {
                continue;
            }
            const call& made = *lanes_[i][done[i]];
            if (const call* const earlier = must_come_before(made, done)) {
                refusals.push_back({&made, "not before that of process " + std::to_string(earlier->process)});
                continue;
            }
            queue after = now;
            after.now = made.at.value_or(now.now);
            if (after.now < now.now) {
                refusals.push_back({&made, "the instants would fall"});
            } else if (std::string answer = perform(after, made, [](const marker&) {}); answer != made.answer) {
                refusals.push_back({&made, "the queue would answer\n         " + answer});
            } else if (goes_on(done, i, made, after)) {
                return true;
            }
        }
        remember(refusals);
        return false;
    }

    bool goes_on(progress done, std::size_t with, const call& made, const queue& after) {
        ++done[with];
        std::vector<queue>& before = tried_[done];
        const bool in_vain = std::any_of(before.begin(), before.end(), [&](const queue& each) {
            return each.last_id == after.last_id && each.rows == after.rows;
        });
        if (in_vain) {
            return false;
        }
        order_.push_back(&made);
        if (explain(done, after)) {
            return true;
        }
        order_.pop_back();
        tried_[done].push_back(after);
        return false;
    }

    /// Of another process: answered before this one was asked, or judged by an earlier instant.
    const call* must_come_before(const call& made, const progress& done) const {
        for (std::size_t i = 0; i < lanes_.size(); ++i) {
            if (done[i] == lanes_[i].size() || lanes_[i][done[i]] == &made) {
                continue;
            }
            const call& other = *lanes_[i][done[i]];
            if (other.end < made.start || (other.at && made.at && *other.at < *made.at)) {
                return &other;
            }
        }
        return nullptr;
    }

    void remember(std::vector<refusal>& refusals) {
        if (furthest_refused_.empty() || order_.size() > furthest_.size()) {
            furthest_ = order_;
            furthest_refused_ = std::move(refusals);
        }
    }

    std::string timeline() const {
        constexpr std::size_t shown = 12;
        const std::size_t from = furthest_.size() - std::min(shown, furthest_.size());
        std::string text = "no order explains these answers. " + std::to_string(furthest_.size()) + " of " +
                           std::to_string(total_) + " calls can be put in order, of which the last are\n";
        for (std::size_t i = from; i < furthest_.size(); ++i) {
            text += "  " + line(*furthest_[i]) + '\n';
        }
        text += "then none of these can follow:\n";
        for (const refusal& each : furthest_refused_) {
            text += "  " + line(*each.made) + "\n      !! " + each.why + '\n';
        }
        return text;
    }

    std::vector<lane> lanes_{};
    std::size_t total_ = 0;
    queue start_{};
    finding found_{};
    std::vector<const call*> order_{};
    std::map<progress, std::vector<queue>> tried_{};
    std::vector<const call*> furthest_{};
    std::vector<refusal> furthest_refused_{};
};

inline finding check(store_id store, const std::vector<call>& calls) { return checker{store, calls}.check(); }

}  // namespace history
