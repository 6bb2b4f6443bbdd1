// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <stop_token>

#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0::detail {

/// How a worker comes to its end: the stop; then running handlers drain; then their tokens fire; then their grace is
/// over, and leases are left to run out.
class closing_time {
public:
    closing_time(millis drain_timeout, millis grace) noexcept : drain_timeout_{drain_timeout}, grace_{grace} {}

    /// Open again, from the beginning.
    void open() {
        const std::lock_guard lock{mutex_};
        stop_ = std::stop_source{};
        drain_end_.reset();
        is_over_ = false;
    }
    /// The stop.
    void close() noexcept { stop_.request_stop(); }

    bool is_closing() const noexcept { return stop_.stop_requested(); }
    bool is_over() const noexcept { return is_over_; }
    std::stop_token stop_token() const noexcept { return stop_.get_token(); }

    struct phase {
        bool is_drained = false;                   ///< the tokens fire
        pace_point next_look = pace_point::max();  ///< when something changes
    };

    /// To be asked in time. The drain lasts from the first look after the stop.
    phase look(pace_point now) {
        if (!is_closing()) {
            return {};
        }
        const std::lock_guard lock{mutex_};
        const pace_point latest = saturating_add(now, drain_timeout_);  // also where a test's clock has stepped back
        const pace_point drain_end = std::min(drain_end_.value_or(latest), latest);
        drain_end_ = drain_end;
        const pace_point end = saturating_add(drain_end, grace_);
        is_over_ = now >= end;
        return {now >= drain_end, now < drain_end ? drain_end : now < end ? end : pace_point::max()};
    }

private:
    millis drain_timeout_;
    millis grace_;
    std::mutex mutex_{};
    std::stop_source stop_{};
    std::optional<pace_point> drain_end_{};
    std::atomic<bool> is_over_ = false;
};

}  // namespace leasehold::inline v0_1_0::detail
