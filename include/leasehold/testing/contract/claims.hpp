// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/session.hpp>
#include <leasehold/testing/contract/bench.hpp>

/// Who gets a job, what the lease says, and what is set aside on the way.
namespace leasehold::inline v0_1_0::testing::detail {

template <class Store>
void add_claim_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("an empty queue gives nothing, and a queue knows only its own jobs", [](in with, checker& check) {
        queue_in q{with};
        check.nothing(q.queue.claim("A", 1000ms));
        q.add({.queue = "other", .payload = "x"});
        check.nothing(q.queue.claim("A", 1000ms));
        check.nothing(q.queue.claim("A", 1000ms, "Other"));
        check.equal(check.some(q.queue.claim("A", 1000ms, "other")).queue, "other");
    });

    to.add("a lease says all that its holder needs", [](in with, checker& check) {
        queue_in q{with};
        q.clock.set(at(70));
        const job_id id = q.add({.queue = "q", .key = "order-7", .payload = "bytes", .deadline = at(5000)});
        const lease held = check.some(q.queue.claim("A", 1000ms, "q"));
        check.equal(held.id, id);
        check.equal(held.key, "order-7");
        check.equal(held.queue, "q");
        check.equal(held.payload, "bytes");
        check.equal(held.owner, "A");
        check.equal(held.token, claim_token{1});
        check.equal(held.attempt, 1);
        check.equal(held.granted, at(70));
        check.equal(held.lease_until, at(1070));
        check.equal(held.deadline, at(5000));
        check.equal(held.local_until, pace_point{1070ms});
        check.nothing(held.checkpoint);
        check.nothing(held.receipts);
        check.applied(q.queue.checkpoint(held, "half"));
        check.applied(q.queue.release(held));
        check.equal(check.some(q.queue.claim("B", 1000ms, "q")).checkpoint, "half");
    });

    to.add("a live lease is not handed to anybody by asking again", [](in with, checker& check) {
        queue_in q{with};
        q.add({.payload = "x"});
        const lease held = q.taken("A", 1000ms);
        for (const int now : {0, 1, 500, 999}) {
            q.clock.set(at(now));
            check.nothing(q.queue.claim("A", 1000ms));
            check.nothing(q.queue.claim("B", 1000ms));
            check.nothing(q.queue.claim_many("B", 1000ms, 10));
        }
        check.applied(q.queue.finish(held));
    });

    to.add("releases cost no attempt, and tokens rise all the same", [](in with, checker& check) {
        queue_in q{with};
        q.add({.payload = "x", .max_attempts = 1});
        for (std::int64_t round = 1; round <= 5; ++round) {
            const lease held = q.taken();
            check.equal(held.token, claim_token{round});
            check.equal(held.attempt, 1);
            check.applied(q.queue.release(held));
        }
    });

    to.add("bad terms of a claim are refused by name", [](in with, checker& check) {
        using refusal = std::invalid_argument;
        queue_in q{with};
        q.add({.payload = "x"});
        lease held = q.taken();
        for (const millis bad : {millis{0ms}, millis{-1ms}, millis::min()}) {
            const claim_terms terms{.owner = "A", .lease_for = bad};
            check.throws<refusal>([&] { return q.queue.claim("A", bad); }, {"lease_for"});
            check.throws<refusal>([&] { return q.queue.renew(held, bad); }, {"lease_for"});
            check.throws<refusal>([&] { return q.queue.finish_and_claim(held, "", terms); }, {"lease_for"});
        }
        check.throws<refusal>([&] { return q.queue.fail(held, "e", -1ms); }, {"retry_after"});
        check.throws<refusal>([&] { return q.queue.release(held, -1ms); }, {"after"});
        const std::string long_name(256, 'n');
        for (const std::string& bad : {std::string{}, long_name, std::string{"a\0b", 3}, std::string{"\xff"}}) {
            const claim_terms owner{.owner = bad, .lease_for = 1ms};
            const claim_terms queue{.owner = "A", .lease_for = 1ms, .queues = {bad}};
            check.throws<refusal>([&] { return q.queue.claim(bad, 1ms); }, {"owner"});
            check.throws<refusal>([&] { return q.queue.claim("A", 1ms, bad); }, {"queue"});
            check.throws<refusal>([&] { return q.queue.find(bad, "k"); }, {"queue"});
            check.throws<refusal>([&] { return q.queue.find("q", bad); }, {"key"});
            check.throws<refusal>([&] { return q.queue.finish_and_claim(held, "", owner); }, {"owner"});
            check.throws<refusal>([&] { return q.queue.finish_and_claim(held, "", queue); }, {"queue"});
        }
        check.throws<refusal>([&] { return q.queue.claim_many("A", 1ms, 0); }, {"limit"});
        check.throws<refusal>([&] { return q.queue.claim_many("A", 1ms, 1001); }, {"limit"});
        check.throws<refusal>([&] { return q.queue.list({.limit = 0}); }, {"limit"});
        check.throws<refusal>([&] { return q.queue.prune({.limit = 1001}); }, {"limit"});
        check.throws<refusal>([&] { return q.queue.prune({.older_than = -1ms}); }, {"older_than"});
        check.applied(q.queue.finish(held));  // none of it touched the job
    });
}

template <class Store>
void add_setting_aside_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("work whose attempts are used up is set aside before it gets a new token", [](in with, checker& check) {
        queue_in q{with};
        q.add({.payload = "crashes", .max_attempts = 2});
        lease held = q.taken("A");
        q.clock.set(at(1000));
        held = q.taken("B");
        check.equal(held.token, claim_token{2});
        q.clock.set(at(2000));
        check.nothing(q.queue.claim("C", 1000ms));

        const record row = q.row(held.id);
        check.equal(row.state, job_state::quarantined);
        check.equal(row.reason, "attempts_exhausted");
        check.equal(row.token, claim_token{2});
        check.equal(row.owner, "B");
        check.equal(row.attempt, 2);
        check.equal(row.lapses, 2);
        check.equal(row.ended_by, ender::claim);
        check.equal(row.ended_at, at(2000));
    });

    to.add("a job whose deadline passes before its start is set aside, and the next one runs",
           [](in with, checker& check) {
               queue_in q{with};
               const job_id late = q.add({.payload = "late", .deadline = at(100)});
               q.add({.payload = "next"});
               q.clock.set(at(100));
               const lease held = q.taken();
               check.equal(held.payload, "next");
               const record row = q.row(late);
               check.equal(row.state, job_state::quarantined);
               check.equal(row.reason, "deadline_passed");
               check.equal(row.token, claim_token{0});
               check.equal(row.lapses, 0);
           });

    to.add("one row with saturated counters does not stop the others", [](in with, checker& check) {
        constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
        queue_in q{with};
        const job_id worn_out = q.add({.payload = "worn"});
        q.add({.payload = "next"});
        q.write([&](auto& transaction) {
            std::vector<row> rows = all_held(transaction, check, {worn_out});
            rows.at(0).token = {most};
            rows.at(0).failures = rows.at(0).lapses = most;
            const change worn{&rows.at(0)};
            transaction.write(std::span{&worn, 1});
        });
        check.equal(q.taken().payload, "next");
        const record row = q.row(worn_out);
        check.equal(row.reason, "token_exhausted");
        check.equal(row.token.value, most);
        check.equal(row.failures, most);
    });

    to.add("a batch leaves out what is set aside on the way", [](in with, checker& check) {
        queue_in q{with};
        for (int i = 0; i < 20; ++i) {
            q.add({.payload = std::to_string(i), .deadline = i % 3 == 0 ? std::optional{at(5)} : std::nullopt});
        }
        q.clock.set(at(5));
        const std::vector<lease> held = q.queue.claim_many("A", 1000ms, 10);
        check.equal(held.size(), 10);
        check.equal(held.at(0).payload, "1");
        check.equal(held.back().payload, "14");
        check.equal(q.queue.claim_many("A", 1000ms, 10).size(), 3);
        check.equal(q.queue.stats().queues.at(0).quarantined, 7);
    });

    to.add("many dead rows in front neither fail a claim nor hide the live one", [](in with, checker& check) {
        queue_in q{with};
        q.add_many(std::vector<job>(3500, {.payload = "dead", .deadline = at(5)}));
        q.add({.payload = "alive"});
        q.clock.set(at(5));
        check.equal(q.taken().payload, "alive");
        check.equal(q.queue.stats().queues.at(0).quarantined, 3500);
        check.nothing(q.queue.claim("A", 1000ms));
    });

    to.add("one transaction sets aside a thousand rows at most, whatever the limit", [](in with, checker& check) {
        for (const std::size_t limit : {1U, 10U, 1000U}) {
            check.context("limit " + std::to_string(limit));
            queue_in q{with};
            q.add_many(std::vector<job>(999, {.payload = "dead", .deadline = at(5)}));
            q.add({.payload = "alive"});
            q.add_many(std::vector<job>(2000, {.payload = "dead", .deadline = at(5)}));
            q.add({.payload = "last"});
            q.clock.set(at(5));
            std::size_t granted = 0;
            for (const std::size_t most : {1000U, 2000U, 2999U}) {
                q.write([&](auto& transaction) {
                    leasehold::detail::session session{transaction};
                    const std::string_view queue = "default";
                    granted += session.claim("A", 1000ms, std::span{&queue, 1}, limit).leases.size();
                });
                const auto counted = q.queue.stats().queues.at(0);
                check.that(counted.quarantined <= most, "a thousand more at most");
                check.equal(counted.leased, granted);
            }
            check.that(granted >= 1, "at least one lease");
        }
    });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
