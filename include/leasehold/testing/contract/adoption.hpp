// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/testing/contract/bench.hpp>

/// What a store promises that can run the verbs on a caller's own connection: `adopt` and `begin_on`.
namespace leasehold::inline v0_1_0::testing::detail {

template <class Place>
concept place_with_caller = store_place<Place> && requires(Place& place) {
    place.caller().begin();
    place.caller().commit();
    place.caller().roll_back();
    place.caller().connection();
};

/// Whether the store can adopt what a caller at the place has.
template <class Place>
concept place_of_adoption = place_with_caller<Place> &&
    adoptable_by<std::remove_reference_t<decltype(std::declval<Place&>().caller().connection())>, store_in<Place>,
                 watched_clock>;

template <class Place, class Store>
auto caller_at(queue_in<Store>& q) {
    return static_cast<known_place<Place>&>(*q.place).place().caller();
}

template <place_of_adoption Place>
void add_joining_cases(case_list<store_in<Place>> to) {
    using in = const bench<store_in<Place>>&;

    to.add("joined verbs stand when the caller commits, and else have never been", [](in with, checker& check) {
        queue_in q{with};
        q.add({.key = "there", .payload = "x"});
        const lease held = q.taken();
        const auto before = q.rows();
        auto caller = caller_at<Place>(q);
        caller.begin();
        {
            auto session = q.queue.join(caller.connection());
            check.equal(session.enqueue({.key = "new"}).answer, intake::accepted);
            check.applied(session.finish(held, "r"));
        }
        caller.roll_back();
        check.equal(q.rows(), before);
        caller.begin();
        {
            auto session = q.queue.join(caller.connection());
            check.equal(session.enqueue({.key = "new"}).answer, intake::accepted);
            check.applied(session.finish(held, "r"));
        }
        caller.commit();
        check.equal(q.row(held.id).result, "r");
        check.equal(q.row("default", "new").state, job_state::ready);
    });

    to.add("a joined verb is all or nothing by itself, and reads the clock anew", [](in with, checker& check) {
        queue_in q{with};
        q.add({.key = "k"});
        const lease held = q.taken();
        auto caller = caller_at<Place>(q);
        caller.begin();
        {
            auto session = q.queue.join(caller.connection());
            check.equal(session.now(), at(0));
            q.clock.set(at(1000));
            check.equal(session.now(), at(1000));
            check.refused(session.finish(held), verdict::expired);
            check.throws<std::invalid_argument>([&] { return session.enqueue({.deadline = at(1000)}); });
            check.equal(session.enqueue({.key = "stays"}).answer, intake::accepted);
        }
        caller.commit();
        check.equal(q.row("default", "stays").enqueued_at, at(1000));
        check.equal(q.rows().size(), 2);
    });

    to.add("only an open transaction on the same store can be joined, and only as long as it is open",
           [](in with, checker& check) {
               queue_in q{with};
               queue_in elsewhere{with};
               auto caller = caller_at<Place>(q);
               check.throws<std::logic_error>([&] { q.queue.join(caller.connection()); });
               auto stranger = caller_at<Place>(elsewhere);
               stranger.begin();
               check.throws<std::logic_error>([&] { q.queue.join(stranger.connection()); });
               stranger.roll_back();

               caller.begin();
               {
                   auto session = q.queue.join(caller.connection());
                   check.throws<std::logic_error>([&] { return q.queue.claim("A", 1h); });
                   caller.commit();
                   check.throws<store_error>([&] { return session.enqueue({.key = "k"}); });
               }
               check.nothing(q.rows());
               caller.begin();  // nothing of the session is left on the connection
               caller.commit();
           });
}

template <place_of_adoption Place>
void add_lending_cases(case_list<store_in<Place>> to) {
    using in = const bench<store_in<Place>>&;

    to.add("transact on a caller's connection commits what the work did, and takes back what it threw over",
           [](in with, checker& check) {
               queue_in q{with};
               auto caller = caller_at<Place>(q);
               auto& connection = caller.connection();
               const enqueued made =
                   q.queue.transact(connection, [&](auto& session) { return session.enqueue({.key = "1"}); });
               check.equal(q.row("default", "1").id, made.id);
               const auto failing = [&](auto& session) {
                   session.enqueue({.key = "2"});
                   throw std::runtime_error{"after all"};
               };
               check.throws<std::runtime_error>([&] { q.queue.transact(connection, failing); }, {"after all"});
               check.nothing(q.queue.find("default", "2"));
               caller.begin();
               check.throws<std::logic_error>([&] { q.queue.transact(connection, [](auto&) {}); });
               caller.roll_back();
               queue_in elsewhere{with};
               auto stranger = caller_at<Place>(elsewhere);
               check.throws<std::logic_error>([&] { q.queue.transact(stranger.connection(), [](auto&) {}); });
           });

    if constexpr (waitable_store<store_in<Place>>) {
        to.add("a commit on a lent connection wakes who waits; one that was joined does when it is published",
               [](in with, checker& check) {
                   queue_in q{with};
                   const auto watched = q.store();
                   auto caller = caller_at<Place>(q);
                   std::uint32_t before = watched.changes();
                   q.queue.transact(caller.connection(), [](auto& session) { session.enqueue({.key = "1"}); });
                   check.that(watched.changes() != before, "another number after the commit");
                   caller.begin();
                   std::vector<event> events;
                   {
                       auto session = q.queue.join(caller.connection());
                       session.enqueue({.key = "2"});
                       events = session.events();
                   }
                   caller.commit();
                   before = watched.changes();
                   q.queue.publish(events);
                   check.that(watched.changes() != before, "another number after publish");
               });
    }
}

}  // namespace leasehold::inline v0_1_0::testing::detail
