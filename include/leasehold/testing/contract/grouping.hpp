// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/testing/contract/bench.hpp>

/// What a store promises whose transactions carry the calls of several threads: `begin(clock, since)`.
namespace leasehold::inline v0_1_0::testing::detail {

template <class Store>
void add_grouping_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("a transaction begun for a call that came earlier is as any other", [](in with, checker& check) {
        queue_in q{with};
        Store store = q.store();
        const auto columns = rules::enqueue(1, {}, {});
        {
            auto transaction = store.begin(q.clock, std::chrono::steady_clock::now());
            insert_one(transaction, {.key = "rolled back"}, columns);
        }
        {
            auto transaction = store.begin(q.clock, std::chrono::steady_clock::now());
            insert_one(transaction, {.key = "committed"}, columns);
            transaction.commit();
        }
        check.nothing(q.queue.find("default", "rolled back"));
        check.equal(q.row("default", "committed").state, job_state::ready);
    });

    if constexpr (Store::reaches != reach::network) {  // there, a transaction waits for rows
        to.add("a call that has waited for the lock as long as it may waits no longer", [](in with, checker& check) {
            queue_in q{with};
            Store store = q.store();
            Store other = q.store();
            auto lock = other.begin(q.clock);
            check.throws<store_busy>([&] { store.begin(q.clock, std::chrono::steady_clock::now() - 24h); });
        });
    }

    to.add("a transaction that knows how many calls it carries gives each of them what it would get alone",
           [](in with, checker& check) {
               queue_in q{with};
               std::vector<std::int64_t> order{0};
               for (const job_id id : q.add_many(std::vector<job>(5, {.payload = "x"}))) {
                   order.push_back(id.value);
               }
               std::vector<std::int64_t> seen;
               q.write([&](auto& transaction) {
                   for (std::size_t calls = order.size(); calls-- > 0;) {
                       if constexpr (requires { transaction.expect(calls); }) {
                           transaction.expect(calls);
                       }
                       std::vector<row> rows = check.exactly(1, transaction.vested("default", 1));
                       seen.push_back(rows[0].id.value);
                       rows[0].assign(rules::grant(row{rows[0]}.columns(), "A", 1000ms, at(0)));
                       const change granted{&rows[0]};
                       transaction.write(std::span{&granted, 1});
                       if (seen.size() == 2) {  // one that goes before all of them
                           const job first{.payload = "x", .priority = 1};
                           order[0] = insert_one(transaction, first, rules::enqueue(1, {}, {})).at(0).id.value;
                       }
                   }
               });
               check.equal(seen, std::vector<std::int64_t>{order[1], order[2], order[0], order[3], order[4], order[5]});
           });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
