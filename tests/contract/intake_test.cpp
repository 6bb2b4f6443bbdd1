// SPDX-License-Identifier: MIT
/// How work comes in: keys, bytes, bounds.
#include <string>
#include <vector>

#include "support/places.hpp"

namespace {

using namespace places;

std::vector<intake> answers_of(const std::vector<enqueued>& all) {
    std::vector<intake> answers;
    for (const enqueued& each : all) {
        answers.push_back(each.answer);
    }
    return answers;
}

TEMPLATE_TEST_CASE("the same key again gives the first id and its state, and changes nothing", "[intake]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    const enqueued first = q.queue.enqueue({.key = "k", .payload = "p"});
    CHECK(first.answer == intake::accepted);
    CHECK(first.state == job_state::ready);
    const record before = *q.queue.find("default", "k");

    CHECK(q.queue.enqueue({.key = "k", .payload = "p", .priority = 9}) ==
          enqueued{first.id, intake::duplicate, job_state::ready});
    CHECK(q.queue.enqueue({.key = "k", .payload = "other"}) == enqueued{first.id, intake::conflict, job_state::ready});
    CHECK(q.queue.enqueue({.key = "k", .payload = ""}).answer == intake::conflict);
    CHECK(*q.queue.find("default", "k") == before);

    CHECK(q.queue.enqueue({.queue = "other", .key = "k", .payload = "p"}).answer == intake::accepted);
    CHECK(q.queue.finish(q.taken()));
    CHECK(q.queue.enqueue({.key = "k", .payload = "p"}).state == job_state::finished);
    CHECK(q.queue.prune({}) == 1);
    CHECK_FALSE(q.queue.find("default", "k"));
    CHECK(q.queue.enqueue({.key = "k", .payload = "new"}).answer == intake::accepted);
}

TEMPLATE_TEST_CASE("an empty key is none, and an empty payload is a payload", "[intake]", EVERY_STORE) {
    queue_in<TestType> q;
    CHECK(q.queue.enqueue({}).answer == intake::accepted);
    CHECK(q.queue.enqueue({}).answer == intake::accepted);
    CHECK(q.queue.enqueue({.key = "k"}).answer == intake::accepted);
    CHECK(q.queue.enqueue({.key = "k"}).answer == intake::duplicate);
    CHECK(q.taken().payload.empty());
}

TEMPLATE_TEST_CASE("equal keys inside a batch are judged in their order", "[intake]", EVERY_STORE) {
    queue_in<TestType> q;
    const std::vector<job> batch{{.key = "a", .payload = "1"},
                                 {.key = "a", .payload = "1"},
                                 {.key = "a", .payload = "2"},
                                 {.key = "b", .payload = "3"}};
    const auto answers = q.queue.enqueue_many(batch);
    CHECK(answers_of(answers) == std::vector{intake::accepted, intake::duplicate, intake::conflict, intake::accepted});
    CHECK(answers[1].id == answers[0].id);
    CHECK(answers[2].id == answers[0].id);
    CHECK(q.queue.list().items.size() == 2);
    CHECK(q.queue.enqueue_many(std::vector<job>{}).empty());
}

TEMPLATE_TEST_CASE("where a conflict shall withhold all, nothing is written", "[intake]", EVERY_STORE) {
    queue_in<TestType> q;
    const enqueued there = q.queue.enqueue({.key = "there", .payload = "p"});
    const auto before = q.queue.list().items;
    const std::vector<job> batch{{.key = "there", .payload = "p"}, {.key = "new", .payload = "1"},
                                 {.key = "new", .payload = "1"},   {.key = "there", .payload = "q"},
                                 {.key = "new", .payload = "2"},   {.payload = "no key"}};
    const auto answers = q.queue.enqueue_many(batch, on_conflict::nothing);
    CHECK(answers_of(answers) == std::vector{intake::duplicate, intake::withheld, intake::withheld, intake::conflict,
                                             intake::conflict, intake::withheld});
    CHECK(answers[0].id == there.id);
    CHECK(answers[3].id == there.id);
    for (const std::size_t own : {1U, 2U, 4U, 5U}) {
        CHECK(answers[own].id == job_id{});
    }
    CHECK(q.queue.list().items == before);

    const std::vector<job> clean{{.key = "there", .payload = "p"}, {.key = "new", .payload = "1"}};
    CHECK(answers_of(q.queue.enqueue_many(clean, on_conflict::nothing)) ==
          std::vector{intake::duplicate, intake::accepted});
    CHECK(q.queue.list().items.size() == 2);
}

TEMPLATE_TEST_CASE("an id is never used again", "[intake]", EVERY_STORE) {
    queue_in<TestType> q;
    job_id last{};
    for (int i = 0; i < 12; ++i) {
        const enqueued made = q.queue.enqueue({.payload = "x"});
        CHECK(made.id > last);
        last = made.id;
        CHECK(q.queue.finish(q.taken()));
        CHECK(q.queue.prune({}) == 1);
    }
    CHECK(q.queue.list().items.empty());
}

TEMPLATE_TEST_CASE("names that look like numbers stay as they are", "[intake]", EVERY_STORE) {
    queue_in<TestType> q;
    const std::vector<std::string> names{"12",   "0012", " 12", "12 ", "1e3",  "1000",
                                         "0x10", "+5",   "-0",  "5.0", "NULL", "'"};
    for (const std::string& name : names) {
        CHECK(q.queue.enqueue({.queue = name, .key = name, .payload = name}).answer == intake::accepted);
        CHECK(q.queue.enqueue({.queue = "one", .key = name, .payload = name}).answer == intake::accepted);
    }
    for (const std::string& name : names) {
        const auto held = q.queue.claim(name, 1000ms, name);
        REQUIRE(held);
        CHECK(held->queue == name);
        CHECK(held->key == name);
        CHECK(held->payload == name);
        CHECK(held->owner == name);
        CHECK(q.queue.find("one", name)->key == name);
        CHECK(q.queue.find(held->id)->owner == name);
        CHECK(q.queue.finish(*held, name));
        CHECK(q.queue.find(held->id)->result == name);
    }
}

TEMPLATE_TEST_CASE("names of any script, and of the greatest length, come back as they are", "[intake]", EVERY_STORE) {
    queue_in<TestType> q;
    const std::string long_name = std::string(252, 'x') + "\xE2\x82\xAC";  // 255 bytes that end in one character
    for (const std::string& name : {std::string{"größe ☃ 漢字 \xF0\x9F\x8C\xAF"}, long_name, std::string{"a\nb\tc"}}) {
        q.queue.enqueue({.queue = name, .key = name});
        const auto held = q.queue.claim(name, 1000ms, name);
        REQUIRE(held);
        CHECK(held->owner == name);
        CHECK(q.queue.find(name, name)->owner == name);
        CHECK(q.queue.finish(*held));
    }
}

TEMPLATE_TEST_CASE("bytes come back exactly, whatever they are", "[intake]", EVERY_STORE) {
    queue_in<TestType> q;
    std::string all_bytes;
    for (int i = 0; i < 256; ++i) {
        all_bytes += static_cast<char>(i);
    }
    const std::string large(std::size_t{16} << 20U, '\xEE');
    for (const std::string& bytes : {std::string{}, std::string(1, '\0'), std::string{"a\0b\0", 4},
                                     std::string{"\xff\xfe\xc0\x80"}, all_bytes, large}) {
        q.queue.enqueue({.payload = bytes});
        const lease held = q.taken();
        CHECK((held.payload == bytes));  // in brackets: sixteen mebibytes are no message
        CHECK(q.queue.checkpoint(held, bytes));
        CHECK(q.queue.release(held));
        const lease again = q.taken();
        CHECK((again.checkpoint == bytes));
        CHECK(q.queue.finish(again, bytes));
        const record row = *q.queue.find(held.id);
        CHECK((row.payload == bytes && row.result == bytes && row.checkpoint == bytes));
        CHECK(row.payload_size == bytes.size());
        const record listed = q.queue.list({.after = job_id{held.id.value - 1}}).items.front();
        CHECK(listed.payload_size == bytes.size());
        CHECK(listed.result_size == bytes.size());
        CHECK(listed.checkpoint_size == bytes.size());
        CHECK(listed.payload.empty());
    }
}

TEMPLATE_TEST_CASE("no error text can make a failure fail", "[intake]", EVERY_STORE) {
    queue_in<TestType> q;
    const std::string replaced = "\xEF\xBF\xBD";
    const std::vector<std::pair<std::string, std::string>> texts{
        {"plain", "plain"},
        {"", ""},
        {std::string{"a\0b", 3}, "a" + replaced + "b"},
        {"\xff\xc3", replaced + replaced},
        {"\xED\xA0\x80", replaced + replaced + replaced},  // a surrogate
        {std::string(5000, 'e'), std::string(4096, 'e')},
        {std::string(4095, 'e') + "\xC3\xA9", std::string(4095, 'e')},  // no half character at the cut
        {std::string(4094, 'e') + "\xC3\xA9", std::string(4094, 'e') + "\xC3\xA9"},
        {"'; DROP TABLE leasehold_job; --", "'; DROP TABLE leasehold_job; --"}};
    for (const auto& [given, kept] : texts) {
        q.queue.enqueue({.payload = "x", .max_attempts = 1000});
        lease held = q.taken();
        CHECK(q.queue.fail(held, given));
        CHECK(q.queue.find(held.id)->last_error == kept);
        held = q.taken();
        CHECK(q.queue.leave_receipt(held, given));
        CHECK(q.queue.find(held.id)->receipts.back().note == kept);
        CHECK(q.queue.quarantine(held, given));
        CHECK(q.queue.find(held.id)->reason == kept);
    }
}

TEMPLATE_TEST_CASE("a job that cannot be right is refused by name, and nothing is written", "[intake]", EVERY_STORE) {
    queue_in<TestType> q;
    q.clock.set(at(100));
    const std::string long_name(256, 'n');
    const std::vector<std::pair<job, std::string>> bad{
        {{.queue = ""}, "queue"},
        {{.queue = long_name}, "queue"},
        {{.queue = std::string{"a\0", 2}}, "queue"},
        {{.key = long_name}, "key"},
        {{.key = "\xC0\x80"}, "key"},
        {{.priority = -129}, "priority"},
        {{.priority = 128}, "priority"},
        {{.delay = -1ms}, "delay"},
        {{.delay = millis::min()}, "delay"},
        {{.delay = 1ms, .not_before = at(500)}, "not_before"},
        {{.expires_in = 0ms}, "expires_in"},
        {{.expires_in = -1ms}, "expires_in"},
        {{.expires_in = 1ms, .deadline = at(500)}, "deadline"},
        {{.deadline = at(100)}, "deadline"},
        {{.deadline = at(99)}, "deadline"},
        {{.not_before = at(200), .deadline = at(200)}, "not_before"},
        {{.not_before = at(201), .deadline = at(200)}, "not_before"},
        {{.delay = 5ms, .expires_in = 5ms}, "delay"},
        {{.delay = std::chrono::hours::max(), .expires_in = std::chrono::hours::max()}, "delay"},
        {{.max_attempts = 0}, "max_attempts"},
        {{.max_attempts = -1}, "max_attempts"},
    };
    for (const auto& [work, named] : bad) {
        CHECK_THROWS_AS(q.queue.enqueue(work), std::invalid_argument);
        CHECK_THROWS_WITH(q.queue.enqueue(work), contains(named));
        const std::vector<job> batch{{.payload = "fine"}, work};
        CHECK_THROWS_WITH(q.queue.enqueue_many(batch), contains("job 1") && contains(named));
    }
    CHECK(q.queue.list().items.empty());
    q.queue.enqueue({.not_before = at(199), .deadline = at(200)});
    q.queue.enqueue({.deadline = at(101), .max_attempts = 1});
    q.queue.enqueue({.priority = 127, .delay = 4ms, .expires_in = 5ms});
    q.queue.enqueue({.priority = -128, .not_before = at(1)});
    CHECK(q.queue.list().items.size() == 4);
}

TEMPLATE_TEST_CASE("a delayed job is there from its instant on, and not before", "[intake]", EVERY_STORE) {
    queue_in<TestType> q;
    q.clock.set(at(100));
    q.queue.enqueue({.payload = "x", .delay = 50ms});
    q.queue.enqueue({.payload = "y", .not_before = at(151)});
    q.clock.set(at(149));
    CHECK_FALSE(q.queue.claim("A", 1ms));
    q.clock.set(at(150));
    CHECK(q.taken().payload == "x");
    CHECK_FALSE(q.queue.claim("A", 1ms));
    q.clock.set(at(151));
    CHECK(q.taken().payload == "y");
}

TEMPLATE_TEST_CASE("a retry that would come after the deadline vests at the deadline, and is set aside", "[intake]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    q.queue.enqueue({.payload = "x", .deadline = at(100)});
    CHECK(q.queue.fail(q.taken("A", 10ms), "e", std::chrono::hours::max()));
    CHECK(q.queue.list().items.front().vests_at == at(100));
    q.clock.set(at(100));
    CHECK_FALSE(q.queue.claim("A", 10ms));
    CHECK(q.queue.list().items.front().reason == "deadline_passed");
}

}  // namespace
