// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <future>

#include <leasehold/testing/contract/bench.hpp>

/// What a store that can be waited at promises: `changes`, `await` and `wake`.
namespace leasehold::inline v0_1_0::testing::detail {

/// Waits on a thread of its own for a change since now.
template <class Store>
std::future<void> awaiting(const Store& store) {
    return std::async(std::launch::async, [&store, seen = store.changes()] { store.await(seen, patience); });
}

/// Whether the wait ends well before its own time is over.
inline bool has_woken(const std::future<void>& waiting) {
    return waiting.wait_for(patience / 2) == std::future_status::ready;
}

template <class Store>
void add_waiting_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("every commit that makes a job ready changes what is waited for, for whoever has the store open",
           [](in with, checker& check) {
               queue_in q{with};
               const Store watched = q.store();
               const auto changes = [&](const char* verb, const auto& call) {
                   check.context(verb);
                   const std::uint32_t before = watched.changes();
                   (void)call();
                   check.that(watched.changes() != before, "another number");
               };
               changes("enqueue", [&] { return q.queue.enqueue({.payload = "x", .max_attempts = 100}); });
               lease held = q.taken();
               changes("release", [&] { return q.queue.release(held); });
               held = q.taken();
               changes("fail", [&] { return q.queue.fail(held, "e", 5ms); });
               q.clock.set(at(5));
               held = q.taken();
               changes("revoke", [&] { return q.queue.revoke(held.id, held.token); });
               held = q.taken();
               check.applied(q.queue.quarantine(held, "odd"));
               changes("requeue", [&] { return q.queue.requeue(held.id, held.token); });
               changes("wake", [&] { watched.wake(); });
           });

    to.add("who waits is woken by a commit, and by whoever asks for it", [](in with, checker& check) {
        queue_in q{with};
        const Store watched = q.store();
        const Store other = q.store();
        std::future<void> waiting = awaiting(watched);
        q.add({.payload = "x"});
        check.that(has_woken(waiting), "woken by a commit");
        waiting = awaiting(watched);
        other.wake();
        check.that(has_woken(waiting), "woken by another's wake");
    });

    to.add("a wait ends at once where something has changed before it, and in its time where nothing does",
           [](in with, checker& check) {
               queue_in q{with};
               const Store watched = q.store();
               const std::uint32_t before = watched.changes();
               q.add({.payload = "x"});
               check.that(has_woken(std::async(std::launch::async, [&] { watched.await(before, patience); })),
                          "no wait for what has happened");
               check.that(has_woken(std::async(std::launch::async, [&] { watched.await(watched.changes(), 1ms); })),
                          "no wait for ever");
           });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
