// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "measuring.hpp"

namespace bench {

/// Runs all sides in every round, in turn: forth in one round and back in the next, so that a machine that drifts
/// favours nobody. Answers by side, and in it by round.
template <class Answer>
std::vector<std::vector<Answer>> in_turn(std::size_t rounds, const std::vector<std::function<Answer()>>& sides) {
    std::vector<std::vector<Answer>> answers(sides.size());
    for (std::size_t round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < sides.size(); ++i) {
            const std::size_t side = round % 2 == 0 ? i : sides.size() - 1 - i;
            answers[side].push_back(sides[side]());
        }
    }
    return answers;
}

/// The median over the rounds of one side over another: of one round each, since the machine drifts between rounds.
inline double median_ratio(const std::vector<double>& over, const std::vector<double>& under) {
    std::vector<double> ratios(over.size());
    std::transform(over.begin(), over.end(), under.begin(), ratios.begin(), std::divides<>{});
    return median(ratios);
}

/// What is compared: a name, and how many it does a second.
struct side {
    std::string name{};
    std::function<double()> rate{};
};

/// Puts the ratio of the sides' rates under `name`, and the median rate of each beside it. The first turn of each side
/// fills caches and is not counted.
inline void compare(figures& to, const std::string& name, std::size_t rounds, const side& over, const side& under) {
    over.rate();
    under.rate();
    const auto rates = in_turn<double>(rounds, {over.rate, under.rate});
    to[name] = median_ratio(rates[0], rates[1]);
    to[name + "_" + over.name + "_per_second"] = median(rates[0]);
    to[name + "_" + under.name + "_per_second"] = median(rates[1]);
}

}  // namespace bench
