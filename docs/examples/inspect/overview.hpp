// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/job.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/time.hpp>

#include "table.hpp"

/// What stands in a store, and one job of it.
namespace inspect {

using leasehold::job_state;
using leasehold::record;

/// What to look at.
struct scope {
    std::optional<std::string> queue{};
    std::size_t limit = 20;  ///< so many leases are shown, and so many jobs set aside
};

/// Read bit by bit: each is true, of moments that lie close together.
struct overview {
    instant now{};
    std::vector<leasehold::queue_statistics> queues{};
    std::vector<record> leases{};
    std::vector<record> quarantined{};
};

template <class Queue>
std::vector<record> listed(const Queue& queue, const scope& of, job_state state) {
    constexpr std::size_t largest_page = 1000;
    std::vector<record> all;
    std::optional<leasehold::job_id> after = leasehold::job_id{};
    while (after && all.size() < of.limit) {
        const std::size_t wanted = std::min(of.limit - all.size(), largest_page);
        auto part = queue.list({.queue = of.queue, .state = state, .after = *after, .limit = wanted});
        std::move(part.items.begin(), part.items.end(), std::back_inserter(all));
        after = part.next;
    }
    return all;
}

template <class Queue>
overview look(const Queue& queue, const scope& of) {
    overview seen;
    for (leasehold::queue_statistics& counted : queue.stats().queues) {
        if (!of.queue || counted.queue == *of.queue) {
            seen.queues.push_back(std::move(counted));
        }
    }
    seen.leases = listed(queue, of, job_state::leased);
    seen.quarantined = listed(queue, of, job_state::quarantined);
    seen.now = queue.now();
    return seen;
}

inline std::string attempts(const record& job) {
    return std::to_string(job.attempt) + " of " + std::to_string(job.max_attempts);
}

inline std::string note_of(const leasehold::receipt& left, instant now) {
    return "receipt of round " + to_text(left.token) + " by " + shown(left.owner) + ", " + shown(left.at, now) + ": " +
           shown(left.note);
}

/// What is left of a lease, by the queue's clock; or since when it is over.
inline std::string time_left(instant lease_until, instant now) {
    return leasehold::rules::is_live(lease_until, now) ? shown(saturating_subtract(lease_until, now))
                                                       : "over " + shown(lease_until, now);
}

inline constexpr std::size_t name_columns = 32;

inline table counts_of(const overview& seen) {
    table counts{{{"queue"},
                  {"ready", true},
                  {"delayed", true},
                  {"leased", true},
                  {"finished", true},
                  {"quarantined", true},
                  {"cancelled", true},
                  {"oldest waits", true}}};
    for (const auto& of : seen.queues) {
        const std::string waits =
            of.oldest_ready ? shown(std::max(millis{}, saturating_subtract(seen.now, *of.oldest_ready))) : "-";
        counts.add({shown(of.queue, name_columns), std::to_string(of.ready), std::to_string(of.delayed),
                    std::to_string(of.leased), std::to_string(of.finished), std::to_string(of.quarantined),
                    std::to_string(of.cancelled), waits});
    }
    return counts;
}

inline table leases_of(const overview& seen) {
    table leases{{{"id", true}, {"queue"}, {"key"}, {"owner"}, {"token", true}, {"attempt"}, {"time left", true}}};
    for (const record& job : seen.leases) {
        leases.add({to_text(job.id), shown(job.queue, name_columns), shown(job.key, name_columns),
                    shown(job.owner, name_columns), to_text(job.token), attempts(job),
                    job.lease_until ? time_left(*job.lease_until, seen.now) : "-"});
    }
    return leases;
}

inline table quarantined_of(const overview& seen) {
    table aside{{{"id", true}, {"queue"}, {"key"}, {"token", true}, {"attempt"}, {"ended", true}, {"reason"}}};
    for (const record& job : seen.quarantined) {
        aside.add({to_text(job.id), shown(job.queue, name_columns), shown(job.key, name_columns), to_text(job.token),
                   attempts(job), job.ended_at ? shown(*job.ended_at, seen.now) : "-", shown(job.reason)});
        if (!job.last_error.empty()) {
            aside.add_below("last error: " + shown(job.last_error));
        }
        for (const auto& left : job.receipts) {
            aside.add_below(note_of(left, seen.now));
        }
    }
    return aside;
}

/// As a person reads it, a line each.
inline std::vector<std::string> lines_of(const overview& seen) {
    std::vector<std::string> lines{date(seen.now), ""};
    const auto append = [&](const table& part) {
        const std::vector<std::string> more = part.lines();
        lines.insert(lines.end(), more.begin(), more.end());
    };
    const auto section = [&](const char* what, std::uint64_t count, std::size_t is_shown, const table& part) {
        lines.insert(lines.end(), {"", what + (" (" + std::to_string(count)) + ')'});
        if (is_shown > 0) {
            append(part);
        }
        if (count > is_shown) {
            lines.push_back("  … " + std::to_string(count - is_shown) + " more");
        }
    };
    std::uint64_t leased = 0;
    std::uint64_t aside = 0;
    for (const auto& of : seen.queues) {
        leased += of.leased;
        aside += of.quarantined;
    }
    append(counts_of(seen));
    section("leases", std::max<std::uint64_t>(leased, seen.leases.size()), seen.leases.size(), leases_of(seen));
    section("quarantined", std::max<std::uint64_t>(aside, seen.quarantined.size()), seen.quarantined.size(),
            quarantined_of(seen));
    return lines;
}

/// What the row of one job tells.
inline std::vector<std::string> lines_of(const record& job, instant now) {
    std::vector<std::string> lines{"job " + to_text(job.id)};
    const auto tell = [&](const char* name, const std::string& value) {
        lines.push_back("  " + (name + std::string(14 - std::string_view{name}.size(), ' ')) + value);
    };
    const auto tell_when = [&](const char* name, const std::optional<instant>& at) {
        if (at) {
            tell(name, date(*at) + ", " + shown(*at, now));
        }
    };
    const auto tell_bytes = [&](const char* name, const std::string& bytes) {
        const char* const unit = bytes.size() == 1 ? " byte: " : " bytes: ";
        tell(name, bytes.empty() ? "-" : std::to_string(bytes.size()) + unit + shown(bytes));
    };
    tell("queue", shown(job.queue));
    tell("key", job.key.empty() ? "-" : shown(job.key));
    tell("state", std::string{to_text(job.state)} +
                      (job.ended_by ? ", by the " + std::string{to_text(*job.ended_by)} : std::string{}));
    tell("priority", std::to_string(job.priority));
    tell("owner", job.owner.empty() ? "-" : shown(job.owner));
    tell("token", to_text(job.token));
    tell("attempt", attempts(job));
    tell("failures", std::to_string(job.failures));
    tell("lapses", std::to_string(job.lapses));
    tell_when("enqueued", job.enqueued_at);
    if (job.state == job_state::ready) {
        tell_when(job.waits ? "not before" : "in line from", job.vests_at);
    }
    tell_when("lease until", job.lease_until);
    tell_when("deadline", job.deadline);
    tell_when("ended", job.ended_at);
    if (!job.reason.empty()) {
        tell("reason", shown(job.reason));
    }
    if (!job.last_error.empty()) {
        tell("last error", shown(job.last_error));
    }
    tell_bytes("payload", job.payload);
    tell_bytes("result", job.result);
    tell_bytes("checkpoint", job.checkpoint);
    for (const auto& left : job.receipts) {
        lines.push_back("  " + note_of(left, now));
    }
    return lines;
}

}  // namespace inspect
