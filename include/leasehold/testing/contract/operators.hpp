// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/testing/contract/bench.hpp>

/// What a person may do to a job, and what a person can see.
namespace leasehold::inline v0_1_0::testing::detail {

template <class Store>
void add_operator_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("an operator's verb that saw an older token does nothing", [](in with, checker& check) {
        queue_in q{with};
        q.add({.payload = "x"});
        const lease a = q.taken("A");
        q.clock.set(at(1000));
        const lease b = q.taken("B");
        const record before = q.row(a.id);
        check.refused(q.queue.revoke(a.id, a.token), verdict::superseded);
        check.refused(q.queue.cancel(a.id, a.token), verdict::superseded);
        check.refused(q.queue.requeue(a.id, a.token), verdict::superseded);
        check.equal(q.row(a.id), before);

        check.applied(q.queue.quarantine(b, "odd"));
        check.refused(q.queue.requeue(a.id, a.token), verdict::superseded);
        const amendment done = q.queue.requeue(a.id, b.token);
        check.applied(done);
        check.equal(check.some(done.current).state, job_state::ready);
    });

    to.add("an operator's verb says why it was refused", [](in with, checker& check) {
        queue_in q{with};
        check.refused(q.queue.revoke(job_id{1}, {}), verdict::missing);
        check.refused(q.queue.cancel(job_id{1}), verdict::missing);
        check.refused(q.queue.requeue(job_id{1}, {}), verdict::missing);
        check.equal(to_text(q.queue.cancel(job_id{1})), "rejected (missing) at 0: job 1; there is no such job");

        const job_id id = q.add({.payload = "x"});
        check.refused(q.queue.revoke(id, {0}), verdict::not_leased);
        check.refused(q.queue.requeue(id, {0}), verdict::not_ended);
        q.taken();
        check.refused(q.queue.requeue(id, {1}), verdict::not_ended);
        check.applied(q.queue.cancel(id, claim_token{1}));
        check.refused(q.queue.cancel(id), verdict::cancelled);
        check.refused(q.queue.revoke(id, {1}), verdict::cancelled);
        check.applied(q.queue.requeue(id, {1}));
        check.applied(q.queue.quarantine(q.taken(), "odd"));
        check.refused(q.queue.revoke(id, {2}), verdict::quarantined);
        check.applied(q.queue.requeue(id, {2}));
        check.applied(q.queue.finish(q.taken()));
        check.refused(q.queue.revoke(id, {3}), verdict::finished);
        check.refused(q.queue.cancel(id), verdict::finished);
        check.refused(q.queue.requeue(id, {3}), verdict::finished);
    });

    to.add("revoke frees a lease at once, and the attempt stays spent", [](in with, checker& check) {
        queue_in q{with};
        q.add({.payload = "x"});
        const lease a = q.taken("A", longest);
        check.applied(q.queue.revoke(a.id, a.token));
        check.refused(q.queue.finish(a), verdict::not_leased);
        const lease b = q.taken("B");
        check.equal(b.attempt, 2);
        check.equal(b.token, claim_token{2});
        check.equal(q.row(b.id).lapses, 1);
    });
}

template <class Store>
void add_requeue_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("a requeued job starts again with all its attempts, and keeps its history", [](in with, checker& check) {
        queue_in q{with};
        q.add({.key = "k", .payload = "x", .max_attempts = 1});
        const lease held = q.taken();
        check.applied(q.queue.checkpoint(held, "half"));
        check.applied(q.queue.leave_receipt(held, "sent"));
        check.applied(q.queue.fail(held, "boom"));
        q.clock.set(at(500));
        check.applied(q.queue.requeue(held.id, held.token));
        const record row = q.row(held.id);
        check.equal(row.state, job_state::ready);
        check.equal(row.attempt, 0);
        check.equal(row.token, claim_token{1});
        check.equal(row.vests_at, at(500));
        check.equal(row.waits, false);
        check.nothing(row.reason);
        check.nothing(row.ended_by);
        check.nothing(row.ended_at);
        check.equal(row.failures, 1);
        check.equal(row.last_error, "boom");
        check.equal(row.checkpoint, "half");
        check.equal(row.receipts.size(), 1);

        const lease again = q.taken();
        check.equal(again.token, claim_token{2});
        check.equal(again.attempt, 1);
        check.refused(q.queue.finish(held), verdict::superseded);
        check.applied(q.queue.finish(again));
    });

    to.add("a job whose deadline is over is requeued only with a new one", [](in with, checker& check) {
        queue_in q{with};
        const job_id id = q.add({.payload = "x", .deadline = at(100)});
        const auto refuses = [&](const requeue_options& how, std::string_view named) {
            check.throws<std::invalid_argument>([&] { return q.queue.requeue(id, {0}, how); }, {named});
        };
        q.clock.set(at(100));
        check.nothing(q.queue.claim("A", 10ms));
        check.refused(q.queue.requeue(id, {0}), verdict::past_deadline);
        refuses({.deadline = at(100)}, "deadline");
        refuses({.delay = 5ms, .expires_in = 5ms}, "delay");
        refuses({.expires_in = 0ms}, "expires_in");
        refuses({.delay = -1ms}, "delay");
        check.equal(q.row(id).state, job_state::quarantined);
        check.applied(q.queue.requeue(id, {0}, {.delay = 4ms, .expires_in = 5ms}));
        check.equal(q.row(id).deadline, at(105));
        check.equal(q.row(id).vests_at, at(104));
        check.nothing(q.queue.claim("A", 10ms));
        q.clock.set(at(104));
        check.equal(q.taken().lease_until, at(105));
    });

    to.add("a cancelled job can be requeued", [](in with, checker& check) {
        queue_in q{with};
        const job_id id = q.add({.payload = "x", .deadline = at(900)});
        check.applied(q.queue.cancel(id));
        check.nothing(q.queue.claim("A", 10ms));
        check.equal(q.row(id).ended_by, ender::operator_);
        check.applied(q.queue.requeue(id, {0}, {.not_before = at(5)}));
        check.equal(q.row(id).deadline, at(900));
        check.nothing(q.queue.claim("A", 10ms));
        q.clock.set(at(5));
        check.equal(q.taken().payload, "x");
    });
}

template <class Store>
void add_pruning_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("pruning takes what ended long enough ago, oldest first, and what is asked for",
           [](in with, checker& check) {
               queue_in q{with};
               std::vector<job_id> ids;
               for (int i = 1; i <= 6; ++i) {
                   ids.push_back(q.add({.key = std::to_string(i), .payload = "x"}));
               }
               q.clock.set(at(100));
               check.applied(q.queue.finish(q.taken(), "r"));
               q.clock.set(at(200));
               check.applied(q.queue.cancel(ids[1]));
               q.clock.set(at(300));
               const lease odd = q.taken();
               check.applied(q.queue.leave_receipt(odd, "n"));
               check.applied(q.queue.quarantine(odd, "odd"));
               check.equal(odd.id, ids[2]);
               q.clock.set(at(400));
               check.applied(q.queue.finish(q.taken()));

               check.equal(q.queue.prune({.older_than = 301ms}), 0);
               check.equal(q.queue.prune({.older_than = 300ms}), 1);
               check.nothing(q.queue.find(ids[0]));
               check.equal(q.queue.prune({.limit = 1}), 1);
               check.nothing(q.queue.find(ids[1]));
               check.equal(q.row(ids[3]).state, job_state::finished);
               check.equal(q.queue.prune({}) + q.queue.prune({}), 1);
               check.equal(q.row(ids[2]).state, job_state::quarantined);
               check.equal(q.queue.prune({.older_than = 101ms, .quarantined = true}), 0);
               check.equal(q.queue.prune({.older_than = 100ms, .quarantined = true}), 1);
               check.equal(q.rows().size(), 2);
               check.refused(q.queue.finish(odd), verdict::missing);
           });

    to.add("pruning goes by the instant of the end, whatever the end was", [](in with, checker& check) {
        queue_in q{with};
        const std::vector<job_id> ids = q.add_many(std::vector<job>(4, {.payload = "x"}));
        const std::vector<lease> held = q.taken_many(4);
        q.clock.set(at(100));
        check.applied(q.queue.quarantine(held[3], "odd"));
        q.clock.set(at(200));
        check.applied(q.queue.cancel(ids.at(2)));
        q.clock.set(at(300));
        check.applied(q.queue.finish(held[1]));
        q.clock.set(at(400));
        check.applied(q.queue.finish(held[0]));
        for (const std::size_t oldest : {3U, 2U, 1U, 0U}) {
            check.equal(q.queue.prune({.limit = 1, .quarantined = true}), 1);
            check.nothing(q.queue.find(ids.at(oldest)));
            check.equal(q.rows().size(), oldest);
        }
    });
}

template <class Store>
void add_reading_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("a list shows what fits, page by page", [](in with, checker& check) {
        queue_in q{with};
        std::vector<job_id> made;
        for (std::size_t i = 1; i <= 7; ++i) {
            made.push_back(q.add({.queue = i % 2 == 0 ? "even" : "odd", .payload = std::string(i, 'x')}));
        }
        check.applied(q.queue.cancel(made[4]));
        std::vector<std::size_t> sizes;
        std::vector<job_id> ids;
        filter which{.queue = "odd", .limit = 2};
        for (bool more = true; more && ids.size() < made.size();) {
            const page<record> page = q.queue.list(which);
            for (const record& row : page.items) {
                ids.push_back(row.id);
                sizes.push_back(row.payload_size);
            }
            more = page.next.has_value();
            which.after = page.next.value_or(job_id{});
        }
        check.equal(ids, std::vector<job_id>{made[0], made[2], made[4], made[6]});
        check.equal(sizes, std::vector<std::size_t>{1, 3, 5, 7});
        check.equal(q.queue.list({.state = job_state::cancelled}).items.size(), 1);
        check.nothing(q.queue.list({.queue = "even", .state = job_state::cancelled}).items);
        check.nothing(q.queue.list({.queue = "none"}).items);
        check.nothing(q.queue.find(job_id{made[6].value + 1}));
        check.nothing(q.queue.find(job_id{-1}));
        check.nothing(q.queue.find("odd", "no such key"));
    });

    to.add("the statistics count every job once, by queue and state", [](in with, checker& check) {
        queue_in q{with};
        check.nothing(q.queue.stats().queues);
        q.clock.set(at(10));
        std::vector<job_id> made;
        for (int i = 0; i < 6; ++i) {
            made.push_back(q.add({.queue = "b", .payload = "x"}));
        }
        q.add({.queue = "b", .delay = 5ms});
        q.add({.queue = "a", .delay = 5ms});
        const std::vector<lease> held = check.exactly(3, q.queue.claim_many("A", 1000ms, 3, "b"));
        check.applied(q.queue.finish(held[1]));
        check.applied(q.queue.quarantine(held[2], "odd"));
        check.applied(q.queue.cancel(made[3]));
        const queue_statistics in_b{.queue = "b",
                                    .ready = 2,
                                    .delayed = 1,
                                    .leased = 1,
                                    .finished = 1,
                                    .quarantined = 1,
                                    .cancelled = 1,
                                    .oldest_ready = at(10)};
        check.equal(q.queue.stats().queues,
                    std::vector<queue_statistics>{queue_statistics{.queue = "a", .delayed = 1}, in_b});
    });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
