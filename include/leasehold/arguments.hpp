// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include <leasehold/job.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/rules.hpp>
#include <leasehold/text.hpp>
#include <leasehold/time.hpp>

/// What is asked of arguments before anything is begun. Each throws `std::invalid_argument`, which names what was
/// wrong.
namespace leasehold::inline v0_1_0::detail {

inline constexpr std::size_t largest_limit = 1000;
inline constexpr std::int32_t lowest_priority = -128;
inline constexpr std::int32_t highest_priority = 127;

[[noreturn]] inline void refuse(std::string_view what, const std::string& why) {
    throw std::invalid_argument{std::string{what} + ": " + why};
}

inline void check_name(std::string_view what, std::string_view name) {
    if (name.empty() || name.size() > longest_name) {
        refuse(what, std::to_string(name.size()) + " bytes; a name has 1 to " + std::to_string(longest_name));
    }
    if (!is_text(name)) {
        refuse(what, readable(name) + " is not UTF-8 without NUL");
    }
}

inline void check_lease_for(millis lease_for) {
    if (lease_for <= millis{}) {
        refuse("lease_for", std::to_string(lease_for.count()) + " ms; a lease is longer than zero");
    }
}

inline void check_length(std::string_view what, millis length) {
    if (length < millis{}) {
        refuse(what, std::to_string(length.count()) + " ms; it cannot be negative");
    }
}

inline void check_limit(std::size_t limit) {
    if (limit < 1 || limit > largest_limit) {
        refuse("limit", std::to_string(limit) + "; it is 1 to " + std::to_string(largest_limit));
    }
}

/// The parts of a job, and of a requeue, that say when: what can be told without a clock.
template <class Schedule>
void check_schedule(const Schedule& when) {
    check_length("delay", when.delay);
    if (when.not_before && when.delay != millis{}) {
        refuse("not_before", "given beside delay; at most one of the two");
    }
    if (when.deadline && when.expires_in) {
        refuse("deadline", "given beside expires_in; at most one of the two");
    }
    if (when.expires_in && *when.expires_in <= millis{}) {
        refuse("expires_in", std::to_string(when.expires_in->count()) + " ms; it is longer than zero");
    }
}

/// A schedule in instants.
struct span_of_work {
    instant due{};
    std::optional<instant> deadline{};
};

/// A job's or a requeue's span, from `now` on; what needs a clock is refused here. `fallback` is the deadline that
/// holds where none was given.
template <class Schedule>
span_of_work resolve(const Schedule& when, instant now, std::optional<instant> fallback = {}) {
    span_of_work span{when.not_before.value_or(saturating_add(now, when.delay)), when.deadline};
    if (when.expires_in) {
        span.deadline = saturating_add(now, *when.expires_in);
    } else if (!when.deadline) {
        span.deadline = fallback;
    }
    if (rules::is_past(span.deadline, now)) {
        refuse("deadline", to_text(*span.deadline) + " is not after now, " + to_text(now));
    }
    if (rules::is_past(span.deadline, span.due)) {
        refuse(when.not_before ? "not_before" : "delay",
               "the job may start at " + to_text(span.due) + ", not before its deadline, " + to_text(*span.deadline));
    }
    return span;
}

inline void check_job(const job& work) {
    check_name("queue", work.queue);
    if (!work.key.empty()) {
        check_name("key", work.key);
    }
    if (work.priority < lowest_priority || work.priority > highest_priority) {
        refuse("priority", std::to_string(work.priority) + "; it is -128 to 127");
    }
    if (work.max_attempts < 1) {
        refuse("max_attempts", std::to_string(work.max_attempts) + "; it is 1 or more");
    }
    check_schedule(work);
}

/// A refusal in a batch says which job it is about.
inline void check_jobs(std::span<const job> jobs) {
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        try {
            check_job(jobs[i]);
        } catch (const std::invalid_argument& refused) {
            refuse("job " + std::to_string(i), refused.what());
        }
    }
}

inline void check_claim(std::string_view owner, millis lease_for) {
    check_name("owner", owner);
    check_lease_for(lease_for);
}

inline void check_terms(const claim_terms& terms) {
    check_claim(terms.owner, terms.lease_for);
    for (const std::string& queue : terms.queues) {
        check_name("queue", queue);
    }
}

}  // namespace leasehold::inline v0_1_0::detail
