// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/testing/contract/bench.hpp>

/// Every verb of a holder, on every marker that does not fit.
namespace leasehold::inline v0_1_0::testing::detail {

/// A holder's verb, by name.
template <class Queue>
struct holders_verb {
    std::string_view name;
    settlement (*call)(Queue& queue, marker round);
};

template <class Queue>
std::vector<holders_verb<Queue>> holders_verbs() {
    return {
        {"finish", [](Queue& q, marker m) { return q.finish(m, "result"); }},
        {"finish_many", [](Queue& q, marker m) { return q.finish_many(std::array{m}).at(0); }},
        {"finish_and_claim",
         [](Queue& q, marker m) {
             return q.finish_and_claim(m, "result", {.owner = "next", .lease_for = 1ms, .queues = {"empty"}}).finished;
         }},
        {"renew", [](Queue& q, marker m) { return q.renew(m, 5000ms); }},
        {"renew_many", [](Queue& q, marker m) { return q.renew_many(std::array{&m}, 5000ms).at(0); }},
        {"fail", [](Queue& q, marker m) { return q.fail(m, "error", 5ms); }},
        {"release", [](Queue& q, marker m) { return q.release(m); }},
        {"release_many", [](Queue& q, marker m) { return q.release_many(std::array{m}, 7ms).at(0); }},
        {"quarantine", [](Queue& q, marker m) { return q.quarantine(m, "odd"); }},
        {"checkpoint", [](Queue& q, marker m) { return q.checkpoint(m, "half"); }}};
}

/// A way for a marker not to fit, and the reason that must be given for it.
template <class Store>
struct misfit {
    verdict why;
    std::string_view name;
    void (*make)(queue_in<Store>& q, marker& round);
};

/// By the marker itself, or the clock.
template <class Store>
std::vector<misfit<Store>> altered_markers() {
    using in = queue_in<Store>&;
    return {
        {verdict::foreign, "of another store", [](in, marker& m) { m.store.bytes[5] ^= 1; }},
        {verdict::missing, "of no job", [](in, marker& m) { m.id.value = std::numeric_limits<std::int64_t>::max(); }},
        {verdict::superseded, "of a later token", [](in, marker& m) { m.token.value += 1; }},
        {verdict::altered, "of another owner", [](in, marker& m) { m.owner = "a"; }},
        {verdict::altered, "of another attempt", [](in, marker& m) { m.attempt += 1; }},
        {verdict::altered, "of another end", [](in, marker& m) { m.lease_until += 1ms; }},
        {verdict::expired, "of a lease that is over", [](in q, marker&) { q.clock.set(at(1000)); }}};
}

/// By what happened to the row since.
template <class Store>
std::vector<misfit<Store>> altered_rows() {
    using in = queue_in<Store>&;
    return {
        {verdict::missing, "of a job that was pruned",
         [](in q, marker& m) {
             q.check.applied(q.queue.finish(m));
             q.check.equal(q.queue.prune({}), 1);
         }},
        {verdict::finished, "finished", [](in q, marker& m) { q.check.applied(q.queue.finish(m)); }},
        {verdict::quarantined, "set aside", [](in q, marker& m) { q.check.applied(q.queue.quarantine(m, "by hand")); }},
        {verdict::cancelled, "cancelled", [](in q, marker& m) { q.check.applied(q.queue.cancel(m.id)); }},
        {verdict::superseded, "taken by the next",
         [](in q, marker&) {
             q.clock.set(at(1000));
             q.taken("A", 1000ms);
         }},
        {verdict::superseded, "failed and taken again",
         [](in q, marker& m) {
             q.check.applied(q.queue.fail(m, "e"));
             q.taken("A", 1000ms);
         }},
        {verdict::not_leased, "failed", [](in q, marker& m) { q.check.applied(q.queue.fail(m, "e")); }},
        {verdict::not_leased, "released", [](in q, marker& m) { q.check.applied(q.queue.release(m)); }},
        {verdict::not_leased, "revoked", [](in q, marker& m) { q.check.applied(q.queue.revoke(m.id, m.token)); }},
        {verdict::altered, "renewed by a copy", [](in q, marker& m) {
             marker renewed = m;
             q.check.applied(q.queue.renew(renewed, 1500ms));
         }}};
}

template <class Store>
std::vector<misfit<Store>> misfits() {
    std::vector<misfit<Store>> all = altered_markers<Store>();
    for (const misfit<Store>& each : altered_rows<Store>()) {
        all.push_back(each);
    }
    return all;
}

template <class Store>
void add_misfit_cases(case_list<Store> to) {
    using in = const bench<Store>&;
    using queue_type = typename queue_in<Store>::queue_type;

    to.add("every verb of a holder is refused for every reason, and then no column has changed",
           [](in with, checker& check) {
               for (const auto& misfit : misfits<Store>()) {
                   queue_in q{with};
                   const job_id id = q.add({.key = "k", .payload = "x"});
                   const lease held = q.taken();
                   marker presented = held;
                   misfit.make(q, presented);
                   const auto before = q.rows();
                   // One after the other on the same row: none of them has changed it.
                   for (const auto& verb : holders_verbs<queue_type>()) {
                       check.context(std::string{verb.name} + " on a marker that is " + std::string{misfit.name});
                       const settlement answer = verb.call(q.queue, presented);
                       check.refused(answer, misfit.why);
                       check.that(!answer, "an answer that says no");
                       check.equal(answer.presented, presented);
                       check.equal(answer.current.has_value(),
                                   misfit.why != verdict::foreign && misfit.why != verdict::missing);
                       check.equal(q.rows(), before);
                       if (!before.empty()) {
                           const record after = q.row(id);
                           check.nothing(after.checkpoint);
                           check.nothing(after.result);
                       }
                   }
               }
           });

    to.add("refresh is refused as the others are, but for a lease end that differs", [](in with, checker& check) {
        for (const auto& misfit : misfits<Store>()) {
            check.context("a marker that is " + std::string{misfit.name});
            queue_in q{with};
            q.add({.key = "k", .payload = "x"});
            const lease held = q.taken();
            marker presented = held;
            misfit.make(q, presented);
            const auto before = q.rows();
            const bool only_the_end =
                misfit.why == verdict::altered && presented.owner == held.owner && presented.attempt == held.attempt;
            const marker given = presented;
            check.refused(q.queue.refresh(presented), only_the_end ? verdict::applied : misfit.why);
            check.equal(presented.lease_until, only_the_end ? *before.at(0).lease_until : given.lease_until);
            check.equal(q.rows(), before);
        }
    });

    to.add("a deadline that is over refuses every verb of a holder", [](in with, checker& check) {
        for (const auto& verb : holders_verbs<queue_type>()) {
            check.context(std::string{verb.name});
            queue_in q{with};
            q.add({.payload = "x", .expires_in = 1000ms});
            const lease held = q.taken();
            q.clock.set(at(1000));
            const record before = q.row(held.id);
            check.refused(verb.call(q.queue, held), verdict::past_deadline);
            check.equal(q.row(held.id), before);
        }
    });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
