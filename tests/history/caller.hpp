// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "history/call.hpp"

namespace history {

/// Somebody who asks a queue for this and that, by chance: with the markers that they were given, old ones among them.
class caller {
public:
    caller(std::size_t process, std::uint64_t seed) : process_{process}, chance_{seed + process} {}

    call next() {
        call asked;
        asked.process = process_;
        asked.what = any_verb();
        asked.who = std::string(1, static_cast<char>('A' + process_));
        asked.length = std::chrono::milliseconds{1 + below(6)};
        asked.few = static_cast<std::int32_t>(1 + below(3));
        asked.round = any_round();
        asked.text = asked.what == verb::enqueue ? "k" + std::to_string(below(40)) : std::to_string(++number_);
        if (asked.what == verb::enqueue && below(3) > 0) {
            asked.length = {};
            asked.expires_in = std::chrono::milliseconds{below(3) > 0 ? 0 : 5 + below(20)};
        }
        if ((asked.what == verb::release || asked.what == verb::fail || asked.what == verb::requeue) && below(2) > 0) {
            asked.length = {};
        }
        return asked;
    }

    void keep(const marker& round) {
        rounds_.push_back(round);
        if (rounds_.size() > 6) {
            rounds_.erase(rounds_.begin());
        }
    }

    bool now_and_then() { return below(10) == 0; }
    const std::vector<marker>& rounds() const { return rounds_; }

private:
    std::int64_t below(std::int64_t end) { return std::uniform_int_distribution<std::int64_t>{0, end - 1}(chance_); }

    /// Without a round to present: something that needs none.
    verb any_verb() {
        using enum verb;
        static constexpr std::array<verb, 4> needs_none{enqueue, claim, claim, claim_many};
        static constexpr std::array<std::pair<verb, int>, 18> weights{{{enqueue, 14},
                                                                       {claim, 16},
                                                                       {claim_many, 4},
                                                                       {finish, 8},
                                                                       {renew, 8},
                                                                       {finish_and_claim, 6},
                                                                       {refresh, 3},
                                                                       {fail, 6},
                                                                       {release, 5},
                                                                       {quarantine, 2},
                                                                       {checkpoint, 3},
                                                                       {leave_receipt, 2},
                                                                       {revoke, 3},
                                                                       {cancel, 2},
                                                                       {requeue, 3},
                                                                       {prune, 1},
                                                                       {verb::find, 10},
                                                                       {list, 2}}};
        if (rounds_.empty()) {
            return needs_none.at(static_cast<std::size_t>(below(needs_none.size())));
        }
        std::int64_t left = below(98);
        for (const auto& [what, weight] : weights) {
            if ((left -= weight) < 0) {
                return what;
            }
        }
        return list;
    }

    /// The latest, mostly.
    marker any_round() {
        if (rounds_.empty()) {
            return {};
        }
        const bool latest = below(2) == 0;
        return latest ? rounds_.back() : rounds_[static_cast<std::size_t>(below(std::ssize(rounds_)))];
    }

    std::size_t process_;
    std::mt19937_64 chance_;
    std::vector<marker> rounds_{};
    int number_ = 0;
};

}  // namespace history
