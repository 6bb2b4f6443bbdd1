// SPDX-License-Identifier: MIT
/// Whose call counts, and until when.
#include <functional>
#include <string>
#include <vector>

#include "support/places.hpp"

namespace {

using namespace places;

TEMPLATE_TEST_CASE("a worker that comes back after its lease can change nothing", "[settling]", EVERY_STORE) {
    const std::string second = GENERATE("B", "A");  // another worker, or the same name started again
    queue_in<TestType> q;
    q.queue.enqueue({.key = "k", .payload = "x"});

    lease a = q.taken("A");
    CHECK(a.token == claim_token{1});
    CHECK(a.lease_until == at(1000));
    q.clock.set(at(1000));
    lease b = q.taken(second.c_str());
    CHECK(b.token == claim_token{2});
    CHECK(b.id == a.id);
    CHECK(b.attempt == 2);

    q.clock.set(at(1001));
    const auto before = q.queue.find(a.id);
    const settlement refused = q.queue.finish(a, "late");
    CHECK(refused.why == verdict::superseded);
    CHECK(q.queue.find(a.id) == before);
    CHECK(before->marker() == static_cast<const marker&>(b));
    CHECK(to_text(refused) ==
          "rejected (superseded) at 1001: presented owner=A token=1 lease_until=1000; row has owner=" + second +
              " token=2 lease_until=2000");

    CHECK(q.queue.finish(b, "in time"));
    CHECK(q.queue.find(a.id)->result == "in time");
}

TEMPLATE_TEST_CASE("a completion counts one before the expiry instant, and is too late at it", "[settling]",
                   EVERY_STORE) {
    const auto [now, applied] = GENERATE(table<int, bool>({{999, true}, {1000, false}, {1001, false}}));
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x"});
    const lease held = q.taken();
    q.clock.set(at(now));

    const settlement answer = q.queue.finish(held);
    CHECK(answer.why == (applied ? verdict::applied : verdict::expired));
    CHECK(answer.at == at(now));
    CHECK(answer.ended_by_presented() == applied);
    CHECK(q.queue.find(held.id)->state == (applied ? job_state::finished : job_state::leased));
}

TEMPLATE_TEST_CASE("at and after the expiry instant somebody else may take the job, and not before", "[settling]",
                   EVERY_STORE) {
    const int now = GENERATE(999, 1000, 1001);
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x"});
    const lease first = q.taken("A");
    q.clock.set(at(now));

    const auto second = q.queue.claim("B", 1000ms);
    CHECK(second.has_value() == (now >= 1000));
    CHECK(q.queue.finish(first).why == (second ? verdict::superseded : verdict::applied));
    if (second) {
        CHECK(q.queue.finish(*second));
    }
}

TEMPLATE_TEST_CASE("a lease never outlives the deadline", "[settling]", EVERY_STORE) {
    const auto [now, why] = GENERATE(
        table<int, verdict>({{99, verdict::applied}, {100, verdict::past_deadline}, {101, verdict::past_deadline}}));
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x", .deadline = at(100)});
    lease held = q.taken("A", 1000ms);
    CHECK(held.lease_until == at(100));
    CHECK(held.deadline == at(100));
    q.clock.set(at(50));
    CHECK(q.queue.renew(held, std::chrono::hours::max()));
    CHECK(held.lease_until == at(100));
    q.clock.set(at(now));
    CHECK(q.queue.finish(held).why == why);
}

/// A holder's verb, by name.
template <class Queue>
struct holders_verb {
    std::string name;
    std::function<settlement(Queue&, marker)> call;
};

template <class Queue>
std::vector<holders_verb<Queue>> holders_verbs() {
    return {
        {"finish", [](Queue& q, const marker& m) { return q.finish(m, "result"); }},
        {"finish_many", [](Queue& q, const marker& m) { return q.finish_many(std::array{m}).front(); }},
        {"finish_and_claim",
         [](Queue& q, const marker& m) {
             return q.finish_and_claim(m, "result", {.owner = "next", .lease_for = 1ms, .queues = {"empty"}}).finished;
         }},
        {"renew", [](Queue& q, marker m) { return q.renew(m, 5000ms); }},
        {"renew_many", [](Queue& q, marker m) { return q.renew_many(std::array{&m}, 5000ms).front(); }},
        {"fail", [](Queue& q, const marker& m) { return q.fail(m, "error", 5ms); }},
        {"release", [](Queue& q, const marker& m) { return q.release(m); }},
        {"release_many", [](Queue& q, const marker& m) { return q.release_many(std::array{m}, 7ms).front(); }},
        {"quarantine", [](Queue& q, const marker& m) { return q.quarantine(m, "odd"); }},
        {"checkpoint", [](Queue& q, const marker& m) { return q.checkpoint(m, "half"); }}};
}

/// A way for a marker not to fit, and the reason that must be given for it.
template <class Queue>
struct misfit {
    verdict why;
    std::function<void(Queue&, manual_clock&, marker&)> make;
};

template <class Queue>
std::vector<misfit<Queue>> misfits() {
    return {
        {verdict::foreign, [](Queue&, manual_clock&, marker& m) { m.store.bytes[5] ^= 1; }},
        {verdict::missing, [](Queue&, manual_clock&, marker& m) { m.id.value += 1; }},
        {verdict::missing,
         [](Queue& q, manual_clock&, marker& m) {
             REQUIRE(q.finish(m));
             REQUIRE(q.prune({}) == 1);
         }},
        {verdict::finished, [](Queue& q, manual_clock&, marker& m) { REQUIRE(q.finish(m)); }},
        {verdict::quarantined, [](Queue& q, manual_clock&, marker& m) { REQUIRE(q.quarantine(m, "by hand")); }},
        {verdict::cancelled, [](Queue& q, manual_clock&, marker& m) { REQUIRE(q.cancel(m.id)); }},
        {verdict::superseded,
         [](Queue& q, manual_clock& clock, marker&) {
             clock.set(at(1000));
             REQUIRE(q.claim("A", 1000ms));
         }},
        {verdict::superseded, [](Queue&, manual_clock&, marker& m) { m.token.value += 1; }},
        {verdict::superseded,
         [](Queue& q, manual_clock&, marker& m) {
             REQUIRE(q.fail(m, "e"));
             REQUIRE(q.claim("A", 1000ms));
         }},
        {verdict::not_leased, [](Queue& q, manual_clock&, marker& m) { REQUIRE(q.fail(m, "e")); }},
        {verdict::not_leased, [](Queue& q, manual_clock&, marker& m) { REQUIRE(q.release(m)); }},
        {verdict::not_leased, [](Queue& q, manual_clock&, marker& m) { REQUIRE(q.revoke(m.id, m.token)); }},
        {verdict::altered, [](Queue&, manual_clock&, marker& m) { m.owner = "a"; }},
        {verdict::altered, [](Queue&, manual_clock&, marker& m) { m.attempt += 1; }},
        {verdict::altered, [](Queue&, manual_clock&, marker& m) { m.lease_until += 1ms; }},
        {verdict::altered,
         [](Queue& q, manual_clock&, marker& m) {
             marker renewed = m;
             REQUIRE(q.renew(renewed, 1500ms));
         }},
        {verdict::expired, [](Queue&, manual_clock& clock, marker&) { clock.set(at(1000)); }},
    };
}

TEMPLATE_TEST_CASE("every verb of a holder is refused for every reason, and then no column has changed", "[settling]",
                   EVERY_STORE) {
    using queue_type = typename queue_in<TestType>::queue_type;
    for (const auto& verb : holders_verbs<queue_type>()) {
        for (const auto& misfit : misfits<queue_type>()) {
            queue_in<TestType> q;
            q.queue.enqueue({.key = "k", .payload = "x"});
            const lease held = q.taken();
            marker presented = held;
            misfit.make(q.queue, q.clock, presented);
            INFO(verb.name << " on a marker that is " << misfit.why);
            const auto before = q.queue.list().items;

            const settlement answer = verb.call(q.queue, presented);
            CHECK(answer.why == misfit.why);
            CHECK_FALSE(answer);
            CHECK(answer.presented == presented);
            CHECK(answer.current.has_value() == (misfit.why != verdict::foreign && misfit.why != verdict::missing));
            CHECK(q.queue.list().items == before);
            if (!before.empty()) {
                const auto after = q.queue.find(before.front().id);
                CHECK(after->result.empty());
                CHECK(after->checkpoint.empty());
            }
        }
    }
}

TEMPLATE_TEST_CASE("refresh is refused as the others are, but for a lease end that differs", "[settling]",
                   EVERY_STORE) {
    using queue_type = typename queue_in<TestType>::queue_type;
    for (const auto& misfit : misfits<queue_type>()) {
        queue_in<TestType> q;
        q.queue.enqueue({.key = "k", .payload = "x"});
        const lease held = q.taken();
        marker presented = held;
        misfit.make(q.queue, q.clock, presented);
        const auto before = q.queue.list().items;
        const bool only_the_end =
            misfit.why == verdict::altered && presented.owner == held.owner && presented.attempt == held.attempt;
        INFO("a marker that is " << misfit.why);
        const marker given = presented;
        CHECK(q.queue.refresh(presented).why == (only_the_end ? verdict::applied : misfit.why));
        CHECK(presented.lease_until == (only_the_end ? *before.front().lease_until : given.lease_until));
        CHECK(q.queue.list().items == before);
    }
}

TEMPLATE_TEST_CASE("a deadline that is over refuses every verb of a holder", "[settling]", EVERY_STORE) {
    using queue_type = typename queue_in<TestType>::queue_type;
    for (const auto& verb : holders_verbs<queue_type>()) {
        queue_in<TestType> q;
        q.queue.enqueue({.payload = "x", .expires_in = 1000ms});
        const lease held = q.taken();
        q.clock.set(at(1000));
        const auto before = q.queue.find(held.id);
        INFO(verb.name);
        CHECK(verb.call(q.queue, held).why == verdict::past_deadline);
        CHECK(q.queue.find(held.id) == before);
    }
}

TEMPLATE_TEST_CASE("every verb of a holder that counts does what it says to the row", "[settling]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.key = "k", .payload = "x", .priority = 3, .max_attempts = 2});
    lease held = q.taken("A", 1000ms);
    record want = *q.queue.find(held.id);
    CHECK(want.state == job_state::leased);
    CHECK(want.marker() == static_cast<const marker&>(held));
    CHECK(want.vests_at == at(1000));
    CHECK(want.waits);
    q.clock.set(at(400));

    SECTION("finish") {
        CHECK(q.queue.finish(held, "done"));
        want.state = job_state::finished;
        want.ended_by = ender::holder;
        want.ended_at = at(400);
        want.result = "done";
        want.result_size = 4;
    }
    SECTION("renew") {
        CHECK(q.queue.renew(held, 900ms));
        CHECK(held.lease_until == at(1300));
        CHECK(held.local_until == pace_point{1300ms});
        want.lease_until = want.vests_at = at(1300);
    }
    SECTION("renew never shortens") {
        CHECK(q.queue.renew(held, 1ms));
        CHECK(held.lease_until == at(1000));
    }
    SECTION("fail, to be tried again at once") {
        CHECK(q.queue.fail(held, "boom"));
        want.state = job_state::ready;
        want.owner = "";
        want.lease_until.reset();
        want.waits = false;
        want.vests_at = at(400);
        want.failures = 1;
        want.last_error = "boom";
    }
    SECTION("fail, to be tried again later") {
        CHECK(q.queue.fail(held, "boom", 50ms));
        want.state = job_state::ready;
        want.owner = "";
        want.lease_until.reset();
        want.vests_at = at(450);
        want.failures = 1;
        want.last_error = "boom";
    }
    SECTION("release") {
        CHECK(q.queue.release(held, 30ms));
        want.state = job_state::ready;
        want.owner = "";
        want.lease_until.reset();
        want.vests_at = at(430);
        want.attempt = 0;
    }
    SECTION("quarantine") {
        CHECK(q.queue.quarantine(held, "look at me"));
        want.state = job_state::quarantined;
        want.ended_by = ender::holder;
        want.ended_at = at(400);
        want.reason = "look at me";
    }
    SECTION("checkpoint") {
        CHECK(q.queue.checkpoint(held, "half way"));
        want.checkpoint = "half way";
        want.checkpoint_size = 8;
    }
    SECTION("checkpoint, again") {
        CHECK(q.queue.checkpoint(held, "half way"));
        CHECK(q.queue.checkpoint(held, "more"));
        want.checkpoint = "more";
        want.checkpoint_size = 4;
    }
    SECTION("revoke, by an operator") {
        CHECK(q.queue.revoke(held.id, held.token));
        want.state = job_state::ready;
        want.owner = "";
        want.lease_until.reset();
        want.waits = false;
        want.vests_at = at(400);
        want.lapses = 1;
    }
    SECTION("cancel, by an operator") {
        CHECK(q.queue.cancel(held.id, held.token));
        want.state = job_state::cancelled;
        want.ended_by = ender::operator_;
        want.ended_at = at(400);
    }
    CHECK(*q.queue.find(held.id) == want);
}

TEMPLATE_TEST_CASE("the last attempt that fails sets the job aside at once", "[settling]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x", .max_attempts = 1});
    const lease held = q.taken();
    CHECK(q.queue.fail(held, "boom", 50ms));
    const record row = *q.queue.find(held.id);
    CHECK(row.state == job_state::quarantined);
    CHECK(row.reason == "attempts_exhausted");
    CHECK(row.ended_by == ender::holder);
    CHECK(row.last_error == "boom");
    CHECK_FALSE(q.queue.claim("B", 1000ms));
}

TEMPLATE_TEST_CASE("the rejection shows both sides on one line, whatever the names", "[settling]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "secret"});
    const std::string evil = "A; row has owner=\nB\x01\"";
    const lease held = q.taken(evil.c_str());
    marker other = held;
    other.attempt = 9;
    const std::string line = to_text(q.queue.finish(other, "hidden"));
    CHECK_THAT(line, contains("rejected (altered) at 0: presented owner=\"A; row has owner=\\x0aB\\x01\\\"\""));
    CHECK_THAT(line, contains("attempt=9") && contains("attempt=1"));
    CHECK_THAT(line, !contains("\n") && !contains("secret") && !contains("hidden"));

    other = held;
    other.id = job_id{99};
    CHECK_THAT(to_text(q.queue.finish(other)), contains("rejected (missing) at 0") && contains("no such job"));
    other = held;
    other.store = {};
    CHECK_THAT(to_text(q.queue.finish(other)), contains("rejected (foreign) at 0") && contains("another store"));
    CHECK(q.queue.release(held));
    CHECK_THAT(to_text(q.queue.finish(held)), contains("rejected (not_leased)") &&
                                                  contains("row has owner=none token=1 lease_until=none state=ready"));
}

TEMPLATE_TEST_CASE("a batch is judged in its order, and answers in it", "[settling]", EVERY_STORE) {
    queue_in<TestType> q;
    for (int i = 0; i < 4; ++i) {
        q.queue.enqueue({.payload = std::to_string(i)});
    }
    std::vector<lease> held = q.queue.claim_many("A", 1000ms, 3);
    REQUIRE(held.size() == 3);
    marker unknown = held[0];
    unknown.id = job_id{77};
    marker alien = held[1];
    alien.store = {};

    const std::vector<marker> rounds{held[2], unknown, held[0], alien, held[2]};
    const std::vector<settlement> answers = q.queue.finish_many(rounds);
    std::vector<verdict> why;
    for (const settlement& answer : answers) {
        why.push_back(answer.why);
    }
    CHECK(why ==
          std::vector{verdict::applied, verdict::missing, verdict::applied, verdict::foreign, verdict::finished});
    CHECK(answers[0].presented.id == held[2].id);
    CHECK(q.queue.find(held[1].id)->state == job_state::leased);

    const std::vector<completion> completions{{held[1], "r1"}, {held[0], "r0"}};
    const std::vector<settlement> second = q.queue.finish_many(completions);
    CHECK(second[0]);
    CHECK(second[1].why == verdict::finished);
    CHECK(q.queue.find(held[1].id)->result == "r1");
    CHECK(q.queue.find(held[0].id)->result.empty());
    CHECK(q.queue.finish_many(std::vector<lease>{}).empty());
}

TEMPLATE_TEST_CASE("a batch of leases is renewed together, and each lease knows its new end", "[settling]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "0"});
    q.queue.enqueue({.payload = "1", .deadline = at(1200)});
    q.queue.enqueue({.payload = "2"});
    std::vector<lease> held = q.queue.claim_many("A", 1000ms, 3);
    CHECK(q.queue.finish(held[2]));
    q.clock.set(at(500));
    std::vector<lease*> pointers{&held[0], &held[1], &held[2]};
    const auto answers = q.queue.renew_many(pointers, 1000ms);
    CHECK(answers[0]);
    CHECK(answers[1]);
    CHECK(answers[2].why == verdict::finished);
    CHECK(held[0].lease_until == at(1500));
    CHECK(held[0].local_until == pace_point{1500ms});
    CHECK(held[1].lease_until == at(1200));
    CHECK(held[2].lease_until == at(1000));
    CHECK(q.queue.time_left(held[0]) == millis{1000ms});

    std::vector<marker*> none;
    CHECK(q.queue.renew_many(none, 1000ms).empty());
    for (const settlement& released : q.queue.release_many(held)) {
        CHECK(static_cast<bool>(released) == (released.presented.id != held[2].id));
    }
}

TEMPLATE_TEST_CASE("after an answer that was lost, the same round learns its lease end", "[settling]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x"});
    lease held = q.taken();
    marker copy = held;
    q.clock.set(at(400));
    CHECK(q.queue.renew(copy, 2000ms));  // the answer to the lease's own holder was lost
    CHECK(q.queue.finish(held).why == verdict::altered);

    CHECK(q.queue.refresh(held));
    CHECK(held.lease_until == at(2400));
    CHECK(held.local_until == pace_point{2400ms});
    marker other = held;
    other.owner = "B";
    CHECK(q.queue.refresh(other).why == verdict::altered);
    other = held;
    other.attempt = 3;
    CHECK(q.queue.refresh(other).why == verdict::altered);
    other = held;
    other.token = {2};
    CHECK(q.queue.refresh(other).why == verdict::superseded);
    q.clock.set(at(2400));
    CHECK(q.queue.refresh(held).why == verdict::expired);
    CHECK(q.taken("B").token == claim_token{2});
    CHECK(q.queue.refresh(held).why == verdict::superseded);
}

TEMPLATE_TEST_CASE("a finish whose answer was lost can be told from another's end of the job", "[settling]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x", .max_attempts = 1});
    const lease held = q.taken();
    SECTION("one's own finish") {
        CHECK(q.queue.finish(held));
        CHECK(q.queue.finish(held).ended_by_presented());
    }
    SECTION("an operator's cancel") {
        CHECK(q.queue.cancel(held.id));
        CHECK_FALSE(q.queue.finish(held).ended_by_presented());
    }
    SECTION("another's claim that set the row aside") {
        q.clock.set(at(1000));
        CHECK_FALSE(q.queue.claim("B", 1000ms));
        const settlement answer = q.queue.finish(held);
        CHECK(answer.why == verdict::quarantined);
        CHECK(answer.current->ended_by == ender::claim);
        CHECK_FALSE(answer.ended_by_presented());
    }
    SECTION("an earlier round's marker") {
        CHECK(q.queue.release(held));
        const lease later = q.taken("A");
        CHECK(q.queue.finish(later));
        CHECK(q.queue.finish(later).ended_by_presented());
        CHECK_FALSE(q.queue.finish(held).ended_by_presented());
    }
}

TEMPLATE_TEST_CASE("one commit finishes one job and takes the next, whatever the finish answers", "[settling]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue_many(std::vector<job>{{.queue = "mine", .payload = "1"},
                                          {.queue = "mine", .payload = "2"},
                                          {.queue = "mine", .payload = "3"},
                                          {.queue = "other", .payload = "4"}});
    auto first = q.queue.claim("A", 1000ms, "mine");
    auto next = q.queue.finish_and_claim(*first, "r", {.owner = "A", .lease_for = 1000ms});
    CHECK(next.finished);
    REQUIRE(next.next);
    CHECK(next.next->payload == "2");
    CHECK(q.queue.find(first->id)->result == "r");

    SECTION("a refused finish does not stop the claim") {
        auto again = q.queue.finish_and_claim(*first, "late", {.owner = "A", .lease_for = 1000ms});
        CHECK(again.finished.why == verdict::finished);
        CHECK(again.next->payload == "3");
        CHECK(q.queue.find(first->id)->result == "r");
    }
    SECTION("named queues are taken from in their order") {
        auto again = q.queue.finish_and_claim(*next.next, "",
                                              {.owner = "A", .lease_for = 1ms, .queues = {"none", "other", "mine"}});
        CHECK(again.finished);
        CHECK(again.next->payload == "4");
    }
    SECTION("a commit that sets aside all that it may finishes all the same, and says that there is more") {
        q.queue.enqueue_many(std::vector<job>(1500, {.queue = "mine", .priority = 1, .deadline = at(5)}));
        q.clock.set(at(5));
        auto cut = q.queue.finish_and_claim(*next.next, "", {.owner = "A", .lease_for = 1000ms});
        CHECK(cut.finished);
        CHECK_FALSE(cut.next);
        CHECK(cut.more);
        cut = q.queue.finish_and_claim(*next.next, "", {.owner = "A", .lease_for = 1000ms});
        CHECK(cut.next->payload == "3");
        CHECK_FALSE(cut.more);
        cut = q.queue.finish_and_claim(*cut.next, "", {.owner = "A", .lease_for = 1000ms});
        CHECK(cut.finished);
        CHECK_FALSE(cut.next);
        CHECK_FALSE(cut.more);
    }
    SECTION("where there is no job, no queue is known") {
        marker unknown = *first;
        unknown.id = job_id{99};
        auto again = q.queue.finish_and_claim(unknown, "", {.owner = "A", .lease_for = 1ms});
        CHECK(again.finished.why == verdict::missing);
        CHECK_FALSE(again.next);
    }
}

TEMPLATE_TEST_CASE("a receipt may come late, changes no job, and reaches the next holder", "[settling]", EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.key = "k", .payload = "x"});
    const lease a = q.taken("A");
    q.clock.set(at(1000));
    const record before = *q.queue.find(a.id);
    CHECK(q.queue.leave_receipt(a, "sent as 17"));
    record after = *q.queue.find(a.id);
    CHECK(after.receipts == std::vector<receipt>{{{1}, "A", at(1000), "sent as 17"}});
    after.receipts.clear();
    CHECK(after == before);

    lease b = q.taken("B");
    CHECK(b.receipts.size() == 1);
    CHECK(q.queue.leave_receipt(a, "and again"));
    CHECK(q.queue.finish(b));
    CHECK(q.queue.leave_receipt(b, "third"));
    CHECK(q.queue.list().items.front().receipts.size() == 3);

    marker wrong = a;
    wrong.token = {3};
    CHECK(q.queue.leave_receipt(wrong, "").why == verdict::impossible_token);
    wrong.token = {0};
    CHECK(q.queue.leave_receipt(wrong, "").why == verdict::impossible_token);
    wrong = a;
    wrong.id = job_id{9};
    CHECK(q.queue.leave_receipt(wrong, "").why == verdict::missing);
    wrong.store = {};
    CHECK(q.queue.leave_receipt(wrong, "").why == verdict::foreign);
    wrong = a;
    wrong.owner = "somebody else";  // kept as said
    CHECK(q.queue.leave_receipt(wrong, "hearsay"));
    CHECK(q.queue.find(a.id)->receipts.back().owner == "somebody else");
    wrong.owner = std::string(1000, '\xff');  // made valid, and no longer than a name
    CHECK(q.queue.leave_receipt(wrong, "hearsay"));
    CHECK(q.queue.find(a.id)->receipts.back().owner.size() == 255);
    CHECK(detail::is_text(q.queue.find(a.id)->receipts.back().owner));
    CHECK(q.queue.prune({}) == 1);
    CHECK(q.queue.leave_receipt(a, "too late").why == verdict::missing);
}

}  // namespace
