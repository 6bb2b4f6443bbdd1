// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string_view>
#include <thread>
#include <utility>

#include <leasehold/basic_session.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/event.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>
#include <leasehold/worker/claimed_job.hpp>

namespace leasehold::inline v0_1_0::detail {

/// A verb that ends a round, by what a repetition of it shows where its answer was lost.
enum class ending : std::uint8_t { ends_the_job, gives_it_back };

/// Whether a refusal shows that what was said before it stands: the round has ended the job (by the queue itself,
/// perhaps), or given it back, where the answer to that was lost (or an operator has revoked it since: that cannot be
/// told apart). `unknown`: the verb whose answer was lost.
inline bool shows_it_stood(const settlement& refusal, std::optional<ending> unknown) noexcept {
    return refusal.ended_by_presented() || (unknown == ending::gives_it_back && refusal.why == verdict::not_leased);
}

/// A job that a worker holds, and the only current marker of its lease. One call at a time uses the marker: a verb of
/// the handler's or the worker's, or a beat; so a renewal never crosses a completion. Events of such a call are told
/// after it, when the marker is free again.
template <class Queue>
class running_job {
public:
    /// `hold_until`: renewed no more from then on.
    running_job(Queue& queue, lease held, pace_point hold_until)
        : queue_{queue},
          held_{std::move(held)},
          job_{{static_cast<claimed_content&&>(held_)}, held_, held_.attempt},
          hold_until_{hold_until},
          local_until_{held_.local_until} {}
    running_job(const running_job&) = delete;
    running_job& operator=(const running_job&) = delete;
    ~running_job() = default;

    Queue& queue() const noexcept { return queue_; }
    const claimed_job& job() const noexcept { return job_; }
    pace_point local_until() const noexcept { return local_until_.load(); }
    millis time_left() const { return queue_.time_left(local_until()); }
    std::stop_token stop_token() const noexcept { return stop_.get_token(); }
    /// How many renewals have succeeded.
    std::uint64_t renewals() const noexcept { return renewals_.load(); }

    /// Whether the job is settled, and it was this round that did it.
    bool is_concluded() const noexcept { return concluded_.load(); }
    /// Whether a verb that ends the round was said, and its answer lost. For who has just said it.
    bool is_end_unknown() const noexcept { return unknown_end_.has_value(); }

    /// What a verb that would have settled the job was answered, had the round still held it.
    std::optional<settlement> refused() const {
        const std::lock_guard lock{mutex_};
        return refused_;
    }
    /// What a beat was answered, where that shows that the round has lost the job: more than that it was given back.
    std::optional<settlement> seen_lost() const {
        const std::lock_guard lock{mutex_};
        return seen_lost_;
    }

    /// The right to use the marker, until it goes.
    class use {
    public:
        explicit use(running_job& of) noexcept : of_{&of} {}
        use(use&& other) noexcept : of_{std::exchange(other.of_, nullptr)} {}
        use& operator=(use&&) = delete;
        ~use() {
            if (of_ != nullptr) {
                of_->leave();
            }
        }

    private:
        running_job* of_;
    };

    /// No beat begins while it lives.
    class beats_held_off {
    public:
        explicit beats_held_off(running_job& of) : of_{of} { of_.hold_off(1); }
        beats_held_off(const beats_held_off&) = delete;
        beats_held_off& operator=(const beats_held_off&) = delete;
        ~beats_held_off() { of_.hold_off(-1); }

    private:
        running_job& of_;
    };

    /// A verb that leaves the job in its round: `verb(marker)`, with the marker as it is now.
    template <class Verb>
    settlement say(const Verb& verb) {
        settlement answer;
        {
            const told_later events;
            const use mine = enter();
            make_sure();
            answer = verb(std::as_const(held_));
            lost_ = lost_ || (!answer && !concluded_);
        }
        tell_if_lost();
        return answer;
    }

    /// A verb that ends the round. Where an earlier one's answer was lost, and it is seen now that it stood, the job is
    /// concluded whatever this one's answer is. `may_stand()`: whether a verb that has thrown `store_unknown` had come
    /// as far as its commit.
    template <class Verb, class MayStand>
    settlement conclude(ending how, const Verb& verb, const MayStand& may_stand) {
        settlement answer;
        {
            const told_later events;
            const use mine = enter();
            make_sure();
            try {
                answer = verb(std::as_const(held_));
            } catch (const store_unknown&) {
                if (may_stand()) {
                    unknown_end_ = how;
                }
                throw;
            }
            if (answer || is_our_doing(answer)) {
                concluded_ = true;
            } else if (!concluded_) {
                lost_ = true;
                const std::lock_guard lock{mutex_};
                refused_ = answer;
            }
        }
        tell_if_lost();
        return answer;
    }
    template <class Verb>
    settlement conclude(ending how, const Verb& verb) {
        return conclude(how, verb, [] { return true; });
    }

    /// What is said of an effect, whoever holds the job by now.
    settlement leave_receipt(std::string_view note) {
        const told_later events;
        const use mine = enter();
        return queue_.leave_receipt(held_, note);
    }

    // ---- For the beat -----------------------------------------------------------------------------------------------

    /// Whether there is something to renew, and it may be. Then verbs that come after this wait for `enter_beat`, so
    /// that a handler of many checkpoints does not keep its beat out.
    bool announce_beat(pace_point now) {
        const std::lock_guard lock{mutex_};
        if (is_spared(now) || (in_use_ && user_ == std::this_thread::get_id())) {
            return false;
        }
        beat_waits_ = true;
        return true;
    }

    /// The marker for a beat that was announced; nothing where there is nothing to renew by now.
    std::optional<use> enter_beat(pace_point now) {
        std::unique_lock lock{mutex_};
        left_.wait(lock, [&] { return !in_use_; });
        beat_waits_ = false;
        if (is_spared(now)) {
            left_.notify_all();
            return std::nullopt;
        }
        return taken();
    }

    /// Asks the store where the lease ends, if the answer to a renewal was lost. Throws `store_error`. To be called by
    /// who has the use.
    void make_sure() {
        if (is_renewal_unknown_) {
            note_beat(queue_.refresh(held_));
            is_renewal_unknown_ = false;
        }
    }

    lease& held() noexcept { return held_; }
    bool is_lost() const noexcept { return lost_; }
    void note_unknown_renewal() noexcept { is_renewal_unknown_ = true; }

    /// A handler that has settled the job by itself has lost nothing. Whether one has, or an operator has taken the job
    /// away, cannot be told where it was only given back: the handler's own word counts then.
    void note_beat(const settlement& answer) {
        if (answer) {
            local_until_ = held_.local_until;
            ++renewals_;
        } else if (is_our_doing(answer)) {
            concluded_ = true;
        } else {
            lost_ = true;
            if (answer.why != verdict::not_leased) {
                const std::lock_guard lock{mutex_};
                seen_lost_ = answer;
            }
        }
    }

    /// Whether a beat was due while they were held off, and has not been made up for.
    bool took_missed_beat() noexcept { return missed_beat_.exchange(false); }

    /// Fires the token where the round is over, by the store's word or by its own reckoning, or has been held for as
    /// long as it may. Says when it is to be asked again.
    pace_point tell_if_over(pace_point now) {
        if (concluded_) {
            return pace_point::max();
        }
        if (lost_ || now >= hold_until_ || time_left() <= millis{}) {
            stop_.request_stop();
            return pace_point::max();
        }
        return std::min(local_until(), hold_until_);
    }
    void tell() { stop_.request_stop(); }

private:
    /// Throws `std::logic_error` where it would wait for the caller itself: inside `commit_in`, and where the caller
    /// has a session open on the queue.
    use enter() {
        session_mark::refuse_plain_verb(&queue_);
        std::unique_lock lock{mutex_};
        if (in_use_ && user_ == std::this_thread::get_id()) {
            throw std::logic_error{"job_context: a verb inside another one of the same job"};
        }
        left_.wait(lock, [&] { return !in_use_ && !beat_waits_; });
        return taken();
    }

    /// For who has the mutex, and has seen that nobody has the use.
    use taken() noexcept {
        in_use_ = true;
        user_ = std::this_thread::get_id();
        return use{*this};
    }

    void leave() noexcept {
        {
            const std::lock_guard lock{mutex_};
            in_use_ = false;
        }
        left_.notify_all();
    }

    void hold_off(int more) {
        const std::lock_guard lock{mutex_};
        beats_held_off_ += more;
    }

    bool is_spared(pace_point now) {
        if (concluded_ || lost_ || now >= hold_until_) {
            return true;
        }
        missed_beat_ = missed_beat_ || beats_held_off_ > 0;
        return beats_held_off_ > 0;
    }

    void tell_if_lost() {
        if (lost_) {
            stop_.request_stop();
        }
    }

    bool is_our_doing(const settlement& answer) const noexcept { return shows_it_stood(answer, unknown_end_); }

    Queue& queue_;
    lease held_;  // used by who has the use
    claimed_job job_;
    pace_point hold_until_;
    std::atomic<pace_point> local_until_;
    std::stop_source stop_{};
    std::atomic<bool> concluded_ = false;
    std::atomic<bool> lost_ = false;
    std::atomic<bool> missed_beat_ = false;
    std::atomic<std::uint64_t> renewals_ = 0;
    std::optional<ending> unknown_end_{};  // used by who has the use
    bool is_renewal_unknown_ = false;      // the same

    mutable std::mutex mutex_{};
    std::condition_variable left_{};
    std::thread::id user_{};
    bool in_use_ = false;
    bool beat_waits_ = false;
    int beats_held_off_ = 0;
    std::optional<settlement> refused_{};
    std::optional<settlement> seen_lost_{};
};

}  // namespace leasehold::inline v0_1_0::detail
