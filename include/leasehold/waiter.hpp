// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <optional>
#include <version>

#include <leasehold/clock.hpp>
#include <leasehold/rules.hpp>
#include <leasehold/step_listener.hpp>
#include <leasehold/store.hpp>
#include <leasehold/time.hpp>

// A standard library without `std::stop_token` has no waiting for a job.
#ifdef __cpp_lib_jthread
#include <stop_token>

namespace leasehold::inline v0_1_0::detail {

/// Waits for a reason to look into the store again. Reads no rows. A change in the store wakes it; so do the stop and a
/// clock that is set, by changing what is waited for.
template <class Clock, class Store>
class waiter {
public:
    /// Until the stop, and for `at_most` on the clock's pace.
    waiter(const Clock& clock, const Store& store, const std::stop_token& stop, millis at_most)
        : clock_{clock}, store_{store}, stop_{stop}, end_{saturating_add(pace_of(clock), at_most)} {}
    waiter(const waiter&) = delete;
    waiter& operator=(const waiter&) = delete;
    ~waiter() = default;

    /// Waits for a change since this was made, or since the last wait was over, so that one while the rows are asked is
    /// noticed; for `next`; or for the next look that is due anyway: some commits say nothing, those of foreign
    /// programs for one, and a wall clock that is set does not either. False once there is no more to wait for: the
    /// stop, or the end.
    bool wait(std::optional<instant> next) {
        using clock = std::chrono::steady_clock;
        const clock::time_point look = clock::now() + between_looks;
        for (;;) {
            const pace_point now = pace_of(clock_);
            if (stop_.stop_requested() || now >= end_) {
                return false;
            }
            const millis to_next = next ? saturating_subtract(*next, read_clock(clock_, store_).at) : longest;
            const auto to_look = std::chrono::ceil<std::chrono::milliseconds>(look - clock::now());
            if (const std::uint32_t is_now = changes();
                to_next <= millis{} || is_now != seen_ || to_look.count() <= 0) {
                seen_ = is_now;
                return true;
            }
            sleep(std::min({millis{to_look}, to_next, saturating_subtract(end_, now)}));
        }
    }

private:
    /// Without anybody to wake it, it has to look often.
    static constexpr std::chrono::milliseconds between_looks{waitable_store<Store> ? 500 : 20};

    struct waking {
        const Store* store;
        void operator()() const noexcept {
            if constexpr (waitable_store<Store>) {
                store->wake();
            }
        }
    };

    std::uint32_t changes() const {
        if constexpr (waitable_store<Store>) {
            return store_.changes();
        } else {
            return 0;
        }
    }

    void sleep(millis at_most) const {
        if constexpr (waitable_store<Store>) {
            store_.await(seen_, at_most);
        } else {
            const std::timespec span{0, static_cast<long>(at_most.count() * 1'000'000)};  // below a second
            ::nanosleep(&span, nullptr);
        }
    }

    const Clock& clock_;
    const Store& store_;
    const std::stop_token& stop_;
    pace_point end_;
    // Before anybody is told whom to wake: in a child of a fork it is refused here, and who has a lock there may not be
    // in the child.
    std::uint32_t seen_ = changes();
    waking wake_{&store_};
    std::stop_callback<waking> on_stop_{stop_, wake_};
    step_listener<Clock> on_step_{clock_, wake_};
};

}  // namespace leasehold::inline v0_1_0::detail
#endif
