// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <future>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <leasehold/testing/contract/bench.hpp>

/// What stands, what has never been, and who waits for whom.
namespace leasehold::inline v0_1_0::testing::detail {

/// Does all that a transaction can do to three rows: ends the first, erases the others, makes a new one.
template <class Transaction>
void change_all(Transaction& transaction, checker& check, const std::vector<job_id>& ids) {
    std::vector<row> rows = all_held(transaction, check, ids);
    rows.at(0).assign(rules::finish(row{rows.at(0)}.columns(), at(1)));
    const change finished{&rows.at(0), "result", "checkpoint"};
    transaction.write(std::span{&finished, 1});
    transaction.write(std::span{&finished, 1});
    transaction.add_receipt(ids.at(0), {{1}, "A", at(1), "note"});
    transaction.erase(std::span{&ids.at(1), 2});
    const job fresh{.queue = "new", .key = "over", .payload = "w"};
    check.equal(insert_one(transaction, fresh, rules::enqueue(1, {}, {}), at(1)).at(0).answer, intake::accepted);
    check.equal(transaction.hold(ids).size(), 1);
}

/// All that can be seen of a queue.
template <class Store>
std::vector<record> whole(queue_in<Store>& q) {
    return each_of(q.rows(), [&](const record& listed) { return q.row(listed.id); });
}

/// Three rows: one held, one finished, one that waits until 5.
template <class Store>
struct three_rows : queue_in<Store> {
    explicit three_rows(const bench<Store>& with) : queue_in<Store>{with} {
        ids.push_back(this->add({.key = "held", .payload = "x"}));
        ids.push_back(this->add({.key = "over", .payload = "y"}));
        ids.push_back(this->add({.key = "waits", .payload = "z", .delay = 5ms}));
        leases = this->taken_many(2);
        this->check.applied(this->queue.finish(leases[1], "r"));
        before = whole(*this);
    }
    std::vector<job_id> ids{};
    std::vector<lease> leases{};
    std::vector<record> before{};
};

template <class Store>
void add_rollback_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("what is not committed has never been", [](in with, checker& check) {
        three_rows<Store> q{with};
        const auto counted = q.queue.stats().queues;
        Store store = q.store();
        {
            auto transaction = store.begin(q.clock);
            change_all(transaction, check, q.ids);
        }
        check.equal(whole(q), q.before);
        check.equal(q.queue.stats().queues, counted);
        check.equal(q.row(q.ids[1]).result, "r");
        check.equal(q.row("default", "over").id, q.ids[1]);
        check.nothing(q.queue.find("new", "over"));
        q.clock.set(at(5));
        check.equal(q.taken().key, "waits");  // in its place in line again
        check.applied(q.queue.finish(q.leases[0]));
        check.equal(q.queue.prune({}), 2);
    });

    to.add("what is committed is there for whoever opens the store later", [](in with, checker& check) {
        three_rows<Store> q{with};
        q.write([&](auto& transaction) { change_all(transaction, check, q.ids); });
        typename queue_in<Store>::queue_type later{q.place->store(), q.clock};
        const record first = check.some(later.find(q.ids[0]));
        check.equal(first.state, job_state::finished);
        check.equal(first.result + "/" + first.checkpoint, "result/checkpoint");
        check.equal(first.receipts, std::vector<receipt>{{{1}, "A", at(1), "note"}});
        check.nothing(later.find(q.ids[1]));
        check.equal(check.some(later.find("new", "over")).payload, "w");
        check.equal(later.list().items.size(), 2);
        check.equal(check.some(later.claim("B", 1ms, "new")).payload, "w");
        check.equal(later.enqueue({.key = "held", .payload = "x"}).answer, intake::duplicate);
    });

    to.add("a savepoint that is not released takes back what was done since, and nothing else",
           [](in with, checker& check) {
               three_rows<Store> q{with};
               q.write([&](auto& transaction) {
                   transaction.add_receipt(q.ids[0], {{1}, "A", at(0), "before"});
                   {
                       auto part = transaction.savepoint();
                       change_all(transaction, check, q.ids);
                   }
                   check.equal(transaction.hold(q.ids).size(), 3);
                   check.equal(ids_of(transaction.vested("new", 10)), std::vector<std::int64_t>{});
                   check.that(transaction.is_open(), "an open transaction");
                   transaction.add_receipt(q.ids[0], {{1}, "A", at(0), "after"});
               });
               q.before.at(0).receipts = {{{1}, "A", at(0), "before"}, {{1}, "A", at(0), "after"}};
               check.equal(whole(q), q.before);
           });

    to.add("a savepoint that is released stands, and goes with the one around it", [](in with, checker& check) {
        three_rows<Store> q{with};
        q.write([&](auto& transaction) {
            {
                auto outer = transaction.savepoint();
                auto inner = transaction.savepoint();
                change_all(transaction, check, q.ids);
                inner.release();
            }
            check.equal(transaction.hold(q.ids).size(), 3);
        });
        check.equal(whole(q), q.before);
        q.write([&](auto& transaction) {
            auto part = transaction.savepoint();
            change_all(transaction, check, q.ids);
            part.release();
        });
        check.equal(q.rows().size(), 2);
        check.equal(q.row(q.ids[0]).result, "result");
        check.equal(q.row("new", "over").payload, "w");
    });
}

template <class Store>
void add_session_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("several verbs stand together, or none of them", [](in with, checker& check) {
        queue_in q{with};
        q.add({.key = "1", .payload = "x"});
        const lease held = q.taken();
        const auto before = q.rows();
        const auto work = [&](auto& session) {
            check.equal(session.enqueue({.key = "2"}).answer, intake::accepted);
            check.applied(session.finish(held, "r"));
            check.refused(session.finish(held), verdict::finished);
            throw std::runtime_error{"after all"};
        };
        check.throws<std::runtime_error>([&] { q.queue.transact(work); }, {"after all"});
        check.equal(q.rows(), before);

        const enqueued made = q.queue.transact([&](auto& session) {
            check.applied(session.finish(held, "r"));
            return session.enqueue({.key = "2"});
        });
        check.equal(q.row(held.id).state, job_state::finished);
        check.equal(q.row("default", "2").id, made.id);
    });

    to.add("each verb of a session is all or nothing by itself", [](in with, checker& check) {
        queue_in q{with};
        q.add_many({{.key = "1"}, {.key = "2"}, {.key = "3"}});
        const std::vector<lease> held = q.taken_many(3);
        q.queue.transact([&](auto& session) {
            check.equal(session.now(), at(0));
            if constexpr (Store::reaches != reach::network) {  // there, each verb reads it after its own last lock
                q.clock.set(at(5000));
                check.equal(session.now(), at(0));
            }
            check.throws<std::invalid_argument>([&] { return session.enqueue({.deadline = at(0)}); });
            check.throws<std::invalid_argument>([&] { return session.fail(held[0], "e", -1ms); });
            check.applied(session.checkpoint(held[0], "half"));
            check.applied(session.leave_receipt(held[0], "note"));
            check.applied(session.fail(held[0], "e"));
            check.applied(session.release(held[1]));
            check.applied(session.quarantine(held[2], "odd"));
        });
        check.equal(q.rows().size(), 3);
        check.equal(q.row(held[0].id).failures, 1);
        check.equal(q.row(held[0].id).receipts.size(), 1);
        check.equal(q.row(held[2].id).state, job_state::quarantined);
    });
}

template <class Store>
void add_meeting_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("of those who write the same row at once, one waits for the other's commit, and sees it",
           [](in with, checker& check) {
               queue_in q{with};
               const job_id id = q.add({.payload = "x"});
               Store store = q.store();
               std::future<std::int32_t> second;
               {
                   auto first = store.begin(q.clock);
                   std::vector<row> rows = all_held(first, check, {id});
                   second = std::async(std::launch::async, [&] {
                       Store opened = q.store();
                       auto transaction = opened.begin(q.clock);
                       const std::vector<row> seen = transaction.hold(std::span{&id, 1});
                       return seen.empty() ? -1 : seen.front().attempt;
                   });
                   check.that(second.wait_for(moment) == std::future_status::timeout, "the second waits");
                   rows.at(0).attempt = 3;
                   const change changed{&rows.at(0)};
                   first.write(std::span{&changed, 1});
                   first.commit();
               }
               check.equal(second.get(), 3);
           });

    to.add("threads that claim at once never get the same round, and leave no job behind", [](in with, checker& check) {
        constexpr std::size_t threads = 4;
        queue_in q{with};
        q.add_many(std::vector<job>(40, {.payload = "x"}));
        std::vector<std::future<std::vector<job_id>>> working;
        for (std::size_t i = 0; i < threads; ++i) {
            working.push_back(std::async(std::launch::async, [&q, i] {
                std::vector<job_id> done;
                const std::string owner = "W" + std::to_string(i);
                for (int round = 0; round < 100; ++round) {
                    if (const auto held = q.queue.claim(owner, 1h); held && q.queue.finish(*held)) {
                        done.push_back(held->id);
                    }
                }
                return done;
            }));
        }
        std::vector<job_id> all;
        for (auto& each : working) {
            const std::vector<job_id> done = each.get();
            all.insert(all.end(), done.begin(), done.end());
        }
        check.equal(all.size(), 40);
        std::sort(all.begin(), all.end());
        check.that(std::adjacent_find(all.begin(), all.end()) == all.end(), "each job finished once");
        check.equal(q.queue.stats().queues.at(0).finished, 40);
    });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
