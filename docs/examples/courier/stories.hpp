// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <iostream>
#include <string>
#include <string_view>

#include <leasehold/sqlite.hpp>

/// The rules on known values, and the story that the library exists for.
namespace courier {

/// Lease data and times alone: no clock, no store.
inline void tell_model() {
    using namespace leasehold;
    using namespace std::chrono_literals;
    constexpr store_id here{};
    constexpr rules::columns row{.state = job_state::leased,
                                 .owner = "B",
                                 .token = {2},
                                 .attempt = 2,
                                 .max_attempts = 5,
                                 .lease_until = instant{2000ms},
                                 .waits = true,
                                 .vests_at = instant{2000ms}};
    constexpr marker_view stale{here, {1}, "A", {1}, 1, instant{1000ms}};
    constexpr marker_view current{here, {1}, "B", {2}, 2, instant{2000ms}};
    const auto says = [](bool yes) { return yes ? "True" : "False"; };
    std::cout << "owned " << says(rules::is_live(*row.lease_until, instant{1001ms})) << '\n'
              << "expired " << says(rules::is_takeable(stale.lease_until, instant{1000ms})) << '\n'
              << "stale ack " << says(rules::judge(stale, here, &row, instant{1001ms}) == verdict::applied) << '\n'
              << "current ack " << says(rules::judge(current, here, &row, instant{1001ms}) == verdict::applied) << '\n';
}

/// A stalls, `second` takes over, A comes back. Says whether it went as it must.
inline bool tell_round(const std::string& path, const std::string& second) {
    using namespace leasehold;
    using namespace std::chrono_literals;
    manual_clock clock;
    basic_lease_queue<manual_clock, sqlite_store> queue{{path}, clock};
    const auto show = [&](const std::string& what) { std::cout << to_text(clock.now()) << "\t" << what << '\n'; };
    const auto line = [](const lease& held) {
        return held.owner + " claims: token " + to_text(held.token) + ", lease_until " + to_text(held.lease_until);
    };

    queue.enqueue({.key = "order-1", .payload = "one burrito"});
    const auto a = queue.claim("A", 1000ms);
    show(line(*a));
    clock.set(instant{1000ms});
    const auto b = queue.claim(second, 1000ms);
    show(line(*b));
    clock.set(instant{1001ms});
    const settlement late = queue.finish(*a);
    show("A completes with token 1: " + to_text(late));
    const record row = *queue.find(a->id);
    const bool untouched = row.marker() == static_cast<const marker&>(*b) && row.state == job_state::leased;
    show(std::string{"the row is as "} + second + " holds it: " + (untouched ? "True" : "False"));
    const settlement done = queue.finish(*b);
    show(second + " completes with token 2: " + to_text(done));
    return late.why == verdict::superseded && untouched && done;
}

/// `folder` is empty, and stays with the caller.
inline bool tell_timeline(const std::string& folder) {
    std::cout << "Another worker takes over:\n";
    const bool another = tell_round(folder + "/another.db", "B");
    std::cout << "\nThe worker is started again under its own name:\n";
    const bool same = tell_round(folder + "/same.db", "A");
    return another && same;
}

}  // namespace courier
