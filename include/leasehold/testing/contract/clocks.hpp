// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/testing/contract/bench.hpp>

/// What a store does with the clock: whose it is, when it is read, and what a step of it means.
namespace leasehold::inline v0_1_0::testing::detail {

/// A clock on another axis, wherever the store reaches.
struct other_axis_clock {
    static constexpr clock_axis axis = clock_axis::wall;
    static constexpr reach holds = reach::network;
    manual_clock time{};
    instant now() const noexcept { return time.now(); }
    pace_point pace() const noexcept { return time.pace(); }
};

template <class Store>
void add_clock_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("a clock that steps back an hour holds up nothing that asked for no delay", [](in with, checker& check) {
        queue_in q{with};
        q.clock.set(at(0) + 2h);
        q.add({.payload = "enqueued before"});
        q.add({.payload = "released before"});
        const job_id leased = q.add({.payload = "leased"});
        const job_id delayed = q.add({.payload = "delayed", .delay = 10s});
        const std::vector<lease> held = check.exactly(3, q.queue.claim_many("A", 30s, 3));
        q.clock.advance(1ms);
        check.applied(q.queue.release(held[0]));
        check.applied(q.queue.release(held[1]));

        q.clock.advance(-1h);
        const job_id late = q.add({.payload = "enqueued after"});
        check.equal(q.row(late).vests_at, at(1) + 2h);  // behind those that stood in line
        check.equal(q.taken("B").payload, "enqueued before");
        check.equal(q.taken("B").payload, "released before");
        check.equal(q.taken("B").payload, "enqueued after");
        check.nothing(q.queue.claim("B", 1s));

        // Delays and leases keep their instants; revoke is the way out of a lease.
        check.equal(q.row(delayed).vests_at, at(0) + 2h + 10s);
        check.equal(q.row(leased).lease_until, at(0) + 2h + 30s);
        check.applied(q.queue.revoke(leased, {1}));
        check.equal(q.row(leased).vests_at, at(1) + 1h);  // the line is empty: now
        check.equal(q.taken("B").payload, "leased");
        q.clock.set(at(0) + 2h + 10s);
        check.equal(q.taken("B").token, claim_token{3});  // the first that lapsed on the way
    });

    to.add("a store keeps to the axis of the clock that it was made with", [](in with, checker& check) {
        using other_queue = basic_lease_queue<other_axis_clock, Store>;
        queue_in q{with};
        q.add({.payload = "x"});
        const auto open = [&] { other_queue{q.place->store()}; };
        check.throws<store_unsupported>(open, {"manual clock", "wall clock"});
        for (const clock_axis axis : {clock_axis::wall, clock_axis::boot, clock_axis::server, clock_axis::process}) {
            Store again = q.place->store();
            check.throws<store_unsupported>([&] { again.attach(axis); }, {"manual clock", to_text(axis)});
        }
        check.equal(q.taken().payload, "x");
        typename queue_in<Store>::queue_type{q.place->store(), q.clock}.enqueue({.payload = "y"});
        check.equal(q.taken().payload, "y");
    });

    to.add("a clock at an end of the range is refused by name, and nothing is written", [](in with, checker& check) {
        for (const instant end : {instant::min(), instant::max()}) {
            check.context("at " + to_text(end));
            queue_in q{with};
            q.add({.payload = "x"});
            q.clock.set(end);
            check.throws<store_unsupported>([&] { return q.queue.enqueue({.payload = "y"}); });
            check.throws<store_unsupported>([&] { return q.queue.claim("A", 1ms); }, {to_text(end)});
            check.throws<store_unsupported>([&] { return q.queue.now(); });
            q.clock.set(at(0));
            check.equal(q.rows().size(), 1);
            check.equal(q.taken().payload, "x");
        }
    });
}

/// Calls the verbs one after the other, each as `once(name, call)`.
template <class Queue, class Once>
void call_every_verb(Queue& queue, lease& held, const Once& once) {
    const auto claim = [&] {
        once("claim", [&] {
            if (auto taken = queue.claim("A", 1h)) {
                held = std::move(*taken);
            }
        });
    };
    once("enqueue", [&] { return queue.enqueue({.payload = "x", .max_attempts = 100}); });
    once("enqueue_many", [&] { return queue.enqueue_many(std::vector<job>(5, {.payload = "x"})); });
    claim();
    once("renew", [&] { return queue.renew(held, 2h); });
    once("refresh", [&] { return queue.refresh(held); });
    once("checkpoint", [&] { return queue.checkpoint(held, "c"); });
    once("leave_receipt", [&] { return queue.leave_receipt(held, "n"); });
    once("fail", [&] { return queue.fail(held, "e"); });
    claim();
    once("release", [&] { return queue.release(held); });
    claim();
    once("revoke", [&] { return queue.revoke(held.id, held.token); });
    claim();
    once("quarantine", [&] { return queue.quarantine(held, "q"); });
    once("requeue", [&] { return queue.requeue(held.id, held.token); });
    once("cancel", [&] { return queue.cancel(held.id); });
    claim();
    once("finish_and_claim", [&] {
        if (auto next = queue.finish_and_claim(held, "", {.owner = "A", .lease_for = 1h}).next) {
            held = std::move(*next);
        }
    });
    once("finish", [&] { return queue.finish(held, "r"); });
    once("finish, refused", [&] { return queue.finish(held, "r"); });
    std::vector<lease> many;
    once("claim_many", [&] { many = queue.claim_many("A", 1h, 2); });
    once("renew_many", [&] { return queue.renew_many(std::array{&many.at(0), &many.at(1)}, 2h); });
    once("release_many", [&] { return queue.release_many(std::array<marker, 1>{many.at(0)}); });
    once("finish_many", [&] { return queue.finish_many(many); });
    once("prune", [&] { return queue.prune({}); });
}

template <class Store>
void add_lock_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    if constexpr (Store::reaches != reach::network) {  // there, one reading after each lock that a call waits for
        to.add("the clock is read once for every verb that writes, and only while the write lock is held",
               [](in with, checker& check) {
                   queue_in q{with};
                   q.clock.watch([&] { return q.place->is_free(); });
                   lease held;
                   call_every_verb(q.queue, held, [&](const char* verb, const auto& call) {
                       check.context(verb);
                       const int before = q.clock.readings();
                       (void)call();
                       check.equal(q.clock.readings() - before, 1);
                       check.equal(q.clock.too_early(), 0);
                   });
               });
    }

    to.add("the clock is read after the lock is held: a lease is measured from there", [](in with, checker& check) {
        queue_in q{with};
        q.add({.payload = "x"});
        q.add({.payload = "y"});
        const lease first = q.taken("A", 1000ms);

        Store other = q.store();
        std::future<std::optional<lease>> late;
        std::future<settlement> finish;
        {
            auto lock = other.begin(q.clock);
            all_held(lock, check, {first.id});
            (void)lock.now();
            const int before = q.clock.readings();
            if constexpr (Store::reaches != reach::network) {  // there, a claim passes over what another holds
                late = std::async(std::launch::async, [&] { return q.queue.claim("B", 500ms); });
            }
            finish = std::async(std::launch::async, [&] { return q.queue.finish(first); });
            finish.wait_for(moment);
            check.equal(q.clock.readings(), before);
            q.clock.set(at(5000));
        }
        if (late.valid()) {
            const lease taken = check.some(late.get());
            check.equal(taken.granted, at(5000));
            check.equal(taken.lease_until, at(5500));
        }
        const settlement answer = finish.get();
        check.equal(answer.at, at(5000));
        check.that(answer.why == verdict::expired || answer.why == verdict::superseded, "expired, or superseded");
    });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
