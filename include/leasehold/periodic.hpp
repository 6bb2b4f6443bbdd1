// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <leasehold/arguments.hpp>
#include <leasehold/job.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/text.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0 {

/// Work that comes again and again.
struct periodic_options {
    std::string name{};        ///< its keys are `name@instant`
    millis every{};            ///< a period, above zero
    instant first{};           ///< one instant that is due, from which all others lie whole periods away
    std::int64_t make_up = 0;  ///< so many missed periods are made up for, the latest; earlier ones are left out
    job like{};                ///< its queue, payload, priority and attempts; neither a key nor when
};

/// A job for each instant that is due, in a chain: each run enqueues the next. There is nobody who schedules. The key
/// alone says which period a job is for, so any number of processes may enqueue it, and it is there once.
///
/// That holds as long as the row does: prune nothing that is younger than the longest that a run may be late, or the
/// clock be stepped back.
class periodic {
public:
    /// Throws `std::invalid_argument`, which names the option that is wrong.
    explicit periodic(periodic_options options) : options_{std::move(options)} {
        if (options_.every <= millis{}) {
            detail::refuse("every", std::to_string(options_.every.count()) + " ms; a period is longer than zero");
        }
        if (options_.make_up < 0) {
            detail::refuse("make_up", std::to_string(options_.make_up) + "; it cannot be negative");
        }
        const job& like = options_.like;
        if (!like.key.empty() || like.delay != millis{} || like.not_before || like.expires_in || like.deadline) {
            detail::refuse("like", "the key and when are the period's own");
        }
        detail::check_job(like);
        detail::check_name("name", options_.name);
        detail::check_name("name", key_of(instant::min()));  // the longest of its keys
    }

    /// As they were given.
    const periodic_options& options() const noexcept { return options_; }

    /// The first instant after `t` that is due.
    instant first_after(instant t) const noexcept { return first_after(t, options_.first, options_.every); }

    /// The same of any period. Held at the end of the range.
    static constexpr instant first_after(instant t, instant first, millis every) noexcept {
        const std::int64_t over = saturating_subtract(t, first).count() % every.count();
        const std::int64_t since = over < 0 ? over + every.count() : over;
        return saturating_add(saturating_subtract(t, std::chrono::milliseconds{since}), every);
    }

    /// What follows the run that was due at `due`, when it is `now`: never an earlier one, whatever the clock does.
    instant next(instant due, instant now) const noexcept {
        const std::int64_t back = saturating_multiply(options_.make_up, options_.every.count());
        return std::max(first_after(due), saturating_subtract(first_after(now), std::chrono::milliseconds{back}));
    }

    /// `name@instant`, in milliseconds of the epoch.
    std::string key_of(instant due) const { return options_.name + '@' + to_text(due); }

    /// When the job of a key was due; nothing where it is not one of these.
    std::optional<instant> due_at(std::string_view key) const {
        const std::string_view name = options_.name;
        if (key.size() <= name.size() || key.substr(0, name.size()) != name || key[name.size()] != '@') {
            return std::nullopt;
        }
        const std::string_view digits = key.substr(name.size() + 1);
        std::int64_t ms = 0;
        if (!detail::parse(digits, ms)) {
            return std::nullopt;
        }
        const instant due{std::chrono::milliseconds{ms}};
        return key_of(due) == key ? std::optional{due} : std::nullopt;  // one instant, one key
    }

    /// The job that is due at an instant, and not to be taken before it.
    job job_of(instant due) const {
        job made = options_.like;
        made.key = key_of(due);
        made.not_before = due;
        return made;
    }

    /// Begins the chain, or mends it: where a job of it was cancelled or set aside before it ran, where all its runs
    /// were left behind by a clock that was far ahead. To be called by every process when it starts, and as often as it
    /// likes; where all is well it changes nothing. `on`: a queue, or a session of one.
    template <class Queue>
    enqueued enqueue_next(Queue& on) const {
        return on.enqueue(job_of(first_after(on.now())));
    }

    /// Goes on from the job of a key. A handler does this first, so that the chain goes on whatever becomes of the run.
    /// Nothing where the key is not one of these.
    template <class Queue>
    std::optional<enqueued> enqueue_next(Queue& on, std::string_view key) const {
        const std::optional<instant> due = due_at(key);
        return due ? std::optional<enqueued>{on.enqueue(job_of(next(*due, on.now())))} : std::nullopt;
    }

private:
    periodic_options options_;
};

}  // namespace leasehold::inline v0_1_0
