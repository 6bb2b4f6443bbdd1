// SPDX-License-Identifier: MIT
/// Calls that run out of memory on the way: nothing half done, nothing lost.
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "support/failing_new.hpp"
#include "support/places.hpp"

namespace {

using namespace places;

TEMPLATE_TEST_CASE("whichever allocation fails, a call does all or nothing", "[fault]", EVERY_STORE) {
    using fixture = queue_in<TestType>;
    using queue_type = typename fixture::queue_type;
    const std::string text(100, 't');  // longer than what a string keeps inside itself
    const std::vector<std::function<void(queue_type&, lease&)>> calls{
        [&](queue_type& q, lease&) { q.enqueue({.key = text, .payload = text}); },
        [&](queue_type& q, lease&) { q.enqueue_many(std::vector<job>(3, {.queue = text, .payload = text})); },
        [&](queue_type& q, lease&) { (void)q.claim(text, 1000ms); },
        [&](queue_type& q, lease&) { (void)q.claim_many(text, 1000ms, 10); },
        [&](queue_type& q, lease& held) { (void)q.finish(held, text); },
        [&](queue_type& q, lease& held) { (void)q.renew(held, 5000ms); },
        [&](queue_type& q, lease& held) { (void)q.fail(held, text); },
        [&](queue_type& q, lease& held) { (void)q.release(held, 1ms); },
        [&](queue_type& q, lease& held) { (void)q.quarantine(held, text); },
        [&](queue_type& q, lease& held) { (void)q.checkpoint(held, text); },
        [&](queue_type& q, lease& held) { (void)q.leave_receipt(held, text); },
        [&](queue_type& q, lease& held) { (void)q.revoke(held.id, held.token); },
        [&](queue_type& q, lease& held) { (void)q.cancel(held.id); },
        [&](queue_type& q, lease&) { (void)q.requeue(job_id{1}, {1}); },
        [&](queue_type& q, lease&) { q.prune({}); },
    };
    for (std::size_t call = 0; call < calls.size(); ++call) {
        int failed = 0;
        for (long allowed = 0;; ++allowed) {
            fixture q;
            q.queue.enqueue({.key = "aside", .payload = text});
            CHECK(q.queue.quarantine(q.taken(), text));
            q.queue.enqueue({.key = "over", .payload = text});
            CHECK(q.queue.finish(q.taken(), text));
            q.queue.enqueue({.key = "held", .payload = text});
            q.queue.enqueue({.key = "ready", .payload = text, .priority = -1});
            lease held = q.taken("a name that is longer than what a string keeps inside itself");
            const auto before = q.queue.list().items;
            const auto counted = q.queue.stats().queues;
            bool threw = false;
            allocations_left = allowed;
            try {
                calls[call](q.queue, held);
            } catch (const std::bad_alloc&) {
                threw = true;
            } catch (const store_error&) {
                threw = true;
            }
            const bool ran_out = allocations_left == -1;
            allocations_left = -1;
            INFO("call " << call << ", allocation " << allowed);
            if (threw) {
                ++failed;
                REQUIRE(q.queue.list().items == before);
                REQUIRE(q.queue.stats().queues == counted);
            }
            if (!ran_out) {
                break;
            }
            // What was left is as whole as before: every open job can still be taken, by its place in line.
            q.clock.set(at(2000));
            const auto open = q.queue.stats().queues.front();
            REQUIRE(q.queue.claim_many("last", 1000ms, 100).size() == open.ready + open.delayed + open.leased);
        }
        CHECK(failed > 0);
    }
}

}  // namespace
