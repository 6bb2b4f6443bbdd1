// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
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
#include <leasehold/step_listener.hpp>
#include <leasehold/time.hpp>
#include <leasehold/worker/backoff.hpp>
#include <leasehold/worker/options.hpp>
#include <leasehold/worker/places.hpp>
#include <leasehold/worker/workbench.hpp>

namespace leasehold::inline v0_1_0::detail {

/// The threads of a worker: one for each handler that may run at once, one for the beats, and the caller's, which fires
/// tokens in time.
template <class Queue>
class crew {
public:
    explicit crew(workbench<Queue>& bench) noexcept : bench_{bench} {}
    crew(const crew&) = delete;
    crew& operator=(const crew&) = delete;
    ~crew() = default;

    /// Works at the bench until the stop, and until every handler has returned.
    void run(const std::stop_token& stop) {
        const shift only_one{is_running_};
        bench_.closing().open();
        const step_listener<clock_type> on_step{bench_.queue().clock(), ring_};
        const std::jthread beats{
            [this, begun = bench_.pace()](const std::stop_token& over) { keep_beating(over, begun); }};
        std::vector<std::jthread> slots;
        const ending at_exit{*this};
        const std::stop_callback on_stop{stop, [this] { bench_.close(); }};
        for (std::size_t i = 0; i < bench_.options().concurrency; ++i) {
            slots.emplace_back([this] { work(); });
        }
        supervise();
    }

private:
    using clock_type = std::remove_cvref_t<decltype(std::declval<Queue&>().clock())>;

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
        explicit ending(crew& of) noexcept : of_{of} {}
        ending(const ending&) = delete;
        ending& operator=(const ending&) = delete;
        ~ending() {
            of_.bench_.close();
            of_.supervise();
        }

    private:
        crew& of_;
    };

    struct ringing {
        bell* which;
        void operator()() const noexcept { which->ring(); }
    };

    /// A slot's thread: one job after the other.
    void work() {
        const std::stop_token stop = bench_.closing().stop_token();
        while (std::optional<waiting_job> next = bench_.jobs().take(stop, [this] { claim_waiting(); })) {
            bench_.said().guarded(worker_error::task::giving_up, next->held.id, [&] {
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
            bench_.said().guarded(worker_error::task::renewing, {}, [&] {
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
            bench_.said().guarded(worker_error::task::renewing, {}, [&] { next = bench_.watch(); });
            if (bench_.closing().is_closing() && bench_.is_empty()) {
                return;
            }
            sleep(heard, next);
        }
    }

    /// Until `until` on the pace, or the bell; never for long, since the pace goes on while the machine is asleep.
    void sleep(std::uint32_t heard, pace_point until) const {
        constexpr std::chrono::milliseconds longest_sleep = workbench<Queue>::before_long / 2;
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

    workbench<Queue>& bench_;
    backoff between_tries_{
        .first = std::chrono::milliseconds{50}, .most = std::chrono::seconds{5}, .jitter_percent = 50};
    ringing ring_{&bench_.alarm()};
    std::atomic<bool> is_running_ = false;
    std::int32_t failed_claims_ = 0;  // in a row; of the slot that claims
};

}  // namespace leasehold::inline v0_1_0::detail
