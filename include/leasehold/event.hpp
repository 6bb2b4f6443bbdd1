// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/sink.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0 {

/// What has happened. Of each kind, what the other members of `event` say of it.
enum class event_kind : std::uint8_t {
    enqueued,     ///< a new row; a key that was there already is none
    claimed,      ///< a round began: `token`, `owner` and `attempt` are its own
    finished,     ///< by the holder
    failed,       ///< an attempt; `quarantined` follows where it was the last
    released,     ///< with its attempt unspent
    renewed,      ///< the lease goes on
    rejected,     ///< a holder's verb: `why` says for what, `owner`, `token` and `attempt` are as presented
    lapsed,       ///< a lease that ended without a word: `owner`, `token` and `attempt` are of the round that ended
    quarantined,  ///< set aside: by its holder, a claim, or a last failure
    cancelled,    ///< by an operator
    revoked,      ///< by an operator, who ended a live lease
    requeued,     ///< by an operator
    clock_stepped_back,  ///< rows of `queue` are in line before `at`, though they came later by the clock
};

constexpr std::string_view to_text(event_kind kind) noexcept {
    constexpr std::array<std::string_view, 13> names{
        "enqueued", "claimed",     "finished",  "failed",  "released", "renewed",           "rejected",
        "lapsed",   "quarantined", "cancelled", "revoked", "requeued", "clock_stepped_back"};
    return detail::name_of(kind, names);
}

/// Something that has been committed.
struct event {
    event_kind what{};               ///< what has happened
    instant at{};                    ///< the clock's reading in the transaction
    job_id id{};                     ///< 0 for `clock_stepped_back`
    std::string queue{};             ///< empty where the job is not known: a marker that is foreign, or of no job
    std::string key{};               ///< of the job; empty where it has none, or is not known
    std::string owner{};             ///< of the round that the event speaks of; empty where there is none
    claim_token token{};             ///< of the round
    std::int32_t attempt = 0;        ///< of the round
    verdict why = verdict::applied;  ///< of `rejected`
};

/// Whoever is told of events: after the commit, outside every lock, on the thread that made the call.
using event_sink = sink<event>;

/// How a queue works. Every member may be left as it is.
struct queue_options {
    event_sink on_event{};         ///< told of what has been committed
    std::size_t group_limit = 64;  ///< so many calls of several threads share a commit at most; 0 or 1: none do
};

namespace detail {

/// While it lives, what this thread's calls would tell is kept; it is told when it goes. For who holds something of its
/// own around a call, and shall hold nothing around the telling.
class told_later {
public:
    told_later() noexcept : outer_{std::exchange(innermost(), this)} {}
    told_later(const told_later&) = delete;
    told_later& operator=(const told_later&) = delete;
    ~told_later() {
        innermost() = outer_;
        for (const auto& [sink, what] : kept_) {
            tell(*sink, what);
        }
    }

    /// Tells the sink, or keeps it for later.
    static void tell(const event_sink& sink, const event& what) {
        if (told_later* const later = innermost()) {
            try {
                later->kept_.emplace_back(&sink, what);
                return;
            } catch (...) {  // NOLINT(bugprone-empty-catch): no memory to keep it in: it is told at once
            }
        }
        sink(what);
    }

private:
    static told_later*& innermost() noexcept {
        static thread_local told_later* current = nullptr;
        return current;
    }

    told_later* outer_;
    std::vector<std::pair<const event_sink*, event>> kept_{};
};

}  // namespace detail
}  // namespace leasehold::inline v0_1_0
