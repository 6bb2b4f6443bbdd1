// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include <leasehold/lease.hpp>

namespace leasehold::detail {

/// How many jobs a worker may have, and those that it has claimed and not begun.
class places {
public:
    explicit places(std::size_t most) noexcept : most_{most} {}

    /// Places that are claimed for, so that nobody else does it as well.
    class reservation {
    public:
        reservation(places& of, std::size_t size) noexcept : of_{of}, size_{size} {}
        reservation(const reservation&) = delete;
        reservation& operator=(const reservation&) = delete;
        ~reservation() {
            const std::lock_guard lock{of_.mutex_};
            of_.reserved_ -= size_;
        }
        std::size_t size() const noexcept { return size_; }

    private:
        places& of_;
        std::size_t size_;
    };

    /// All that are free.
    reservation reserve_all() {
        const std::lock_guard lock{mutex_};
        return reserved(free(0));
    }
    /// One, for who has a job that is about to be over.
    reservation reserve_one_more() {
        const std::lock_guard lock{mutex_};
        return reserved(std::min<std::size_t>(free(1), 1));
    }

    reservation reserve_none() noexcept { return reservation{*this, 0}; }

    /// Keeps what was claimed for who comes next.
    void put(std::vector<lease> claimed) {
        {
            const std::lock_guard lock{mutex_};
            claimed_.insert(claimed_.end(), std::make_move_iterator(claimed.begin()),
                            std::make_move_iterator(claimed.end()));
        }
        changed_.notify_all();
    }

    /// The one that was claimed first, if there is any. Its place is taken until `leave`.
    std::optional<lease> take() {
        const std::lock_guard lock{mutex_};
        return claimed_.empty() ? std::nullopt : std::optional<lease>{pop()};
    }

    /// The same, once there is one; nothing after the stop. Of those who wait here one at a time calls `claim()`, for
    /// all of them.
    template <class Claim>
    std::optional<lease> take(const std::stop_token& stop, const Claim& claim) {
        std::unique_lock lock{mutex_};
        while (!stop.stop_requested()) {
            if (!claimed_.empty()) {
                return pop();
            }
            if (somebody_claims_) {
                changed_.wait(lock);
                continue;
            }
            somebody_claims_ = true;
            lock.unlock();
            claim();
            lock.lock();
            somebody_claims_ = false;
            changed_.notify_all();
        }
        return std::nullopt;
    }

    void leave() noexcept {
        const std::lock_guard lock{mutex_};
        --busy_;
    }

    /// Who waits looks again, for the stop.
    void wake() noexcept {
        {
            const std::lock_guard lock{mutex_};  // whoever has not seen the stop waits by now
        }
        changed_.notify_all();
    }

    /// Whether nobody has a job, or is getting one.
    bool are_empty() const {
        const std::lock_guard lock{mutex_};
        return claimed_.empty() && busy_ == 0 && reserved_ == 0;
    }

private:
    std::size_t free(std::size_t soon) const noexcept {
        const std::size_t taken = busy_ + claimed_.size() + reserved_;
        return most_ + soon > taken ? most_ + soon - taken : 0;
    }

    reservation reserved(std::size_t size) noexcept {
        reserved_ += size;
        return reservation{*this, size};
    }

    lease pop() {
        lease next = std::move(claimed_.front());
        claimed_.pop_front();
        ++busy_;
        return next;
    }

    std::size_t most_;
    mutable std::mutex mutex_{};
    std::condition_variable changed_{};
    std::deque<lease> claimed_{};
    std::size_t busy_ = 0;
    std::size_t reserved_ = 0;
    bool somebody_claims_ = false;
};

}  // namespace leasehold::detail
