// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// Until when a call waits for locks, on the steady clock.
class patience {
public:
    using clock = std::chrono::steady_clock;

    explicit patience(millis timeout, clock::time_point since = clock::now()) noexcept
        // A hundred years are as good as for ever, and no sum below overflows.
        : end_{since + std::chrono::milliseconds{
                           std::clamp<std::int64_t>(timeout.count(), 0, std::int64_t{100} * 365 * 86'400'000)}} {}

    clock::time_point end() const noexcept { return end_; }

    /// Sleeps a little before the next try, longer with every one; false once the time is over.
    bool nap(int tries) const {
        const clock::duration left = end_ - clock::now();
        if (left <= clock::duration::zero()) {
            return false;
        }
        constexpr std::chrono::microseconds shortest{100};
        constexpr int doublings = 6;
        std::this_thread::sleep_for(std::min<clock::duration>(left, shortest * (1 << std::clamp(tries, 0, doublings))));
        return true;
    }

private:
    clock::time_point end_;
};

}  // namespace leasehold::inline v0_1_0::detail::sqlite
