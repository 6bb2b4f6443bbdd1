// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/testing/contract/bench.hpp>
#include <leasehold/text.hpp>

/// Settling many at once, answers that were lost, one commit that does two things, and late evidence.
namespace leasehold::inline v0_1_0::testing::detail {

template <class Store>
void add_batch_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("a batch is judged in its order, and answers in it", [](in with, checker& check) {
        queue_in q{with};
        for (int i = 0; i < 4; ++i) {
            q.add({.payload = std::to_string(i)});
        }
        const std::vector<lease> held = q.taken_many(3);
        marker unknown = held[0];
        unknown.id = job_id{std::numeric_limits<std::int64_t>::max()};
        marker alien = held[1];
        alien.store = {};

        const std::vector<marker> rounds{held[2], unknown, held[0], alien, held[2]};
        const std::vector<settlement> answers = q.queue.finish_many(rounds);
        check.equal(
            each_of(answers, [](const settlement& answer) { return answer.why; }),
            std::vector{verdict::applied, verdict::missing, verdict::applied, verdict::foreign, verdict::finished});
        check.equal(answers.at(0).presented.id, held[2].id);
        check.equal(q.row(held[1].id).state, job_state::leased);

        const std::vector<completion> completions{{held[1], "r1"}, {held[0], "r0"}};
        const std::vector<settlement> second = q.queue.finish_many(completions);
        check.applied(second.at(0));
        check.refused(second.at(1), verdict::finished);
        check.equal(q.row(held[1].id).result, "r1");
        check.nothing(q.row(held[0].id).result);
        check.nothing(q.queue.finish_many(std::vector<lease>{}));
    });

    to.add("a batch of leases is renewed together, and each lease knows its new end", [](in with, checker& check) {
        queue_in q{with};
        q.add({.payload = "0"});
        q.add({.payload = "1", .deadline = at(1200)});
        q.add({.payload = "2"});
        std::vector<lease> held = q.taken_many(3);
        check.applied(q.queue.finish(held[2]));
        q.clock.set(at(500));
        std::vector<lease*> pointers{&held[0], &held[1], &held[2]};
        const auto answers = q.queue.renew_many(pointers, 1000ms);
        check.applied(answers.at(0));
        check.applied(answers.at(1));
        check.refused(answers.at(2), verdict::finished);
        check.equal(held[0].lease_until, at(1500));
        check.equal(held[0].local_until, pace_point{1500ms});
        check.equal(held[1].lease_until, at(1200));
        check.equal(held[2].lease_until, at(1000));
        check.equal(q.queue.time_left(held[0]), millis{1000ms});

        std::vector<marker*> none;
        check.nothing(q.queue.renew_many(none, 1000ms));
        for (const settlement& released : q.queue.release_many(held)) {
            check.equal(static_cast<bool>(released), released.presented.id != held[2].id);
        }
    });

    to.add("after an answer that was lost, the same round learns its lease end", [](in with, checker& check) {
        queue_in q{with};
        q.add({.payload = "x"});
        lease held = q.taken();
        marker copy = held;
        q.clock.set(at(400));
        check.applied(q.queue.renew(copy, 2000ms));  // the answer to the lease's own holder was lost
        check.refused(q.queue.finish(held), verdict::altered);

        check.applied(q.queue.refresh(held));
        check.equal(held.lease_until, at(2400));
        check.equal(held.local_until, pace_point{2400ms});
        marker other = held;
        other.owner = "B";
        check.refused(q.queue.refresh(other), verdict::altered);
        other = held;
        other.attempt = 3;
        check.refused(q.queue.refresh(other), verdict::altered);
        other = held;
        other.token = {2};
        check.refused(q.queue.refresh(other), verdict::superseded);
        q.clock.set(at(2400));
        check.refused(q.queue.refresh(held), verdict::expired);
        check.equal(q.taken("B").token, claim_token{2});
        check.refused(q.queue.refresh(held), verdict::superseded);
    });
}

template <class Store>
void add_lost_answer_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("a finish whose answer was lost can be told from another's end of the job", [](in with, checker& check) {
        const auto held_in = [](queue_in<Store>& q) {
            q.add({.payload = "x", .max_attempts = 1});
            return q.taken();
        };
        {
            check.context("one's own finish");
            queue_in q{with};
            const lease held = held_in(q);
            check.applied(q.queue.finish(held));
            check.equal(q.queue.finish(held).ended_by_presented(), true);
        }
        {
            check.context("an operator's cancel");
            queue_in q{with};
            const lease held = held_in(q);
            check.applied(q.queue.cancel(held.id));
            check.equal(q.queue.finish(held).ended_by_presented(), false);
        }
        {
            check.context("another's claim that set the row aside");
            queue_in q{with};
            const lease held = held_in(q);
            q.clock.set(at(1000));
            check.nothing(q.queue.claim("B", 1000ms));
            const settlement answer = q.queue.finish(held);
            check.refused(answer, verdict::quarantined);
            check.equal(check.some(answer.current).ended_by, ender::claim);
            check.equal(answer.ended_by_presented(), false);
        }
        {
            check.context("an earlier round's marker");
            queue_in q{with};
            const lease held = held_in(q);
            check.applied(q.queue.release(held));
            const lease later = q.taken("A");
            check.applied(q.queue.finish(later));
            check.equal(q.queue.finish(later).ended_by_presented(), true);
            check.equal(q.queue.finish(held).ended_by_presented(), false);
        }
    });
}

/// Four jobs in two queues, of which the first is finished and the second taken in one commit.
template <class Store>
struct relay : queue_in<Store> {
    explicit relay(const bench<Store>& with) : queue_in<Store>{with} {
        this->add_many({{.queue = "mine", .payload = "1"},
                        {.queue = "mine", .payload = "2"},
                        {.queue = "mine", .payload = "3"},
                        {.queue = "other", .payload = "4"}});
        first = this->check.some(this->queue.claim("A", 1000ms, "mine"));
        finished_and_claimed next = pass(first, "r");
        this->check.applied(next.finished);
        second = this->check.some(std::move(next.next));
        this->check.equal(second.payload, "2");
        this->check.equal(this->row(first.id).result, "r");
    }

    finished_and_claimed pass(const marker& round, std::string_view result = {}, std::vector<std::string> queues = {}) {
        return this->queue.finish_and_claim(round, result,
                                            {.owner = "A", .lease_for = 1000ms, .queues = std::move(queues)});
    }
    lease first{};
    lease second{};
};

template <class Store>
void add_relay_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("one commit finishes one job and takes the next, whatever the finish answers", [](in with, checker& check) {
        relay<Store> q{with};
        finished_and_claimed again = q.pass(q.first, "late");
        check.refused(again.finished, verdict::finished);
        check.equal(check.some(std::move(again.next)).payload, "3");
        check.equal(q.row(q.first.id).result, "r");
    });

    to.add("a finish that claims takes from the queues named, in their order", [](in with, checker& check) {
        relay<Store> q{with};
        finished_and_claimed again = q.pass(q.second, "", {"none", "other", "mine"});
        check.applied(again.finished);
        check.equal(check.some(std::move(again.next)).payload, "4");
    });

    to.add("a commit that sets aside all that it may finishes all the same, and says that there is more",
           [](in with, checker& check) {
               relay<Store> q{with};
               q.add_many(std::vector<job>(1500, {.queue = "mine", .priority = 1, .deadline = at(5)}));
               q.clock.set(at(5));
               finished_and_claimed cut = q.pass(q.second);
               check.applied(cut.finished);
               check.nothing(cut.next);
               check.equal(cut.more, true);
               cut = q.pass(q.second);
               const lease third = check.some(std::move(cut.next));
               check.equal(third.payload, "3");
               check.equal(cut.more, false);
               cut = q.pass(third);
               check.applied(cut.finished);
               check.nothing(cut.next);
               check.equal(cut.more, false);
           });

    to.add("a finish that claims knows no queue where there is no job", [](in with, checker& check) {
        relay<Store> q{with};
        marker unknown = q.first;
        unknown.id = job_id{std::numeric_limits<std::int64_t>::max()};
        const finished_and_claimed again = q.pass(unknown);
        check.refused(again.finished, verdict::missing);
        check.nothing(again.next);
    });
}

template <class Store>
void add_receipt_cases(case_list<Store> to) {
    to.add("a receipt may come late, changes no job, and reaches the next holder",
           [](const bench<Store>& with, checker& check) {
               queue_in q{with};
               q.add({.key = "k", .payload = "x"});
               const lease a = q.taken("A");
               q.clock.set(at(1000));
               const record before = q.row(a.id);
               check.applied(q.queue.leave_receipt(a, "sent as 17"));
               record after = q.row(a.id);
               check.equal(after.receipts, std::vector<receipt>{{{1}, "A", at(1000), "sent as 17"}});
               after.receipts.clear();
               check.equal(after, before);

               const lease b = q.taken("B");
               check.equal(b.receipts.size(), 1);
               check.applied(q.queue.leave_receipt(a, "and again"));
               check.applied(q.queue.finish(b));
               check.applied(q.queue.leave_receipt(b, "third"));
               check.equal(q.rows().at(0).receipts.size(), 3);

               marker wrong = a;
               wrong.token = {3};
               check.refused(q.queue.leave_receipt(wrong, ""), verdict::impossible_token);
               wrong.token = {0};
               check.refused(q.queue.leave_receipt(wrong, ""), verdict::impossible_token);
               wrong = a;
               wrong.id = job_id{std::numeric_limits<std::int64_t>::max()};
               check.refused(q.queue.leave_receipt(wrong, ""), verdict::missing);
               wrong.store = {};
               check.refused(q.queue.leave_receipt(wrong, ""), verdict::foreign);
               wrong = a;
               wrong.owner = "somebody else";  // kept as said
               check.applied(q.queue.leave_receipt(wrong, "hearsay"));
               check.equal(q.row(a.id).receipts.at(3).owner, "somebody else");
               wrong.owner = std::string(1000, '\xff');  // made valid, and no longer than a name
               check.applied(q.queue.leave_receipt(wrong, "hearsay"));
               const std::string kept = q.row(a.id).receipts.at(4).owner;
               check.equal(kept.size(), 255);
               check.that(leasehold::detail::is_text(kept), "text");
               check.equal(q.queue.prune({}), 1);
               check.refused(q.queue.leave_receipt(a, "too late"), verdict::missing);
           });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
