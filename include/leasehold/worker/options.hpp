// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/arguments.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/sink.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>
#include <leasehold/worker/backoff.hpp>

namespace leasehold::inline v0_1_0 {

/// What a worker could not do, for the moment or for good.
struct worker_error {
    /// What it was about.
    enum class task : std::uint8_t {
        claiming,   ///< tried again after a while
        renewing,   ///< tried again while the lease lasts
        settling,   ///< tried again while the lease lasts
        giving_up,  ///< a job: its lease runs out by itself, and its attempt stays spent
        leaving_a_receipt,
    };

    task doing{};                ///< what it was about
    job_id id{};                 ///< 0 where it is not about one job
    std::string what{};          ///< the fault's own text
    std::exception_ptr cause{};  ///< the fault; nothing where it is only that time is over
};

constexpr std::string_view to_text(worker_error::task doing) noexcept {
    constexpr std::array<std::string_view, 5> names{"claiming", "renewing", "settling", "giving up",
                                                    "leaving a receipt"};
    return detail::name_of(doing, names);
}

/// `settling 17: disk I/O error`
inline std::string to_text(const worker_error& error) {
    return std::string{to_text(error.doing)} + (error.id == job_id{} ? "" : ' ' + to_text(error.id)) + ": " +
           error.what;
}

/// How a worker works. Checked when it is made: `std::invalid_argument` names what is wrong.
struct worker_options {
    std::string owner{};                      ///< who runs the jobs: a name that a person can read; proves nothing
    std::vector<std::string> queues{};        ///< earlier ones first; none: `default`
    millis lease = std::chrono::seconds{30};  ///< how long the others wait when this worker is gone
    std::optional<millis> renew_every{};      ///< below the lease; unset: a third of it
    std::size_t concurrency = 1;              ///< so many handlers at once, each on a thread of its own
    backoff retry_after{};                    ///< where a failed handler does not say it itself
    millis drain_timeout = std::chrono::seconds{30};  ///< so long running handlers may go on after the stop,
    millis grace = std::chrono::seconds{5};           ///< and so long after their token has fired
    /// A handler that has run so long is renewed no more: another has the job at `max_hold` + lease, later by as much
    /// as the last renewal waited for the store's lock. Unset: never.
    std::optional<millis> max_hold{};
    /// A job that was claimed ahead and has less than that left, or whose deadline is nearer, is not begun: it goes
    /// back unspent. Below the lease.
    millis min_start{};
    std::size_t claim_ahead = 0;    ///< so many more than there are handlers; their leases run while they wait
    sink<worker_error> on_error{};  ///< on the worker's threads
    sink<settlement> on_loss{};     ///< the queue refused what a handler's job had come to; once a job
};

namespace detail {

inline constexpr std::size_t most_handlers = 1024;

inline void check_between(const char* what, millis value, millis least, millis most, const char* why) {
    if (value < least || value > most) {
        refuse(what, std::to_string(value.count()) + " ms; " + why);
    }
}

/// The options with what was left open filled in.
inline worker_options checked(worker_options options) {
    check_name("owner", options.owner);
    for (const std::string& queue : options.queues) {
        check_name("queues", queue);
    }
    constexpr std::chrono::milliseconds shortest{2};
    check_between("lease", options.lease, shortest, longest, "it is 2 ms or more, so that it can be renewed");
    if (options.queues.empty()) {
        options.queues.emplace_back("default");
    }
    constexpr millis zero{};
    constexpr std::chrono::milliseconds one{1};
    const millis below_lease = std::chrono::milliseconds{options.lease.count() - 1};
    if (!options.renew_every) {
        options.renew_every = std::max<millis>(one, std::chrono::milliseconds{options.lease.count() / 3});
    }
    check_between("renew_every", *options.renew_every, one, below_lease, "it is above zero and below the lease");
    check_between("min_start", options.min_start, zero, below_lease, "it is not negative, and below the lease");
    check_between("max_hold", options.max_hold.value_or(one), one, longest, "it is longer than zero");
    check_length("drain_timeout", options.drain_timeout);
    check_length("grace", options.grace);
    check_length("retry_after.first", options.retry_after.first);
    check_between("retry_after.most", options.retry_after.most, options.retry_after.first, longest,
                  "it is not below retry_after.first");
    if (options.retry_after.jitter_percent < 0 || options.retry_after.jitter_percent > 100) {
        refuse("retry_after.jitter_percent", std::to_string(options.retry_after.jitter_percent) + "; it is 0 to 100");
    }
    if (options.concurrency < 1 || options.concurrency > most_handlers) {
        refuse("concurrency", std::to_string(options.concurrency) + "; it is 1 to " + std::to_string(most_handlers));
    }
    if (options.claim_ahead > largest_limit) {
        refuse("claim_ahead", std::to_string(options.claim_ahead) + "; it is 0 to " + std::to_string(largest_limit));
    }
    return options;
}

}  // namespace detail
}  // namespace leasehold::inline v0_1_0
