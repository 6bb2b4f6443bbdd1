// SPDX-License-Identifier: MIT
#pragma once

#include <version>
#ifndef __cpp_lib_jthread
#error "leasehold/worker.hpp needs std::stop_token: libc++ has it with -fexperimental-library"
#endif

#include <cstdint>
#include <optional>
#include <stop_token>
#include <utility>

#include <leasehold/lease.hpp>
#include <leasehold/worker/claimed_job.hpp>
#include <leasehold/worker/context.hpp>
#include <leasehold/worker/counts.hpp>
#include <leasehold/worker/crew.hpp>
#include <leasehold/worker/handler.hpp>
#include <leasehold/worker/options.hpp>
#include <leasehold/worker/outcome.hpp>
#include <leasehold/worker/workbench.hpp>

namespace leasehold::inline v0_1_0 {

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
        : handler_{std::move(handler)},
          bench_{queue, detail::checked(std::move(options)), detail::handler_ref<Queue>{handler_}} {}
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;
    ~worker() = default;

    /// Works until the stop, then drains: what has not begun is released, running handlers go on for `drain_timeout`,
    /// have their tokens fired, and have `grace` to return. Returns once every handler has, however long that takes;
    /// the lease of one that overstays runs out meanwhile. May be called again after that, and not twice at once
    /// (`std::logic_error`).
    void run(const std::stop_token& stop) { crew_.run(stop); }

    /// What has become of its jobs so far.
    worker_counts counts() const { return bench_.said().counts(); }

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
        return bench_.send_all_back() && concluded && renewed;
    }

    /// The stop: no more claims, and what has not begun is released, unspent. `beat` looks to the time that running
    /// handlers have from here on.
    void drain() {
        bench_.close();
        bench_.watch();
        bench_.give_back();
        bench_.send_all_back();
    }

private:
    Handler handler_;
    detail::workbench<Queue> bench_;
    detail::crew<Queue> crew_{bench_};
};

template <class Queue, class Handler>
worker(Queue&, worker_options, Handler) -> worker<Queue, Handler>;

}  // namespace leasehold::inline v0_1_0
