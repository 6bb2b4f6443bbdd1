// SPDX-License-Identifier: MIT
#pragma once

#include <version>
#ifndef __cpp_lib_jthread
#error "leasehold/worker.hpp needs std::stop_token: libc++ has it with -fexperimental-library"
#endif

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <leasehold/bell.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/step_listener.hpp>
#include <leasehold/time.hpp>
#include <leasehold/worker/backoff.hpp>
#include <leasehold/worker/claimed_job.hpp>
#include <leasehold/worker/context.hpp>
#include <leasehold/worker/counts.hpp>
#include <leasehold/worker/options.hpp>
#include <leasehold/worker/outcome.hpp>
#include <leasehold/worker/workbench.hpp>

namespace leasehold::inline v0_1_0 {

/// What can be called with a job and its context, and returns an `outcome`, one of its kinds, or nothing.
template <class Handler, class Queue>
concept job_handler = std::invocable < Handler&,
        const claimed_job&, job_context<Queue>
& > &&(std::is_void_v<handler_result<Handler, Queue>> ||
       std::is_constructible_v<outcome, handler_result<Handler, Queue>>);

/// Runs a handler on the jobs of a queue: claims, renews, settles by what the handler returns, and stops in order.
///
/// `handler(const claimed_job&, job_context<Queue>&)` returns an `outcome`, one of its kinds, or nothing, which means
/// `done`; what it throws is the job's failure. Several threads call it at once where `concurrency` is above 1.
///
/// `run` does all of it on threads of its own. A test calls the steps that `run` is made of instead, one at a time, on
/// a queue with a `manual_clock`: `claim`, `handle`, `beat`, `drain`.
template <class Queue, job_handler<Queue> Handler>
class worker {
public:
    /// Throws `std::invalid_argument`, which names the option that is wrong. The queue must outlive the worker.
    worker(Queue& queue, worker_options options, Handler handler)
        : bench_{queue, detail::checked(std::move(options)), std::move(handler)} {}
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker() = default;

    /// Works until the stop, then drains: what has not begun is released, running handlers go on for `drain_timeout`,
    /// have their tokens fired, and have `grace` to return. Returns once every handler has, however long that takes;
    /// the lease of one that overstays runs out meanwhile. May be called again after that, and not twice at once
    /// (`std::logic_error`).
    void run(const std::stop_token& stop) {
        const shift only_one{is_running_};
        bench_.closing().open();
        const detail::step_listener<clock_type> on_step{bench_.queue().clock(), ring_};
        const std::jthread beats{
            [this, begun = bench_.pace()](const std::stop_token& over) { keep_beating(over, begun); }};
        std::vector<std::jthread> slots;
        const ending at_exit{*this};
        const std::stop_callback on_stop{stop, [this] { close(); }};
        for (std::size_t i = 0; i < bench_.options().concurrency; ++i) {
            slots.emplace_back([this] { work(); });
        }
        supervise();
    }

    /// What has become of its jobs so far.
    worker_counts counts() const { return bench_.counts(); }

    // ---- The steps --------------------------------------------------------------------------------------------------

    /// Claims for every handler that is free, and `claim_ahead` more, without waiting. Says whether it got any. What is
    /// neither handled nor given back by `drain` lapses.
    bool claim() {
        const std::uint64_t before = counts().claimed;
        bench_.claim([this](claim_terms terms) {
            terms.wait = {};
            return bench_.queue().wait_claim({}, terms);
        });
        return counts().claimed > before;
    }

    /// Begins the job that was claimed first, runs its handler on this thread, and settles it; what the store does not
    /// answer is tried again by the next `beat`. Says whether there was a job.
    bool handle() {
        std::optional<detail::waiting_job> next = bench_.jobs().take();
        if (!next) {
            return false;
        }
        auto work = bench_.begin(std::move(*next));
        bench_.perform(work);
        if (!bench_.conclude(work)) {
            bench_.keep(std::move(work));
        }
        return true;
    }

    /// Tells the handlers whose time is over, renews the leases of all others in one transaction, gives back what has
    /// waited too long, and tries again what could not be settled. Says whether the store answered.
    bool beat() {
        bench_.watch();
        const bool renewed = bench_.renew();
        bench_.watch();
        bench_.give_back_what_waits_too_long();
        const bool concluded = bench_.conclude_kept();
        return sent_back() && concluded && renewed;
    }

    /// The stop: no more claims, and what has not begun is released, unspent. `beat` looks to the time that running
    /// handlers have from here on.
    void drain() {
        close();
        bench_.watch();
        bench_.give_back();
        sent_back();
    }

private:
    using clock_type = std::remove_cvref_t<decltype(std::declval<Queue&>().clock())>;
    using bench_type = detail::workbench<Queue, Handler>;

    bool sent_back() {
        bool answered = true;
        while (answered && bench_.is_sending_back()) {
            answered = bench_.send_back();
        }
        return answered;
    }

    class shift {
    public:
        explicit shift(std::atomic<bool>& is_running) : is_running_{is_running} {
            if (is_running_.exchange(true)) {
                throw std::logic_error{"worker: it is running already"};
            }
        }
        shift(const shift&) = delete;
        shift& operator=(const shift&) = delete;
        ~shift() { is_running_ = false; }

    private:
        std::atomic<bool>& is_running_;
    };

    /// Ends the run however it is left.
    class ending {
    public:
        explicit ending(worker& of) noexcept : of_{of} {}
        ending(const ending&) = delete;
        ending& operator=(const ending&) = delete;
        ~ending() {
            of_.close();
            of_.supervise();
        }

    private:
        worker& of_;
    };

    struct ringing {
        detail::bell* bell;
        void operator()() const noexcept { bell->ring(); }
    };

    void close() noexcept {
        bench_.closing().close();
        bench_.jobs().wake();
        bench_.alarm().ring();
    }

    /// A slot's thread: one job after the other.
    void work() {
        const std::stop_token stop = bench_.closing().stop_token();
        while (std::optional<detail::waiting_job> next = bench_.jobs().take(stop, [this] { claim_waiting(); })) {
            bench_.guarded(worker_error::task::giving_up, next->held.id, [&] {
                auto work = bench_.begin(std::move(*next));
                bench_.perform(work);
                while (!bench_.conclude(work)) {
                    pause(work.tries, [&] { return work.at.job().time_left() <= millis{}; });
                }
            });
            if (stop.stop_requested()) {
                bench_.alarm().ring();
            }
        }
        bench_.alarm().ring();
    }

    void claim_waiting() {
        const bool answered = bench_.claim([this](const claim_terms& terms) {
            return bench_.queue().wait_claim(bench_.closing().stop_token(), terms);
        });
        failed_claims_ = answered ? 0 : failed_claims_ + 1;
        if (!answered) {
            pause(failed_claims_, [this] { return bench_.closing().is_closing(); });
        }
    }

    /// Something that is due at a time, and again sooner where it has failed.
    struct duty {
        pace_point next = pace_point::max();
        std::int32_t failures = 0;

        void note(pace_point now, bool went_well, pace_point regular, millis sooner) noexcept {
            failures = went_well ? 0 : failures + 1;
            next = went_well ? regular : saturating_add(now, sooner);
        }
    };

    /// The thread of the beats, which also gives back what has not begun. `begun`: before any job was claimed, since
    /// the thread itself may begin late.
    void keep_beating(const std::stop_token& over, pace_point begun) {
        const std::stop_callback wake{over, ring_};
        const millis renew_every = *bench_.options().renew_every;
        duty beats{saturating_add(begun, renew_every)};
        duty returns{};
        bool has_given_back = false;
        while (!over.stop_requested()) {
            const std::uint32_t heard = bench_.alarm().read();
            const pace_point now = bench_.pace();
            beats.next =
                std::min(beats.next, saturating_add(now, renew_every));  // a test's clock may have stepped back
            bench_.guarded(worker_error::task::renewing, {}, [&] {
                if (bench_.closing().is_closing() && !std::exchange(has_given_back, true)) {
                    bench_.give_back();
                } else if (now >= bench_.next_give_back()) {
                    bench_.give_back_what_waits_too_long();
                }
                if (bench_.must_beat_soon() || now >= beats.next) {
                    const bool renewed = bench_.renew();
                    bench_.alarm().ring();  // some tokens may have to be fired
                    const millis sooner = std::min(between_tries_.after(beats.failures + 1), renew_every);
                    beats.note(now, renewed, saturating_add(now, renew_every), sooner);
                }
                if (bench_.is_sending_back() &&
                    (returns.failures == 0 || now >= returns.next || bench_.closing().is_over())) {
                    const bool sent = bench_.send_back();
                    returns.note(now, sent, now, between_tries_.after(returns.failures + 1));
                }
            });
            const pace_point returns_next = bench_.is_sending_back() ? returns.next : bench_.next_give_back();
            sleep(heard, std::min(beats.next, returns_next));
        }
    }

    /// Fires tokens in time, also while the store keeps the beats waiting; until the stop, and until no job is left.
    void supervise() {
        for (;;) {
            const std::uint32_t heard = bench_.alarm().read();
            pace_point next = pace_point::max();
            bench_.guarded(worker_error::task::renewing, {}, [&] { next = bench_.watch(); });
            if (bench_.closing().is_closing() && bench_.is_empty()) {
                return;
            }
            sleep(heard, next);
        }
    }

    /// Until `until` on the pace, or the bell; never for long, since the pace goes on while the machine is asleep.
    void sleep(std::uint32_t heard, pace_point until) const {
        constexpr std::chrono::milliseconds longest_sleep = bench_type::before_long / 2;
        const millis left = saturating_subtract(until, bench_.pace());
        if (left > millis{}) {
            bench_.alarm().wait(heard, std::min<millis>(left, longest_sleep).to_chrono());
        }
    }

    /// Before the next try, longer with each; ends early where `enough()`.
    template <class Enough>
    void pause(std::int32_t tries, const Enough& enough) const {
        const std::uint64_t whose = std::hash<std::thread::id>{}(std::this_thread::get_id());
        const pace_point end = saturating_add(bench_.pace(), between_tries_.after(tries, whose));
        for (std::uint32_t heard = bench_.alarm().read();
             bench_.pace() < end && !bench_.closing().is_over() && !enough(); heard = bench_.alarm().read()) {
            sleep(heard, end);
        }
    }

    bench_type bench_;
    backoff between_tries_{
        .first = std::chrono::milliseconds{50}, .most = std::chrono::seconds{5}, .jitter_percent = 50};
    ringing ring_{&bench_.alarm()};
    std::atomic<bool> is_running_ = false;
    std::int32_t failed_claims_ = 0;  // in a row; of the slot that claims
};

template <class Queue, class Handler>
worker(Queue&, worker_options, Handler) -> worker<Queue, Handler>;

}  // namespace leasehold::inline v0_1_0
