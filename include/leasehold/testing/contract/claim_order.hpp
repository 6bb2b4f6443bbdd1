// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <leasehold/testing/contract/bench.hpp>

/// Who comes first, and from when on.
namespace leasehold::inline v0_1_0::testing::detail {

template <class Store>
void add_order_cases(case_list<Store> to) {
    using in = const bench<Store>&;
    using texts = std::vector<std::string>;

    to.add("higher priority first, then the earlier instant, then the lower id", [](in with, checker& check) {
        queue_in q{with};
        q.clock.set(at(10));
        const auto add = [&](const char* payload, std::int32_t priority, millis delay = {}) {
            q.add({.payload = payload, .priority = priority, .delay = delay});
        };
        add("low", -128);
        add("b1", 0);
        add("late", 0, 5ms);
        add("b2", 0);
        add("top", 127);
        add("early", 0, 3ms);
        q.clock.set(at(14));
        add("b3", 0);
        check.equal(q.drained(), texts{"top", "b1", "b2", "early", "b3", "low"});
        q.clock.set(at(15));
        check.equal(q.drained(), texts{"late"});
    });

    to.add("order holds over digit rollovers of ids and times", [](in with, checker& check) {
        queue_in q{with};
        texts in_order;
        for (const std::int64_t now :
             {std::int64_t{9}, std::int64_t{10}, std::int64_t{99}, std::int64_t{100}, std::int64_t{999},
              std::int64_t{1000}, std::int64_t{1000}, std::int64_t{1000}, std::int64_t{1000}, std::int64_t{1000},
              std::int64_t{1000}, std::int64_t{1000},  // twelve jobs: ids 9, 10 and 11 are all at 1000
              std::int64_t{999'999'999'999}, std::int64_t{1'000'000'000'000}, std::int64_t{9'999'999'999'999},
              std::int64_t{10'000'000'000'000}}) {
            q.clock.set(at(now));
            in_order.push_back("job " + std::to_string(in_order.size() + 1));
            q.add({.payload = in_order.back()});
        }
        check.equal(q.drained(), in_order);

        queue_in negative{with};
        in_order.clear();
        for (const std::int64_t now : {-1000, -999, -10, -9, -1, 0, 1}) {
            negative.clock.set(at(now));
            in_order.push_back(std::to_string(now));
            negative.add({.payload = in_order.back()});
        }
        check.equal(negative.drained(), in_order);
    });

    to.add("a job that comes back goes behind those that waited, at the instant it came back",
           [](in with, checker& check) {
               queue_in q{with};
               q.add({.payload = "1"});
               q.clock.set(at(1));
               q.add({.payload = "2"});
               const lease first = q.taken();
               q.clock.set(at(2));
               check.applied(q.queue.release(first));
               q.clock.set(at(3));
               q.add({.payload = "3"});
               check.equal(q.drained(), texts{"2", "1", "3"});
           });

    to.add("a batch takes in claim order, up to its limit", [](in with, checker& check) {
        queue_in q{with};
        for (int i = 0; i < 7; ++i) {
            q.add({.payload = std::to_string(i), .priority = i % 2});
        }
        q.add({.payload = "later", .delay = 1ms});
        check.equal(each_of(q.queue.claim_many("A", 1000ms, 5), [](const lease& held) { return held.payload; }),
                    texts{"1", "3", "5", "0", "2"});
        check.equal(q.queue.claim_many("A", 1000ms, 1000).size(), 2);
        check.nothing(q.queue.claim_many("A", 1000ms, 1000));
    });

    to.add("a delayed job is there from its instant on, and not before", [](in with, checker& check) {
        queue_in q{with};
        q.clock.set(at(100));
        q.add({.payload = "x", .delay = 50ms});
        q.add({.payload = "y", .not_before = at(151)});
        q.clock.set(at(149));
        check.nothing(q.queue.claim("A", 1ms));
        q.clock.set(at(150));
        check.equal(q.taken().payload, "x");
        check.nothing(q.queue.claim("A", 1ms));
        q.clock.set(at(151));
        check.equal(q.taken().payload, "y");
    });

    to.add("a retry that would come after the deadline vests at the deadline, and is set aside",
           [](in with, checker& check) {
               queue_in q{with};
               const job_id id = q.add({.payload = "x", .deadline = at(100)});
               check.applied(q.queue.fail(q.taken("A", 10ms), "e", std::chrono::hours::max()));
               check.equal(q.row(id).vests_at, at(100));
               q.clock.set(at(100));
               check.nothing(q.queue.claim("A", 10ms));
               check.equal(q.row(id).reason, "deadline_passed");
           });

    to.add("times near both ends of the range neither wrap nor stop the queue", [](in with, checker& check) {
        constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
        constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
        constexpr auto forever = std::chrono::hours::max();
        for (const std::int64_t now : {lowest + 1, lowest + 2, highest - 2, highest - 1}) {
            check.context("at " + std::to_string(now));
            queue_in q{with};
            q.clock.set(at(now));
            q.add({.payload = "plain"});
            q.add({.payload = "delayed", .delay = forever});
            q.add({.payload = "with deadline", .expires_in = forever});
            lease held = q.taken("A", forever);
            check.equal(held.payload, "plain");
            check.equal(held.lease_until, saturating_add(at(now), longest));
            check.applied(q.queue.renew(held, 1ms));
            check.equal(held.lease_until, saturating_add(at(now), longest));
            check.applied(q.queue.fail(held, "e", forever));
            check.equal(q.taken().payload, "with deadline");
            check.nothing(q.queue.claim("B", 1ms));
            check.equal(q.queue.prune({.older_than = forever}), 0);
        }
    });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
