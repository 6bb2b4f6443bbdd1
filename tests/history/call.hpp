// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/job.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/settlement.hpp>

#include "model/lines.hpp"

/// What processes asked of one queue and were answered, with the times at which they did and were.
namespace history {

using namespace leasehold;
using namespace std::chrono_literals;

enum class verb : std::uint8_t {
    enqueue,
    claim,
    claim_many,
    finish,
    finish_and_claim,
    renew,
    refresh,
    fail,
    release,
    quarantine,
    checkpoint,
    leave_receipt,
    revoke,
    cancel,
    requeue,
    prune,
    find,
    list,
};

inline constexpr std::array<std::string_view, 18> verb_names{
    "enqueue",    "claim",      "claim_many",    "finish", "finish_and_claim", "renew",   "refresh", "fail", "release",
    "quarantine", "checkpoint", "leave_receipt", "revoke", "cancel",           "requeue", "prune",   "find", "list"};

constexpr std::string_view to_text(verb what) noexcept { return detail::name_of(what, verb_names); }

/// One call, all of it on one clock: the queue's own.
struct call {
    std::size_t process = 0;
    std::chrono::nanoseconds start{};  ///< of the clock's epoch: before it was asked,
    std::chrono::nanoseconds end{};    ///< and after it was answered
    std::optional<instant> at{};       ///< by which the queue judged; nothing for a call that only reads

    verb what{};
    std::string who{};     ///< owner; of an enqueue: the payload
    marker round{};        ///< what a holder presents; of it the ID and the token are what an operator names
    millis length{};       ///< of a lease, a wait, an age
    millis expires_in{};   ///< zero: no deadline
    std::int32_t few = 1;  ///< priority, limit
    std::string text{};    ///< key, result, error, reason, bytes, note

    std::string answer{};

    bool reads() const { return what == verb::find || what == verb::list; }
};

inline job job_of(const call& asked) {
    job work{.key = asked.text, .payload = asked.who, .priority = asked.few, .delay = asked.length, .max_attempts = 3};
    if (asked.expires_in.count() > 0) {
        work.expires_in = asked.expires_in;
    }
    return work;
}

/// Asks a queue, or a model of one, and says what it answered. `held(marker)` is told of each round that was given,
/// moved or seen.
template <class Queue, class Held>
std::string perform(Queue& queue, const call& asked, const Held& held) try {
    using model::line;
    const auto told = [&](auto given) {
        for (const lease& each : given) {
            held(each);
        }
        return line(given);
    };
    const auto told_one = [&](const std::optional<lease>& given) {
        if (given) {
            held(*given);
        }
        return line(given);
    };
    const marker& round = asked.round;
    lease moved{round};
    switch (asked.what) {
        case verb::enqueue: return line(queue.enqueue(job_of(asked)));
        case verb::claim: return told_one(queue.claim(asked.who, asked.length));
        case verb::claim_many:
            return told(queue.claim_many(asked.who, asked.length, static_cast<std::size_t>(asked.few)));
        case verb::finish: return line(queue.finish(round, asked.text));
        case verb::finish_and_claim: {
            const auto both =
                queue.finish_and_claim(round, asked.text, {.owner = asked.who, .lease_for = asked.length});
            return line(both.finished) + "\n  and " + told_one(both.next);
        }
        case verb::renew:
        case verb::refresh: {
            const settlement answer =
                asked.what == verb::renew ? queue.renew(moved, asked.length) : queue.refresh(moved);
            if (answer) {
                held(moved);
            }
            return line(answer) + "; holds " + line(static_cast<const marker&>(moved));
        }
        case verb::fail: return line(queue.fail(round, asked.text, asked.length));
        case verb::release: return line(queue.release(round, asked.length));
        case verb::quarantine: return line(queue.quarantine(round, asked.text));
        case verb::checkpoint: return line(queue.checkpoint(round, asked.text));
        case verb::leave_receipt: return line(queue.leave_receipt(round, asked.text));
        case verb::revoke: return line(queue.revoke(round.id, round.token));
        case verb::cancel: return line(queue.cancel(round.id, round.token));
        case verb::requeue: return line(queue.requeue(round.id, round.token, {.delay = asked.length}));
        case verb::prune: return std::to_string(queue.prune({.older_than = asked.length})) + " erased";
        case verb::find: return line(queue.find(round.id));
        case verb::list: {
            const auto all = queue.list({.limit = 1000});
            for (const record& each : all.items) {
                if (each.state == job_state::leased) {
                    held(each.marker());
                }
            }
            return line(all);
        }
    }
    return {};
} catch (const std::invalid_argument&) {
    return "refused";
}

// ---- On its way from one process to another -------------------------------------------------------------------------

inline constexpr char end_of_field = '\x1f';
inline constexpr char end_of_call = '\x1e';

inline std::string packed(const call& made) {
    std::ostringstream out;
    for (const std::int64_t number :
         {static_cast<std::int64_t>(made.process), std::int64_t{made.start.count()}, std::int64_t{made.end.count()},
          made.at ? std::int64_t{made.at->time_since_epoch().count()} : 0, std::int64_t{made.at.has_value()},
          static_cast<std::int64_t>(made.what), std::int64_t{made.length.count()},
          std::int64_t{made.expires_in.count()}, std::int64_t{made.few}}) {
        out << number << ' ';
    }
    out << end_of_field << made.who << end_of_field << leasehold::to_text(made.round) << end_of_field << made.text
        << end_of_field << made.answer << end_of_call;
    return out.str();
}

inline call unpacked(const std::string& text) {
    std::istringstream in{text};
    call made;
    std::array<std::int64_t, 9> numbers{};
    for (std::int64_t& number : numbers) {
        in >> number;
    }
    made.process = static_cast<std::size_t>(numbers[0]);
    made.start = std::chrono::nanoseconds{numbers[1]};
    made.end = std::chrono::nanoseconds{numbers[2]};
    if (numbers[4] != 0) {
        made.at = instant{std::chrono::milliseconds{numbers[3]}};
    }
    made.what = static_cast<verb>(numbers[5]);
    made.length = std::chrono::milliseconds{numbers[6]};
    made.expires_in = std::chrono::milliseconds{numbers[7]};
    made.few = static_cast<std::int32_t>(numbers[8]);
    std::string round;
    in.ignore(2, end_of_field);
    std::getline(in, made.who, end_of_field);
    std::getline(in, round, end_of_field);
    std::getline(in, made.text, end_of_field);
    std::getline(in, made.answer, end_of_field);
    made.round = marker::from_text(round).value_or(marker{});
    return made;
}

// ---- To be read by a person -----------------------------------------------------------------------------------------

/// Milliseconds of the clock's epoch, with microseconds.
inline std::string readable(std::chrono::nanoseconds at) {
    const std::int64_t us = std::chrono::floor<std::chrono::microseconds>(at).count();
    const std::string below = std::to_string(us % 1000);
    return std::to_string(us / 1000) + '.' + std::string(3 - below.size(), '0') + below;
}

inline std::string asked_of(const call& made) {
    std::string text{to_text(made.what)};
    switch (made.what) {
        case verb::enqueue:
            text += " key=" + made.text + " payload=" + made.who + " priority=" + std::to_string(made.few) +
                    " delay=" + std::to_string(made.length.count()) +
                    " expires_in=" + std::to_string(made.expires_in.count());
            break;
        case verb::claim:
        case verb::claim_many:
            text += " by " + made.who + " for " + std::to_string(made.length.count()) + ", at most " +
                    std::to_string(made.few);
            break;
        case verb::prune: text += " older than " + std::to_string(made.length.count()); break;
        case verb::list: break;
        default: text += ' ' + model::line(made.round) + " (" + std::to_string(made.length.count()) + " ms)";
    }
    return text;
}

/// `process 2 [1000.120, 1000.431] judged at 1000: claim by B for 5, at most 1: job 3 ...`
inline std::string line(const call& made) {
    return "process " + std::to_string(made.process) + " [" + readable(made.start) + ", " + readable(made.end) + "]" +
           (made.at ? " judged at " + leasehold::to_text(*made.at) : " read") + ": " + asked_of(made) + "\n      -> " +
           made.answer;
}

}  // namespace history
