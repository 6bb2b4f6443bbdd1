// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/event.hpp>
#include <leasehold/job.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0::detail {

/// What a transaction did, for whoever wants to know; costs a branch where nobody does.
class event_notes {
public:
    /// `into` may be null: then nothing is noted.
    explicit event_notes(std::vector<event>* into) noexcept : into_{into} {}

    void taken_in(std::span<const job> jobs, std::span<const enqueued> answers, instant now) {
        for (std::size_t i = 0; into_ != nullptr && i < answers.size(); ++i) {
            if (answers[i].answer == intake::accepted) {
                into_->push_back({.what = event_kind::enqueued,
                                  .at = now,
                                  .id = answers[i].id,
                                  .queue = jobs[i].queue,
                                  .key = jobs[i].key});
            }
        }
    }

    /// With the round that the row is in.
    void changed(event_kind what, const row& job, instant now) {
        if (into_ != nullptr) {
            into_->push_back({what, now, job.id, job.queue, job.key, job.owner, job.token, job.attempt});
        }
    }

    /// What became of a holder's verb, with the round that was presented. `what` is nothing for a verb that has no
    /// event of its own, `job` is null where there is no row.
    void settled(std::optional<event_kind> what, verdict why, const marker& round, const row* job, instant now) {
        const bool applied = why == verdict::applied;
        if (into_ == nullptr || (applied && !what)) {
            return;
        }
        event told{.what = applied ? *what : event_kind::rejected,
                   .at = now,
                   .id = round.id,
                   .owner = round.owner,
                   .token = round.token,
                   .attempt = round.attempt,
                   .why = why};
        if (job != nullptr) {
            told.queue = job->queue;
            told.key = job->key;
        }
        into_->push_back(told);
        if (applied && told.what == event_kind::failed && job->state == job_state::quarantined) {
            told.what = event_kind::quarantined;
            into_->push_back(std::move(told));
        }
    }

    void stepped_back(const std::string& queue, instant now) {
        if (into_ != nullptr) {
            into_->push_back({.what = event_kind::clock_stepped_back, .at = now, .queue = queue});
        }
    }

private:
    std::vector<event>* into_;
};

}  // namespace leasehold::inline v0_1_0::detail
