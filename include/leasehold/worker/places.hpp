// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include <leasehold/lease.hpp>
#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0::detail {

/// A job that was claimed and has not begun.
struct waiting_job {
    lease held{};
    bool is_ahead = false;  ///< no handler was free for it when it was claimed
};

/// How many jobs a worker may have, and those that it has claimed and not begun.
class job_places {
public:
    job_places(std::size_t handlers, std::size_t ahead) noexcept : handlers_{handlers}, most_{handlers + ahead} {}
    job_places(const job_places&) = delete;
    job_places& operator=(const job_places&) = delete;
    ~job_places() = default;

    /// Places that are claimed for, so that nobody else does it as well.
    class reservation {
    public:
        reservation(job_places& of, std::size_t size) noexcept : of_{of}, size_{size} {}
        reservation(const reservation&) = delete;
        reservation& operator=(const reservation&) = delete;
        ~reservation() {
            if (size_ > 0) {
                of_.give_up(size_);
            }
        }
        std::size_t size() const noexcept { return size_; }

    private:
        job_places& of_;
        std::size_t size_;
    };

    /// All that are free.
    reservation reserve_all() {
        const std::lock_guard lock{mutex_};
        return reserved(free(0));
    }
    /// The same for who has a job that is about to be over: its place counts as free.
    reservation reserve_all_and_mine() {
        const std::lock_guard lock{mutex_};
        return reserved(free(1));
    }

    reservation reserve_none() noexcept { return reservation{*this, 0}; }

    /// Keeps what was claimed for who comes next. `soon_free`: handlers that are about to be.
    void put(std::vector<lease> claimed, std::size_t soon_free) {
        {
            const std::lock_guard lock{mutex_};
            for (lease& each : claimed) {
                const bool is_ahead = busy_ + waiting_.size() >= handlers_ + soon_free;
                waiting_.push_back({std::move(each), is_ahead});
            }
        }
        changed_.notify_all();
    }

    /// The one that was claimed first, if there is any. Its place is taken until `leave`.
    std::optional<waiting_job> take() {
        const std::lock_guard lock{mutex_};
        return waiting_.empty() ? std::nullopt : std::optional<waiting_job>{pop()};
    }

    /// The same, once there is one; nothing after the stop. Of those who wait here one at a time calls `claim()`, for
    /// all of them.
    template <class Claim>
    std::optional<waiting_job> take(const std::stop_token& stop, const Claim& claim) {
        std::unique_lock lock{mutex_};
        while (!stop.stop_requested()) {
            if (!waiting_.empty()) {
                return pop();
            }
            if (somebody_claims_ || free(0) == 0) {
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

    /// Takes out what has not begun and fits, for who gives it back: its place is free.
    template <class Fits>
    std::vector<lease> take_out(const Fits& fits) {
        std::vector<lease> out;
        {
            const std::lock_guard lock{mutex_};
            out.reserve(waiting_.size());
            auto kept = waiting_.begin();
            for (waiting_job& each : waiting_) {
                if (fits(each)) {
                    out.push_back(std::move(each.held));
                } else {
                    if (&*kept != &each) {
                        *kept = std::move(each);
                    }
                    ++kept;
                }
            }
            waiting_.erase(kept, waiting_.end());
        }
        changed_.notify_all();
        return out;
    }

    /// When the first lease ends of those that were claimed ahead.
    pace_point first_end_ahead() const {
        const std::lock_guard lock{mutex_};
        pace_point first = pace_point::max();
        for (const waiting_job& each : waiting_) {
            first = each.is_ahead ? std::min(first, each.held.local_until) : first;
        }
        return first;
    }

    void leave() noexcept {
        {
            const std::lock_guard lock{mutex_};
            --busy_;
        }
        changed_.notify_all();
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
        return waiting_.empty() && busy_ == 0 && reserved_ == 0;
    }

private:
    std::size_t free(std::size_t soon) const noexcept {
        const std::size_t taken = busy_ + waiting_.size() + reserved_;
        return most_ + soon > taken ? most_ + soon - taken : 0;
    }

    reservation reserved(std::size_t size) noexcept {
        reserved_ += size;
        return reservation{*this, size};
    }
    void give_up(std::size_t size) noexcept {
        {
            const std::lock_guard lock{mutex_};
            reserved_ -= size;
        }
        changed_.notify_all();
    }

    waiting_job pop() {
        waiting_job next = std::move(waiting_.front());
        waiting_.pop_front();
        ++busy_;
        return next;
    }

    std::size_t handlers_;
    std::size_t most_;
    mutable std::mutex mutex_{};
    std::condition_variable changed_{};
    std::deque<waiting_job> waiting_{};
    std::size_t busy_ = 0;
    std::size_t reserved_ = 0;
    bool somebody_claims_ = false;
};

}  // namespace leasehold::inline v0_1_0::detail
