// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

namespace leasehold::inline v0_1_0::detail::sqlite {

class turn;

/// The right to go on, until it goes.
class turn_taken {
public:
    explicit turn_taken(turn* of) noexcept : of_{of} {}
    turn_taken(turn_taken&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
    turn_taken& operator=(turn_taken&&) = delete;
    ~turn_taken();

    /// Leaves it taken for good.
    void keep() noexcept { of_ = nullptr; }

    explicit operator bool() const noexcept { return of_ != nullptr; }

private:
    turn* of_;
};

/// One thread at a time, with a bounded wait. (A `std::timed_mutex` would do, if the thread sanitizer of every compiler
/// knew its timed wait.)
class turn {
public:
    turn_taken take(std::chrono::steady_clock::time_point until) {
        std::unique_lock lock{mutex_};
        if (!freed_.wait_until(lock, until, [this] { return !taken_; })) {
            return turn_taken{nullptr};
        }
        taken_ = true;
        return turn_taken{this};
    }

    /// In a child process: whether it was taken at the fork. Asked without the mutex, whose holder may be missing
    /// there.
    bool was_taken() const noexcept { return taken_; }

private:
    friend class turn_taken;

    void give_back() noexcept {
        {
            const std::lock_guard lock{mutex_};
            taken_ = false;
        }
        freed_.notify_one();
    }

    std::mutex mutex_{};
    std::condition_variable freed_{};
    bool taken_ = false;
};

inline turn_taken::~turn_taken() {
    if (of_ != nullptr) {
        of_->give_back();
    }
}

}  // namespace leasehold::inline v0_1_0::detail::sqlite
