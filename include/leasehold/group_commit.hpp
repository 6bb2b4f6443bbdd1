// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <utility>

#include <sched.h>

#include <leasehold/process_of.hpp>

namespace leasehold::inline v0_1_0::detail {

/// Calls of several threads in one transaction, which one of them leads. While it commits, the others gather; the next
/// commit carries them.
///
/// A call enters a transaction only before that has read its clock. Where one of several calls throws, all of it is
/// rolled back, and each runs again alone, in its own thread; a commit that fails is the same error for all of them.
/// Calls are led in the order in which they came, so the leader's time to wait for locks is never longer than that of
/// those behind it. A call that is alone waits for nobody.
template <class Transaction>
class group_commit {
public:
    using clock = std::chrono::steady_clock;

    /// One call, on its caller's stack.
    class call {
    public:
        /// `takes`: how many jobs it may claim.
        explicit call(std::size_t takes = 0) noexcept : takes_{takes} {}
        call(const call&) = delete;
        call& operator=(const call&) = delete;

        /// All of the call's work; may be asked for more than once.
        virtual void run(Transaction& in) = 0;

    protected:
        ~call() = default;

    private:
        friend class group_commit;

        enum class state : std::int32_t { waits, leads, is_done, is_alone };

        state wait() const noexcept {
            state_.wait(state::waits, std::memory_order_acquire);
            return state_.load(std::memory_order_acquire);
        }
        /// The last that is done to a call from another thread: it may be gone at once.
        void become(state what) noexcept {
            state_.store(what, std::memory_order_release);
            state_.notify_one();
        }

        std::size_t takes_;
        clock::time_point since_ = clock::now();
        call* next_ = nullptr;
        std::exception_ptr error_{};
        std::atomic<state> state_ = state::waits;
    };

    /// At most so many calls in one transaction.
    explicit group_commit(std::size_t most) : most_{most} {}
    group_commit(const group_commit&) = delete;
    group_commit& operator=(const group_commit&) = delete;
    ~group_commit() = default;

    /// Runs the call and returns once it is committed; throws what it, or the commit, has thrown.
    /// `begin(since)` begins a transaction for a call that waits since then.
    template <class Begin>
    void run(call& mine, const Begin& begin) {
        process_.refuse_another();  // in a child who leads, and who has the mutex, may not be there
        const typename call::state role = enter(mine) ? call::state::leads : mine.wait();
        if (role == call::state::leads) {
            lead(mine, begin);
        }
        if (mine.state_.load(std::memory_order_relaxed) == call::state::is_alone) {
            Transaction in = begin(mine.since_);
            mine.run(in);
            in.commit();
        } else if (mine.error_) {
            std::rethrow_exception(mine.error_);
        }
    }

private:
    /// Calls in the order in which they came.
    struct line {
        call* first = nullptr;
        call* last = nullptr;
        std::size_t size = 0;
        std::size_t takes = 0;  ///< of all of them

        void push(call& one) noexcept {
            one.next_ = nullptr;
            (first == nullptr ? first : last->next_) = &one;
            last = &one;
            ++size;
            takes += one.takes_;
        }
        call* pop() noexcept {
            call* const one = first;
            if (one != nullptr) {
                first = one->next_;
                --size;
                takes -= one->takes_;
            }
            return one;
        }
    };

    /// A transaction takes no more calls once it has had the lock for so long.
    static constexpr std::chrono::milliseconds longest_hold{10};
    /// Nobody waits longer for companions, however slow commits are.
    static constexpr std::chrono::microseconds longest_gathering{500};

    /// Whether the call is to lead.
    bool enter(call& mine) noexcept {
        const std::lock_guard lock{mutex_};
        waiting_.push(mine);
        arrived_.store(waiting_.size, std::memory_order_relaxed);
        return !std::exchange(is_led_, true);
    }

    template <class Begin>
    void lead(call& mine, const Begin& begin) noexcept {
        gather();
        line group;  // what the transaction carries
        line rest;   // what came too late for it
        std::exception_ptr error;
        bool is_run = false;
        clock::time_point commit_begins{};
        try {
            Transaction in = begin(mine.since_);
            const clock::time_point full = clock::now() + longest_hold;
            rest = take();
            do {  // from here on nobody enters: the clock has been read
                call& next = *rest.pop();
                group.push(next);
                if constexpr (requires { in.expect(rest.takes); }) {
                    in.expect(rest.takes);
                }
                next.run(in);
            } while (rest.size > 0 && clock::now() < full);
            is_run = true;
            commit_begins = clock::now();
            in.commit();
        } catch (...) {
            error = std::current_exception();
        }
        patience_ = is_run ? std::min<clock::duration>((clock::now() - commit_begins) / 2, longest_gathering)
                           : clock::duration{};
        finish(group, rest, error, is_run);
    }

    /// Waits for the calls that were about when the last group was over, if that held more than one: their callers have
    /// been woken, and mostly come back.
    void gather() const noexcept {
        if (expected_ == 0) {
            return;
        }
        const clock::time_point until = clock::now() + patience_;
        const std::size_t enough = std::min(expected_, most_);
        while (arrived_.load(std::memory_order_relaxed) < enough && clock::now() < until) {
            ::sched_yield();
        }
    }

    line take() noexcept {
        const std::lock_guard lock{mutex_};
        line taken;
        while (waiting_.size > 0 && taken.size < most_) {
            taken.push(*waiting_.pop());
        }
        arrived_.store(waiting_.size, std::memory_order_relaxed);
        return taken;
    }

    /// Tells all in the group what it came to, and hands over to who is first by now.
    void finish(line& group, line& rest, const std::exception_ptr& error, bool is_run) noexcept {
        call* next = nullptr;
        {
            const std::lock_guard lock{mutex_};
            if (group.size == 0) {
                group.push(*waiting_.pop());  // the leader, whose time was over before it had the lock
            }
            while (call* const each = waiting_.pop()) {
                rest.push(*each);
            }
            waiting_ = rest;
            arrived_.store(waiting_.size, std::memory_order_relaxed);
            expected_ = group.size > 1 ? group.size + waiting_.size : 0;
            next = waiting_.first;
            is_led_ = next != nullptr;
        }
        if (next != nullptr) {
            next->become(call::state::leads);
        }
        const bool each_alone = error && !is_run && group.size > 1;
        while (call* const each = group.pop()) {
            each->error_ = each_alone ? nullptr : error;
            each->become(each_alone ? call::state::is_alone : call::state::is_done);
        }
    }

    std::size_t most_;
    process_of process_{};
    std::mutex mutex_{};
    line waiting_{};
    bool is_led_ = false;
    std::atomic<std::size_t> arrived_ = 0;  ///< calls that wait
    std::size_t expected_ = 0;              ///< calls that were about when the last group was over; of the leader
    clock::duration patience_{};            ///< of the leader
};

}  // namespace leasehold::inline v0_1_0::detail
