// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <leasehold/lease.hpp>
#include <leasehold/time.hpp>
#include <leasehold/worker/outcome.hpp>
#include <leasehold/worker/places.hpp>
#include <leasehold/worker/roster.hpp>
#include <leasehold/worker/running_job.hpp>

namespace leasehold::inline v0_1_0::detail {

/// A job on the roster, in a place of its own, until it goes.
template <class Queue>
class posting {
public:
    /// Of a lease that `job_places::take` gave. Where there is no memory for it, its place is free again.
    posting(job_places& where, roster<Queue>& on, Queue& queue, lease held, pace_point hold_until)
        : where_{&where}, on_{&on} {
        try {
            job_ = std::make_shared<running_job<Queue>>(queue, std::move(held), hold_until);
            on.add(job_);
        } catch (...) {
            where.leave();
            throw;
        }
    }
    posting(posting&& other) noexcept
        : where_{std::exchange(other.where_, nullptr)}, on_{other.on_}, job_{std::move(other.job_)} {}
    posting& operator=(posting&&) = delete;
    ~posting() {
        if (where_ != nullptr) {
            on_->remove(job_);
            where_->leave();
        }
    }

    running_job<Queue>& job() const noexcept { return *job_; }

private:
    job_places* where_;
    roster<Queue>* on_;
    std::shared_ptr<running_job<Queue>> job_{};
};

/// A job that has begun, and what it has come to so far.
template <class Queue>
struct assignment {
    posting<Queue> at;
    bool is_ahead = false;  ///< it has waited for a handler
    std::optional<outcome> come_to{};
    bool is_outcome_refused = false;  ///< what the handler said could not be said to the queue
    bool is_handlers_doing = false;   ///< the handler has settled the job, or tried to, and the answer was lost
    bool is_taken = false;            ///< the queue took what it has come to
    std::int32_t tries = 0;           ///< without an answer of the store,
    std::uint64_t renewals_then = 0;  ///< the first of them after so many renewals
};

}  // namespace leasehold::inline v0_1_0::detail
