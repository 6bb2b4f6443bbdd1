// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/testing/contract/bench.hpp>

/// What a transaction says of rows, and what it makes of them.
namespace leasehold::inline v0_1_0::testing::detail {

inline constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

template <class Store>
void add_vested_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("vested rows come in claim order, as many as are asked for", [](in with, checker& check) {
        queue_in q{with};
        const job_id low = q.add({.priority = -1});
        const job_id lapsed = q.add({.priority = 1});
        const job_id third = q.add({.delay = 3ms});
        const job_id second = q.add({.delay = 2ms});
        const job_id first = q.add({});
        q.add({.queue = "other", .priority = 9});
        const job_id not_yet = q.add({.priority = 1, .delay = 10ms});
        check.equal(q.taken("A", 3ms).id, lapsed);
        q.clock.set(at(4));
        const job_id fourth = q.add({});
        q.write([&](auto& transaction) {
            const std::vector<std::int64_t> order{lapsed.value, first.value,  second.value,
                                                  third.value,  fourth.value, low.value};
            for (std::size_t limit = 1; limit <= order.size() + 1; ++limit) {
                check.context("limit " + std::to_string(limit));
                const auto end = order.begin() + static_cast<std::ptrdiff_t>(std::min(limit, order.size()));
                check.equal(ids_of(transaction.vested("default", limit)), std::vector(order.begin(), end));
            }
            check.nothing(transaction.vested("none", 10));
        });
        check.context({});
        q.clock.set(at(10));
        q.write([&](auto& transaction) {
            check.equal(ids_of(transaction.vested("default", 2)),
                        std::vector<std::int64_t>{lapsed.value, not_yet.value});
        });
    });

    to.add("rows of very many priorities come in the order of them", [](in with, checker& check) {
        queue_in q{with};
        std::vector<std::int64_t> order;
        for (std::int32_t priority = -128; priority <= 127; ++priority) {
            order.insert(order.begin(), q.add({.priority = priority}).value);
        }
        q.write([&](auto& transaction) { check.equal(ids_of(transaction.vested("default", 1000)), order); });
    });

    to.add("a leased row has vested at the instant its lease ends, and not before", [](in with, checker& check) {
        queue_in q{with};
        const job_id id = q.add({});
        q.taken("A", 1000ms);
        for (const int now : {0, 999, 1000, 1001}) {
            check.context("at " + std::to_string(now));
            q.clock.set(at(now));
            q.write([&](auto& transaction) {
                const std::vector<row> rows = transaction.vested("default", 10);
                check.equal(rows.size(), now < 1000 ? 0 : 1);
                check.equal(rows, now < 1000 ? std::vector<row>{} : all_held(transaction, check, {id}));
            });
        }
    });

    to.add("a transaction's own rows vest in it, and those that it ended do not", [](in with, checker& check) {
        queue_in q{with};
        const job_id there = q.add({});
        q.write([&](auto& transaction) {
            const job work{.payload = "x", .priority = 1};
            const job_id own = insert_one(transaction, work, rules::enqueue(1, {}, {false, at(0)})).at(0).id;
            check.equal(ids_of(transaction.vested("default", 10)), std::vector<std::int64_t>{own.value, there.value});
            std::vector<row> rows = all_held(transaction, check, {there});
            rows.at(0).assign(rules::cancel(row{rows.at(0)}.columns(), at(0)));
            const change ended{&rows.at(0)};
            transaction.write(std::span{&ended, 1});
            check.equal(ids_of(transaction.vested("default", 10)), std::vector<std::int64_t>{own.value});
        });
    });
}

template <class Store>
void add_line_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("the tail is the greatest instant of the rows that do not wait, by queue and priority",
           [](in with, checker& check) {
               queue_in q{with};
               const auto tail = [&](std::string_view queue, std::int32_t priority) {
                   Store opened = q.store();
                   auto transaction = opened.begin(q.clock);
                   return transaction.tail(queue, priority);
               };
               check.nothing(tail("default", 0));
               q.clock.set(at(7));
               q.add({});
               q.clock.set(at(5));
               q.add({.delay = 100ms});
               q.add({.priority = 1});
               q.add({.queue = "other"});
               q.clock.set(at(9));
               const job_id last = q.add({});
               q.add({.priority = 2, .delay = 1ms});
               check.equal(tail("default", 0), at(9));
               check.equal(tail("default", 1), at(5));
               check.equal(tail("other", 0), at(5));
               check.nothing(tail("default", 2));
               check.nothing(tail("none", 0));
               check.applied(q.queue.cancel(last));
               check.equal(tail("default", 0), at(7));
               check.equal(q.taken("A", 1000ms).token, claim_token{1});  // of priority 1
               check.nothing(tail("default", 1));
           });

    to.add("a transaction sees the tail that it made itself", [](in with, checker& check) {
        queue_in q{with};
        q.write([&](auto& transaction) {
            for (const std::int64_t when : {3, 8, 6}) {
                insert_one(transaction, {}, rules::enqueue(1, {}, {false, at(when)}));
            }
            check.equal(transaction.tail("default", 0), at(8));
        });
    });
}

/// A change that the rules may make of a row, to values at an end of what they can be.
struct row_change {
    std::string_view name;
    void (*make)(row& job);
};

template <class Rule>
void apply(row& job, const Rule& rule) {
    const row before = job;
    job.assign(rule(before.columns()));
}

inline void lease_until(row& job, instant end) { job.lease_until = job.vests_at = end; }

inline std::vector<row_change> row_changes() {
    using columns = rules::columns;
    return {{"worn out", [](row& job) { job.token.value = job.failures = job.lapses = highest - 1; }},
            {"tried often", [](row& job) { job.attempt = std::numeric_limits<std::int32_t>::max() - 1; }},
            {"delayed for ever", [](row& job) { job.waits = true, job.vests_at = instant::max(); }},
            {"ready since ever", [](row& job) { job.waits = false, job.vests_at = instant::min(); }},
            {"granted for ever",
             [](row& job) {
                 const std::string owner(255, 'o');
                 apply(job, [&](columns row) { return rules::grant(row, owner, longest, at(1)); });
             }},
            {"leased until the earliest instant", [](row& job) { lease_until(job, instant::min()); }},
            {"leased until now", [](row& job) { lease_until(job, at(0)); }},
            {"another owner", [](row& job) { job.owner = "B"; }},
            {"lapsed", [](row& job) { job.lapses = highest; }},
            {"failed",
             [](row& job) {
                 const std::string error(4096, 'e');
                 job.attempt = 1;
                 apply(job, [&](columns row) { return rules::fail(row, error, {true, at(-1)}, at(0)); });
             }},
            {"finished", [](row& job) { apply(job, [](columns row) { return rules::finish(row, instant::max()); }); }},
            {"ended by a claim", [](row& job) { job.ended_by = ender::claim; }},
            {"ended at the earliest instant", [](row& job) { job.ended_at = instant::min(); }},
            {"cancelled", [](row& job) { apply(job, [](columns row) { return rules::cancel(row, at(2)); }); }},
            {"quarantined",
             [](row& job) {
                 const std::string reason(4096, 'r');
                 apply(job, [&](columns row) { return rules::quarantine(row, reason, at(2)); });
             }},
            {"requeued with a deadline",
             [](row& job) {
                 apply(job, [](columns row) { return rules::requeue(row, instant::max(), {false, at(3)}); });
             }},
            {"the earliest deadline", [](row& job) { job.deadline = instant::min(); }},
            {"no deadline", [](row& job) { job.deadline.reset(); }},
            {"no error", [](row& job) { job.last_error.clear(); }}};
}

template <class Store>
void add_column_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("what is written to a row comes back column by column, and no other row changes", [](in with,
                                                                                                checker& check) {
        queue_in q{with};
        const std::vector<job_id> ids = q.add_many({{.key = "a", .payload = "p", .priority = 127, .deadline = at(9999)},
                                                    {.key = "b", .payload = "p", .priority = -128},
                                                    {.queue = "c", .key = "a", .payload = "p"}});
        row want = q.row(ids.at(0));
        const record second = q.row(ids.at(1));
        const record third = q.row(ids.at(2));
        for (const row_change& each : row_changes()) {
            check.context(std::string{each.name});
            each.make(want);
            q.write([&](auto& transaction) {
                const change changed{&want};
                transaction.write(std::span{&changed, 1});
                check.equal(all_held(transaction, check, {ids.at(0)}).at(0), want);
            });
            const record seen = q.row(ids.at(0));
            check.equal(static_cast<const row&>(seen), want);
            check.equal(seen.payload, "p");
            check.equal(q.row(ids.at(1)), second);
            check.equal(q.row(ids.at(2)), third);
        }
    });

    to.add("a row comes in as the rules made it, at any instant", [](in with, checker& check) {
        queue_in q{with};
        const job work{.queue = "q", .key = "k", .payload = "p", .priority = -128};
        for (const instant when : {instant::min(), at(-1), at(0), instant::max()}) {
            check.context("at " + to_text(when));
            const rules::columns columns = rules::enqueue(std::numeric_limits<std::int32_t>::max(), when, {true, when});
            job_id id{};
            q.write([&](auto& transaction) {
                const enqueued made = insert_one(transaction, work, columns, when).at(0);
                check.equal(made, enqueued{made.id, intake::accepted, job_state::ready});
                id = made.id;
            });
            const record seen = q.row(id);
            row want;
            want.assign(columns);
            want.id = id;
            want.queue = "q";
            want.key = "k";
            want.priority = -128;
            want.enqueued_at = when;
            check.equal(static_cast<const row&>(seen), want);
            check.equal(seen.payload, "p");
            q.write([&](auto& transaction) { transaction.erase(std::span{&id, 1}); });
        }
    });

    to.add("rows are held by ascending id, and those that are not there are left out", [](in with, checker& check) {
        queue_in q{with};
        const std::vector<job_id> ids = q.add_many(std::vector<job>(12, {.payload = "x"}));
        q.write([&](auto& transaction) {
            const std::vector<job_id> gone{ids.at(3), ids.at(11)};
            transaction.erase(gone);
            std::vector<job_id> asked{{lowest}, {-1}, {0}};
            asked.insert(asked.end(), ids.begin(), ids.end());
            asked.push_back({highest});
            std::vector<std::int64_t> left;
            for (const job_id id : ids) {
                if (id != gone[0] && id != gone[1]) {
                    left.push_back(id.value);
                }
            }
            check.equal(ids_of(transaction.hold(asked)), left);
            check.nothing(transaction.hold({}));
            check.nothing(transaction.hold(gone));
        });
    });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
