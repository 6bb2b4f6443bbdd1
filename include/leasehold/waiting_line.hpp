// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <leasehold/event_notes.hpp>
#include <leasehold/job.hpp>
#include <leasehold/rules.hpp>
#include <leasehold/store.hpp>
#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0::detail {

/// Where rows that are made ready come to stand, during one verb.
///
/// The end of a line is asked of the store once for the rows of one queue and priority in a row: what the verb adds
/// there itself changes no answer of `rules::vest` by the same reading of the clock.
template <row_transaction Transaction>
class waiting_line {
public:
    waiting_line(Transaction& transaction, event_notes& notes, instant now) noexcept
        : transaction_{transaction}, notes_{notes}, now_{now} {}

    rules::vesting vest(const std::string& queue, std::int32_t priority, instant due) {
        return rules::vest(due, now_, rules::must_wait(due, now_) ? std::nullopt : tail(queue, priority));
    }

    /// After `after`, or at the row's deadline if that is earlier.
    rules::vesting vest(const row& job, millis after) {
        return vest(job.queue, job.priority, rules::clamped(now_, after, job.deadline));
    }

private:
    std::optional<instant> tail(const std::string& queue, std::int32_t priority) {
        if (!known_ || known_->priority != priority || known_->queue != queue) {
            known_ = end_of_line{queue, priority, transaction_.tail(queue, priority)};
            if (known_->at && rules::must_wait(*known_->at, now_)) {
                notes_.stepped_back(queue, now_);
            }
        }
        return known_->at;
    }

    struct end_of_line {
        std::string queue{};
        std::int32_t priority = 0;
        std::optional<instant> at{};
    };

    Transaction& transaction_;
    event_notes& notes_;
    instant now_;
    std::optional<end_of_line> known_{};
};

}  // namespace leasehold::inline v0_1_0::detail
