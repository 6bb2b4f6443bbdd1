// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold {

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
    event_kind what{};
    instant at{};         ///< the clock's reading in the transaction
    job_id id{};          ///< 0 for `clock_stepped_back`
    std::string queue{};  ///< empty where the job is not known: a marker that is foreign, or of no job
    std::string key{};
    std::string owner{};  ///< of the round that the event speaks of; empty where there is none
    claim_token token{};
    std::int32_t attempt = 0;
    verdict why = verdict::applied;  ///< of `rejected`
};

class event_sink;

template <class T>
concept listener = std::invocable<const T&, const event&> && !std::same_as<T, event_sink>;

/// Whoever is told of events: anything that can be called with `const event&`. Called after the commit, outside every
/// lock, on the thread that made the call; several threads may call at once. What it throws is dropped, since the
/// event stands whatever becomes of the telling.
class event_sink {
public:
    event_sink() noexcept = default;

    template <listener Target>
    event_sink(Target target)  // NOLINT(google-explicit-constructor): what can be called is a sink
        : target_{std::make_shared<const Target>(std::move(target))}, call_{[](const void* to, const event& what) {
              (*static_cast<const Target*>(to))(what);
          }} {}

    explicit operator bool() const noexcept { return target_ != nullptr; }

    void operator()(const event& what) const noexcept {
        try {
            call_(target_.get(), what);
        } catch (...) {  // NOLINT(bugprone-empty-catch): see above
        }
    }

private:
    std::shared_ptr<const void> target_{};
    void (*call_)(const void*, const event&) = nullptr;
};

struct queue_options {
    event_sink on_event{};  ///< told of what has been committed
};

}  // namespace leasehold
