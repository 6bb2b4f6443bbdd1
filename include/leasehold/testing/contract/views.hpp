// SPDX-License-Identifier: MIT
#pragma once

#include <future>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/testing/contract/bench.hpp>

/// What a snapshot shows, and whose store it is.
namespace leasehold::inline v0_1_0::testing::detail {

template <class Store>
void add_view_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("a view never shows what is not committed", [](in with, checker& check) {
        queue_in q{with};
        const job_id id = q.add({.key = "there", .payload = "x"});
        Store store = q.store();
        std::future<std::vector<record>> seen;
        std::future<std::optional<record>> fresh;
        {
            auto transaction = store.begin(q.clock);
            insert_one(transaction, {.key = "new"}, rules::enqueue(1, {}, {}));
            std::vector<row> rows = all_held(transaction, check, {id});
            rows.at(0).attempt = 3;
            const change changed{&rows.at(0)};
            transaction.write(std::span{&changed, 1});
            // It may wait, or show what was before: on threads of their own, so that both can be.
            seen = std::async(std::launch::async, [&] { return q.rows(); });
            fresh = std::async(std::launch::async, [&] { return q.queue.find("default", "new"); });
            seen.wait_for(moment);
            fresh.wait_for(moment);
        }
        const std::vector<record> rows = check.exactly(1, seen.get());
        check.equal(rows[0].key, "there");
        check.equal(rows[0].attempt, 0);
        check.nothing(fresh.get());
    });

    to.add("a view is one moment: what is committed while it lives, it does not show", [](in with, checker& check) {
        queue_in q{with};
        const job_id id = q.add({.payload = "x"});
        const Store store = q.store();
        std::future<void> writing;
        {
            auto view = store.view();
            const record before = check.some(view.find(id));
            const auto counted = view.counts().queues;
            writing = std::async(std::launch::async, [&] {
                q.queue.enqueue({.key = "new"});
                (void)q.queue.cancel(id);
            });
            writing.wait_for(moment);
            check.equal(check.some(view.find(id)), before);
            check.nothing(view.find("default", "new"));
            check.equal(view.list({}).items.size(), 1);
            check.equal(view.counts().queues, counted);
        }
        writing.get();
        check.equal(q.rows().size(), 2);
        check.equal(q.row(id).state, job_state::cancelled);
    });

    to.add("a view knows when the next job of a queue may be taken", [](in with, checker& check) {
        queue_in q{with};
        const auto next = [&](std::string_view queue) { return q.store().view().next_vesting(queue); };
        check.nothing(next("default"));
        q.add({.delay = 100ms});
        check.equal(next("default"), at(100));
        q.add({.priority = -1, .delay = 50ms});
        check.equal(next("default"), at(50));
        q.add({.queue = "other", .delay = 1ms});
        check.equal(next("default"), at(50));
        q.add({.priority = -2});
        check.that(!rules::must_wait(next("default").value_or(at(1)), q.clock.manual_clock::now()), "no wait");
        const lease held = q.taken("A", 30ms);
        check.equal(next("default"), at(30));
        check.applied(q.queue.finish(held));
        check.equal(next("default"), at(50));
        q.clock.set(at(60));
        check.equal(next("default"), at(50));
        check.nothing(next("none"));
    });

    to.add("what a view shows of a job says which store it is of", [](in with, checker& check) {
        queue_in q{with};
        const job_id id = q.add({.key = "k"});
        store_id store{};
        q.write([&](auto& transaction) { store = transaction.identity(); });
        check.equal(q.row(id).store, store);
        check.equal(q.row("default", "k").store, store);
        check.equal(q.rows().at(0).store, store);
        check.that(store != store_id{}, "an id that is not all zeros");
    });
}

template <class Store>
void add_identity_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("a marker of another store, or of the one before a backup was restored, is foreign",
           [](in with, checker& check) {
               queue_in here{with};
               queue_in there{with};
               here.add({.payload = "x"});
               there.add({.payload = "x"});
               const lease held = here.taken();
               lease other = there.taken();
               check.that(held.store != other.store, "an id of its own for each store");
               other.id = held.id;
               check.equal(held.token, other.token);
               check.refused(here.queue.finish(other), verdict::foreign);

               const store_id fresh = here.queue.new_store_id();
               check.that(fresh != held.store, "another id");
               check.refused(here.queue.finish(held), verdict::foreign);
               check.equal(here.row(held.id).store, fresh);
               here.clock.set(at(1000));
               const lease again = here.taken();
               check.equal(again.store, fresh);
               check.applied(here.queue.finish(again));
           });

    to.add("whoever has the store open knows its new identity at once", [](in with, checker& check) {
        queue_in q{with};
        q.add({.payload = "x"});
        Store other = q.store();
        const auto seen = [&] {
            auto transaction = other.begin(q.clock);
            return store_id{transaction.identity()};
        };
        const store_id before = q.rows().at(0).store;
        check.equal(seen(), before);
        const store_id fresh = q.queue.new_store_id();
        check.equal(seen(), fresh);
        const store_id last = other.renew_identity();
        check.that(last != fresh && last != before, "another id each time");
        check.equal(q.taken().store, last);
        check.equal(q.store().view().list({}).items.at(0).store, last);
    });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
