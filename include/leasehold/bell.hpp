// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace leasehold::inline v0_1_0::detail {

/// A number that changes, and can be waited for. It has a mutex of its own, so that it may be rung whatever the caller
/// holds.
class bell {
public:
    std::uint32_t read() const {
        const std::lock_guard lock{mutex_};
        return rung_;
    }

    void ring() noexcept {
        {
            const std::lock_guard lock{mutex_};
            ++rung_;
        }
        heard_.notify_all();
    }

    /// Waits until the number is another than `seen`, or for `at_most`.
    void wait(std::uint32_t seen, std::chrono::milliseconds at_most) const {
        std::unique_lock lock{mutex_};
        heard_.wait_for(lock, at_most, [&] { return rung_ != seen; });
    }

private:
    mutable std::mutex mutex_{};
    mutable std::condition_variable heard_{};
    std::uint32_t rung_ = 0;
};

}  // namespace leasehold::inline v0_1_0::detail
