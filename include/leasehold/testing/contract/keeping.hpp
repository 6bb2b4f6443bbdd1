// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/testing/contract/bench.hpp>

/// Rows that come, end and go: ids and keys, what ended when, and what is erased.
namespace leasehold::inline v0_1_0::testing::detail {

template <class Store>
void add_insert_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("rows of one call get ascending ids, in the order given", [](in with, checker& check) {
        queue_in q{with};
        const std::vector<job_id> ids = q.add_many(std::vector<job>(50, {.payload = "x"}));
        check.that(std::is_sorted(ids.begin(), ids.end()), "ascending ids");
        check.that(std::adjacent_find(ids.begin(), ids.end()) == ids.end(), "ids that differ");
        check.that(ids.at(0).value >= 1, "an id of 1 or more");
        check.that(q.add({}) > ids.back(), "a later id above them");
    });

    to.add("an id is not used again after the row is erased, the store opened anew included",
           [](in with, checker& check) {
               queue_in q{with};
               job_id last{};
               for (int i = 0; i < 5; ++i) {
                   q.write([&](auto& transaction) {
                       const auto columns = rules::enqueue(1, {}, {});
                       const job_id made = insert_one(transaction, {.key = "k"}, columns).at(0).id;
                       check.that(made > last, "an id above all those before");
                       last = made;
                       transaction.erase(std::span{&made, 1});
                       check.nothing(transaction.hold(std::span{&made, 1}));
                   });
               }
               check.nothing(q.rows());
           });

    to.add("a key is unique in its queue, as long as the row exists", [](in with, checker& check) {
        queue_in q{with};
        const auto columns = rules::enqueue(1, {}, {});
        const job here{.queue = "a", .key = "k", .payload = std::string{"p\0q", 3}};
        const job other_bytes{.queue = "a", .key = "k", .payload = std::string{"p\0r", 3}};
        const job other_queue{.queue = "b", .key = "k", .payload = "p"};
        q.write([&](auto& transaction) {
            const job_id id = insert_one(transaction, here, columns).at(0).id;
            check.equal(insert_one(transaction, here, columns).at(0),
                        enqueued{id, intake::duplicate, job_state::ready});
            check.equal(insert_one(transaction, other_bytes, columns).at(0),
                        enqueued{id, intake::conflict, job_state::ready});
            check.equal(insert_one(transaction, other_queue, columns).at(0).answer, intake::accepted);
            std::vector<row> rows = all_held(transaction, check, {id});
            rows.at(0).assign(rules::cancel(row{rows.at(0)}.columns(), at(0)));
            const change ended{&rows.at(0)};
            transaction.write(std::span{&ended, 1});
            check.equal(insert_one(transaction, here, columns).at(0),
                        enqueued{id, intake::duplicate, job_state::cancelled});
            transaction.erase(std::span{&id, 1});
            check.equal(insert_one(transaction, other_bytes, columns).at(0).answer, intake::accepted);
        });
        check.equal(q.row("a", "k").payload, other_bytes.payload);
        check.equal(q.row("b", "k").payload, "p");
    });

    to.add("keys are compared byte by byte", [](in with, checker& check) {
        queue_in q{with};
        std::vector<job> jobs;
        for (const std::string& key : {std::string{"k"}, std::string{"K"}, std::string{"k "}, std::string{" k"},
                                       std::string{"\xC3\xA9"}, std::string{"e\xCC\x81"}, std::string(255, 'k')}) {
            jobs.push_back({.key = key, .payload = key});
        }
        for (const enqueued& made : q.queue.enqueue_many(jobs)) {
            check.equal(made.answer, intake::accepted);
        }
        for (const job& each : jobs) {
            check.equal(q.row("default", each.key).payload, each.key);
        }
    });
}

/// Rows that ended at these instants, in this order, as these.
template <class Store>
std::vector<job_id> ended_at(queue_in<Store>& q, const std::vector<std::pair<std::int64_t, job_state>>& ends) {
    const std::vector<job_id> ids = q.add_many(std::vector<job>(ends.size(), {.payload = "x"}));
    q.write([&](auto& transaction) {
        std::vector<row> rows = all_held(transaction, q.check, ids);
        std::vector<change> changes;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i].assign(rules::end(row{rows[i]}.columns(), ends[i].second, ender::holder, at(ends[i].first)));
            changes.push_back({&rows[i]});
        }
        transaction.write(changes);
    });
    return ids;
}

template <class Store>
void add_ending_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("ended rows come oldest first, up to an instant and a limit, those set aside only when asked",
           [](in with, checker& check) {
               queue_in q{with};
               const std::vector<job_id> ids = ended_at(q, {{300, job_state::finished},
                                                            {100, job_state::quarantined},
                                                            {200, job_state::cancelled},
                                                            {200, job_state::finished},
                                                            {100, job_state::cancelled},
                                                            {-100, job_state::finished}});
               q.add({});
               q.add({});
               q.taken();
               const auto ended = [&](std::int64_t before, std::size_t limit, bool quarantined) {
                   Store opened = q.store();
                   auto transaction = opened.begin(q.clock);
                   return each_of(transaction.ended(at(before), limit, quarantined),
                                  [](const row& job) { return job.id; });
               };
               using several = std::vector<job_id>;
               check.equal(ended(1000, 10, true),
                           several{ids.at(5), ids.at(1), ids.at(4), ids.at(2), ids.at(3), ids.at(0)});
               check.equal(ended(1000, 10, false), several{ids.at(5), ids.at(4), ids.at(2), ids.at(3), ids.at(0)});
               check.equal(ended(200, 10, false), several{ids.at(5), ids.at(4), ids.at(2), ids.at(3)});
               check.equal(ended(199, 10, false), several{ids.at(5), ids.at(4)});
               check.equal(ended(1000, 3, true), several{ids.at(5), ids.at(1), ids.at(4)});
               check.equal(ended(1000, 2, false), several{ids.at(5), ids.at(4)});
               check.nothing(ended(-101, 10, true));
           });

    to.add("an erased row is gone with its key and its bytes, and no other one", [](in with, checker& check) {
        queue_in q{with};
        const std::vector<job_id> ids = q.add_many({{.key = "a", .payload = "1"},
                                                    {.key = "b", .payload = "2"},
                                                    {.payload = "3"},
                                                    {.queue = "other", .key = "a", .payload = "4"}});
        for (const lease& held : q.taken_many(3)) {
            check.applied(q.queue.checkpoint(held, "half"));
            check.applied(q.queue.leave_receipt(held, "note"));
        }
        const record left = q.row(ids.at(1));
        const record other = q.row(ids.at(3));
        q.write([&](auto& transaction) {
            const std::vector<job_id> gone{ids.at(0), ids.at(2)};
            transaction.erase(gone);
            check.equal(transaction.hold(ids).size(), 2);
        });
        check.nothing(q.queue.find(ids.at(0)));
        check.nothing(q.queue.find("default", "a"));
        check.equal(q.rows().size(), 2);
        check.equal(q.row(ids.at(1)), left);
        check.equal(q.row(ids.at(3)), other);
        const record again = q.row(q.add({.key = "a", .payload = "new"}));
        check.equal(again.payload, "new");
        check.nothing(again.checkpoint);
        check.nothing(again.receipts);
        q.clock.set(at(1000));
        check.equal(q.drained(), std::vector<std::string>{"new", "2"});
    });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
