// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include <leasehold/rules.hpp>

/// Short words for the static tests: an instant, a length, a row in a given state.
namespace literals {

using namespace leasehold;

constexpr instant at(std::int64_t ms) { return instant{std::chrono::milliseconds{ms}}; }
constexpr millis ms(std::int64_t length) { return std::chrono::milliseconds{length}; }

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

constexpr store_id here{{1, 2, 3}};
constexpr store_id elsewhere{{1, 2, 4}};

/// A row in its second round: leased by A until 1000, of five attempts.
constexpr rules::columns held() {
    rules::columns row;
    row.state = job_state::leased;
    row.owner = "A";
    row.token = {2};
    row.attempt = 2;
    row.max_attempts = 5;
    row.lease_until = at(1000);
    row.waits = true;
    row.vests_at = at(1000);
    row.failures = 1;
    row.lapses = 0;
    row.last_error = "first";
    return row;
}

/// What the holder of `held()` presents.
constexpr marker_view mine() { return {here, {7}, "A", {2}, 2, at(1000)}; }

/// A copy of `row` with one thing changed.
template <class Change>
constexpr rules::columns with(rules::columns row, Change change) {
    change(row);
    return row;
}

}  // namespace literals
