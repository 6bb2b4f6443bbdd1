// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/testing/contract/bench.hpp>

/// Whose call counts, until when, and what it does to the row.
namespace leasehold::inline v0_1_0::testing::detail {

template <class Store>
void add_settling_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("a worker that comes back after its lease can change nothing", [](in with, checker& check) {
        for (const std::string second : {"B", "A"}) {
            check.context(second == "A" ? "the same name started again" : "another worker");
            queue_in q{with};
            q.add({.key = "k", .payload = "x"});
            const lease a = q.taken("A");
            check.equal(a.token, claim_token{1});
            check.equal(a.lease_until, at(1000));
            q.clock.set(at(1000));
            const lease b = q.taken(second);
            check.equal(b.token, claim_token{2});
            check.equal(b.id, a.id);
            check.equal(b.attempt, 2);

            q.clock.set(at(1001));
            const record before = q.row(a.id);
            const settlement refused = q.queue.finish(a, "late");
            check.refused(refused, verdict::superseded);
            check.equal(q.row(a.id), before);
            check.equal(before.marker(), static_cast<const marker&>(b));
            check.equal(to_text(refused),
                        "rejected (superseded) at 1001: presented owner=A token=1 lease_until=1000; row has owner=" +
                            second + " token=2 lease_until=2000");
            check.applied(q.queue.finish(b, "in time"));
            check.equal(q.row(a.id).result, "in time");
        }
    });

    to.add("a completion counts one before the expiry instant, and is too late at it", [](in with, checker& check) {
        for (const int now : {999, 1000, 1001}) {
            check.context("at " + std::to_string(now));
            const bool in_time = now < 1000;
            queue_in q{with};
            q.add({.payload = "x"});
            const lease held = q.taken();
            q.clock.set(at(now));
            const settlement answer = q.queue.finish(held);
            check.refused(answer, in_time ? verdict::applied : verdict::expired);
            check.equal(answer.at, at(now));
            check.equal(answer.ended_by_presented(), in_time);
            check.equal(q.row(held.id).state, in_time ? job_state::finished : job_state::leased);
        }
    });

    to.add("at and after the expiry instant somebody else may take the job, and not before",
           [](in with, checker& check) {
               for (const int now : {999, 1000, 1001}) {
                   check.context("at " + std::to_string(now));
                   queue_in q{with};
                   q.add({.payload = "x"});
                   const lease first = q.taken("A");
                   q.clock.set(at(now));
                   const auto second = q.queue.claim("B", 1000ms);
                   check.equal(second.has_value(), now >= 1000);
                   check.refused(q.queue.finish(first), second ? verdict::superseded : verdict::applied);
                   if (second) {
                       check.applied(q.queue.finish(*second));
                   }
               }
           });

    to.add("a lease never outlives the deadline", [](in with, checker& check) {
        for (const int now : {99, 100, 101}) {
            check.context("at " + std::to_string(now));
            queue_in q{with};
            q.add({.payload = "x", .deadline = at(100)});
            lease held = q.taken("A", 1000ms);
            check.equal(held.lease_until, at(100));
            check.equal(held.deadline, at(100));
            q.clock.set(at(50));
            check.applied(q.queue.renew(held, std::chrono::hours::max()));
            check.equal(held.lease_until, at(100));
            q.clock.set(at(now));
            check.refused(q.queue.finish(held), now < 100 ? verdict::applied : verdict::past_deadline);
        }
    });

    to.add("the last attempt that fails sets the job aside at once", [](in with, checker& check) {
        queue_in q{with};
        q.add({.payload = "x", .max_attempts = 1});
        const lease held = q.taken();
        check.applied(q.queue.fail(held, "boom", 50ms));
        const record row = q.row(held.id);
        check.equal(row.state, job_state::quarantined);
        check.equal(row.reason, "attempts_exhausted");
        check.equal(row.ended_by, ender::holder);
        check.equal(row.last_error, "boom");
        check.nothing(q.queue.claim("B", 1000ms));
    });

    to.add("the rejection shows both sides on one line, whatever the names", [](in with, checker& check) {
        queue_in q{with};
        q.add({.payload = "secret"});
        const lease held = q.taken("A; row has owner=\nB\x01\"");
        marker other = held;
        other.attempt = 9;
        const std::string line = to_text(q.queue.finish(other, "hidden"));
        check.contains(line, "rejected (altered) at 0: presented owner=\"A; row has owner=\\x0aB\\x01\\\"\"");
        check.contains(line, "attempt=9");
        check.contains(line, "attempt=1");
        for (const std::string_view hidden : {"\n", "secret", "hidden"}) {
            check.lacks(line, hidden);
        }
        const auto says = [&](std::string_view why, std::string_view row) {
            const std::string said = to_text(q.queue.finish(other));
            check.contains(said, why);
            check.contains(said, row);
        };
        other = held;
        other.id = job_id{std::numeric_limits<std::int64_t>::max()};
        says("rejected (missing) at 0", "no such job");
        other = held;
        other.store = {};
        says("rejected (foreign) at 0", "another store");
        check.applied(q.queue.release(held));
        other = held;
        says("rejected (not_leased)", "row has owner=none token=1 lease_until=none state=ready");
    });
}

/// What a verb makes of a row that is held from 0 to 1000, at 400.
template <class Store>
struct effect {
    std::string_view name;
    void (*run)(queue_in<Store>& q, lease& held, record& want);
};

inline void want_ready(record& want, bool waits, instant vests_at) {
    want.state = job_state::ready;
    want.owner = "";
    want.lease_until.reset();
    want.waits = waits;
    want.vests_at = vests_at;
}

inline void want_ended(record& want, job_state how, ender who, std::string_view reason) {
    want.state = how;
    want.ended_by = who;
    want.ended_at = at(400);
    want.reason = reason;
}

inline void want_failed(record& want) {
    want.failures = 1;
    want.last_error = "boom";
}

template <class Store>
std::vector<effect<Store>> effects() {
    using in = queue_in<Store>&;
    return {{"finish",
             [](in q, lease& held, record& want) {
                 q.check.applied(q.queue.finish(held, "done"));
                 want_ended(want, job_state::finished, ender::holder, "");
                 want.result = "done";
                 want.result_size = 4;
             }},
            {"renew",
             [](in q, lease& held, record& want) {
                 q.check.applied(q.queue.renew(held, 900ms));
                 q.check.equal(held.lease_until, at(1300));
                 q.check.equal(held.local_until, pace_point{1300ms});
                 want.lease_until = want.vests_at = at(1300);
             }},
            {"renew never shortens",
             [](in q, lease& held, record&) {
                 q.check.applied(q.queue.renew(held, 1ms));
                 q.check.equal(held.lease_until, at(1000));
             }},
            {"fail, to be tried again at once",
             [](in q, lease& held, record& want) {
                 q.check.applied(q.queue.fail(held, "boom"));
                 want_ready(want, false, at(400));
                 want_failed(want);
             }},
            {"fail, to be tried again later",
             [](in q, lease& held, record& want) {
                 q.check.applied(q.queue.fail(held, "boom", 50ms));
                 want_ready(want, true, at(450));
                 want_failed(want);
             }},
            {"release",
             [](in q, lease& held, record& want) {
                 q.check.applied(q.queue.release(held, 30ms));
                 want_ready(want, true, at(430));
                 want.attempt = 0;
             }},
            {"quarantine",
             [](in q, lease& held, record& want) {
                 q.check.applied(q.queue.quarantine(held, "look at me"));
                 want_ended(want, job_state::quarantined, ender::holder, "look at me");
             }},
            {"checkpoint",
             [](in q, lease& held, record& want) {
                 q.check.applied(q.queue.checkpoint(held, "half way"));
                 want.checkpoint = "half way";
                 want.checkpoint_size = 8;
             }},
            {"checkpoint, again",
             [](in q, lease& held, record& want) {
                 q.check.applied(q.queue.checkpoint(held, "half way"));
                 q.check.applied(q.queue.checkpoint(held, "more"));
                 want.checkpoint = "more";
                 want.checkpoint_size = 4;
             }},
            {"revoke, by an operator",
             [](in q, lease& held, record& want) {
                 q.check.applied(q.queue.revoke(held.id, held.token));
                 want_ready(want, false, at(400));
                 want.lapses = 1;
             }},
            {"cancel, by an operator", [](in q, lease& held, record& want) {
                 q.check.applied(q.queue.cancel(held.id, held.token));
                 want_ended(want, job_state::cancelled, ender::operator_, "");
             }}};
}

template <class Store>
void add_effect_cases(case_list<Store> to) {
    to.add("every verb of a holder that counts does what it says to the row",
           [](const bench<Store>& with, checker& check) {
               for (const effect<Store>& verb : effects<Store>()) {
                   check.context(std::string{verb.name});
                   queue_in q{with};
                   q.add({.key = "k", .payload = "x", .priority = 3, .max_attempts = 2});
                   lease held = q.taken("A", 1000ms);
                   record want = q.row(held.id);
                   check.equal(want.state, job_state::leased);
                   check.equal(want.marker(), static_cast<const marker&>(held));
                   check.equal(want.vests_at, at(1000));
                   check.that(want.waits, "a leased row waits for its end");
                   q.clock.set(at(400));
                   verb.run(q, held, want);
                   check.equal(q.row(held.id), want);
               }
           });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
