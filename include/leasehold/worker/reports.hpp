// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>

#include <leasehold/settlement.hpp>
#include <leasehold/values.hpp>
#include <leasehold/worker/counts.hpp>
#include <leasehold/worker/options.hpp>
#include <leasehold/worker/outcome.hpp>

namespace leasehold::inline v0_1_0::detail {

/// Counts what becomes of a worker's jobs, and tells of what goes wrong. Of several threads.
class reports {
public:
    /// Tells whom the options name; they outlive it.
    explicit reports(const worker_options& to) noexcept : to_{to} {}

    worker_counts counts() const {
        const std::lock_guard lock{mutex_};
        return counts_;
    }

    void claimed(std::size_t many) noexcept { add(&worker_counts::claimed, many); }

    /// A job is over, and the queue took what it had come to.
    void over(const outcome& what) noexcept {
        constexpr std::array counters{&worker_counts::finished, &worker_counts::failed, &worker_counts::released,
                                      &worker_counts::set_aside, &worker_counts::settled};
        add(counters[what.index()], 1);
    }

    /// A job is over, and the queue refused what it had come to.
    void lost(const settlement& refused) {
        add(&worker_counts::lost, 1);
        to_.on_loss(refused);
    }

    /// A job is over, since its time is.
    void lapsed(job_id id) {
        add(&worker_counts::lapsed, 1);
        failed(worker_error::task::giving_up, id,
               "the store took no answer: the lease runs out by itself, and its attempt stays spent");
    }

    /// Also says what was thrown, while that is caught.
    void failed(worker_error::task doing, job_id id, const char* what) const noexcept {
        try {
            to_.on_error({doing, id, what, std::current_exception()});
        } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for the telling
        }
    }

    /// Whether `call` came to its end; what it throws is told.
    template <class Call>
    bool guarded(worker_error::task doing, job_id id, const Call& call) const {
        try {
            call();
            return true;
        } catch (const std::exception& error) {
            failed(doing, id, error.what());
            return false;
        }
    }

private:
    void add(std::uint64_t worker_counts::*which, std::uint64_t many) noexcept {
        const std::lock_guard lock{mutex_};
        counts_.*which += many;
    }

    const worker_options& to_;
    mutable std::mutex mutex_{};
    worker_counts counts_{};
};

}  // namespace leasehold::inline v0_1_0::detail
