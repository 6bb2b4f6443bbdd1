// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include <rapidcheck.h>

#include <leasehold/job.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace model {

using namespace leasehold;

enum class verb : std::uint8_t {
    clock_step,
    enqueue,
    enqueue_many,
    claim,
    claim_many,
    finish,
    finish_many,
    finish_and_claim,
    renew,
    renew_many,
    refresh,
    fail,
    release,
    release_many,
    quarantine,
    checkpoint,
    leave_receipt,
    revoke,
    cancel,
    requeue,
    prune,
    find,
    list,
    stats,
    transact,
    new_store_id,
};

/// What makes a marker that was given out one that was not.
enum class flaw : std::uint8_t { none, store, id, owner, token_below, token_above, attempt, lease_until };

/// One step of a random sequence, in small numbers that mean something in every state: `mark` and `other` choose among
/// what there is. So a sequence stays one when steps are taken out of it.
struct step {
    verb what{};
    unsigned who = 0;       ///< owner
    unsigned mark = 0;      ///< a marker that was kept, or a job
    unsigned other = 0;     ///< another one
    unsigned length = 0;    ///< of a lease, a retry, a delay, an age
    unsigned deadline = 0;  ///< 0: none
    unsigned key = 0;       ///< 0: none
    unsigned flags = 0;     ///< what else there is to choose
    flaw wrong = flaw::none;

    bool flag(unsigned bit) const { return ((flags >> bit) & 1U) != 0; }
};

inline const std::array<std::string_view, 3> owners{"A", "B", "C"};

/// Mostly short, so that ends are met exactly, and now and then past every end.
inline millis length_of(const step& s) {
    static const std::array<std::int64_t, 8> lengths{1, 2, 3, 5, 8, 13, 40, 0};
    const unsigned i = s.length % lengths.size();
    return i + 1 == lengths.size() ? longest : millis{std::chrono::milliseconds{lengths[i]}};
}

/// Forward, and back now and then.
inline millis clock_step_of(const step& s) {
    const bool back = s.key == 0;
    return std::chrono::milliseconds{back ? -length_of({.length = s.length % 6}).count()
                                          : length_of({.length = s.length % 7}).count()};
}

inline std::string queue_of(const step& s) { return s.flag(0) ? "other" : "default"; }

inline millis delay_of(const step& s) { return s.flag(1) ? length_of(s) : millis{}; }

/// Sets one of a pair of a job or a requeue: a length, or an instant.
template <class Schedule>
void schedule(Schedule& when, const step& s, instant now) {
    const millis delay = delay_of(s);
    if (s.flag(2) && delay != longest) {
        when.not_before = now + delay.to_chrono();
    } else {
        when.delay = delay;
    }
    if (s.deadline > 0) {
        const std::chrono::milliseconds ahead{4 * (s.deadline - 1)};  // the first of them is not ahead, and refused
        if (s.flag(3)) {
            when.deadline = now + ahead;
        } else {
            when.expires_in = ahead + std::chrono::milliseconds{1};
        }
    }
}

inline job job_of(const step& s, instant now, unsigned nth = 0) {
    job work;
    work.queue = queue_of(s);
    const unsigned key = s.key == 0 ? 0 : (s.key + nth) % 8;
    work.key = key == 0 ? "" : "k" + std::to_string(key);
    work.payload = s.flag(4) || nth == 2 ? "y" : "x";
    work.priority = static_cast<std::int32_t>(s.other % 3) - 1;
    work.max_attempts = 1 + static_cast<std::int32_t>(s.mark % 4);
    schedule(work, s, now);
    return work;
}

/// So often each verb comes, of a hundred or so.
inline rc::Gen<verb> any_verb() {
    using enum verb;
    return rc::gen::weightedElement<verb>(
        {{240, clock_step},   {110, enqueue},     {40, enqueue_many}, {150, claim},
         {50, claim_many},    {60, finish},       {20, finish_many},  {40, finish_and_claim},
         {60, renew},         {20, renew_many},   {30, refresh},      {70, fail},
         {50, release},       {20, release_many}, {20, quarantine},   {30, checkpoint},
         {30, leave_receipt}, {40, revoke},       {40, cancel},       {60, requeue},
         {15, prune},         {20, find},         {15, list},         {10, stats},
         {50, transact},      {2, new_store_id}});
}

inline rc::Gen<step> any_step() {
    const auto below = [](unsigned end) { return rc::gen::inRange<unsigned>(0, end); };
    const auto mostly_none = rc::gen::weightedOneOf<unsigned>({{2, rc::gen::just(0U)}, {1, below(9)}});
    const auto seldom_wrong = rc::gen::map(rc::gen::weightedOneOf<unsigned>({{12, rc::gen::just(0U)}, {1, below(8)}}),
                                           [](unsigned n) { return static_cast<flaw>(n); });
    const auto mostly_young = rc::gen::oneOf(below(3), below(12));
    return rc::gen::construct<step>(any_verb(), below(3), mostly_young, below(12), below(8), mostly_none, below(8),
                                    below(64), seldom_wrong);
}

}  // namespace model

template <>
struct rc::Arbitrary<model::step> {
    static Gen<model::step> arbitrary() { return model::any_step(); }
};
