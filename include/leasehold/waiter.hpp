// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <stop_token>

#include <leasehold/clock.hpp>
#include <leasehold/rules.hpp>
#include <leasehold/store.hpp>
#include <leasehold/time.hpp>

namespace leasehold::detail {

/// Waits for a reason to look into the store again. Reads no rows.
template <class Clock, class Store>
class waiter {
public:
    /// Until the stop, and for `at_most` on the clock's pace.
    waiter(const Clock& clock, const Store& store, const std::stop_token& stop, millis at_most)
        : clock_{clock}, store_{store}, stop_{stop}, end_{saturating_add(pace(), at_most)} {}

    /// To be asked before the rows are: a change after that is noticed.
    std::uint32_t changes() const {
        if constexpr (waitable_store<Store>) {
            return store_.changes();
        } else {
            return 0;
        }
    }

    /// Waits for a change since `seen`, for `next`, or for the next look that is due anyway: some commits say nothing,
    /// those of foreign programs for one. False once there is no more to wait for: the stop, or the end.
    bool wait(std::uint32_t seen, std::optional<instant> next) const {
        using clock = std::chrono::steady_clock;
        const clock::time_point look = clock::now() + std::chrono::milliseconds{waitable_store<Store> ? 500 : 20};
        for (;;) {
            const pace_point now = pace();
            if (stop_.stop_requested() || now >= end_) {
                return false;
            }
            const millis to_next = next ? saturating_subtract(*next, take_reading(clock_).at) : longest;
            if (to_next <= millis{} || changes() != seen || clock::now() >= look) {
                return true;
            }
            // In short steps, since neither the stop nor a clock that is set wakes who sleeps.
            sleep(seen, std::min({millis{step}, to_next, saturating_subtract(end_, now)}));
        }
    }

private:
    static constexpr std::chrono::milliseconds step{20};

    pace_point pace() const { return std::chrono::floor<std::chrono::milliseconds>(clock_.pace()); }

    void sleep(std::uint32_t seen, millis at_most) const {
        if constexpr (waitable_store<Store>) {
            store_.await(seen, at_most);
        } else {
            const std::timespec span{0, static_cast<long>(at_most.count() * 1'000'000)};  // a step is below a second
            ::nanosleep(&span, nullptr);
        }
    }

    const Clock& clock_;
    const Store& store_;
    const std::stop_token& stop_;
    pace_point end_;
};

}  // namespace leasehold::detail
