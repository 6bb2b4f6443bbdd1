// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/testing/contract/bench.hpp>

/// How work comes in: keys, names, bounds.
namespace leasehold::inline v0_1_0::testing::detail {

inline std::vector<intake> answers_of(const std::vector<enqueued>& all) {
    return each_of(all, [](const enqueued& each) { return each.answer; });
}

template <class Store>
void add_key_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("the same key again gives the first id and its state, and changes nothing", [](in with, checker& check) {
        queue_in q{with};
        const enqueued first = q.queue.enqueue({.key = "k", .payload = "p"});
        check.equal(first.answer, intake::accepted);
        check.equal(first.state, job_state::ready);
        const record before = q.row("default", "k");

        check.equal(q.queue.enqueue({.key = "k", .payload = "p", .priority = 9}),
                    enqueued{first.id, intake::duplicate, job_state::ready});
        check.equal(q.queue.enqueue({.key = "k", .payload = "other"}),
                    enqueued{first.id, intake::conflict, job_state::ready});
        check.equal(q.queue.enqueue({.key = "k", .payload = ""}).answer, intake::conflict);
        check.equal(q.row("default", "k"), before);

        check.equal(q.queue.enqueue({.queue = "other", .key = "k", .payload = "p"}).answer, intake::accepted);
        check.applied(q.queue.finish(q.taken()));
        check.equal(q.queue.enqueue({.key = "k", .payload = "p"}).state, job_state::finished);
        check.equal(q.queue.prune({}), 1);
        check.nothing(q.queue.find("default", "k"));
        check.equal(q.queue.enqueue({.key = "k", .payload = "new"}).answer, intake::accepted);
    });

    to.add("an empty key is none, and an empty payload is a payload", [](in with, checker& check) {
        queue_in q{with};
        check.equal(q.queue.enqueue({}).answer, intake::accepted);
        check.equal(q.queue.enqueue({}).answer, intake::accepted);
        check.equal(q.queue.enqueue({.key = "k"}).answer, intake::accepted);
        check.equal(q.queue.enqueue({.key = "k"}).answer, intake::duplicate);
        check.nothing(q.taken().payload);
    });

    to.add("equal keys inside a batch are judged in their order", [](in with, checker& check) {
        queue_in q{with};
        const std::vector<job> batch{{.key = "a", .payload = "1"},
                                     {.key = "a", .payload = "1"},
                                     {.key = "a", .payload = "2"},
                                     {.key = "b", .payload = "3"}};
        const auto answers = q.queue.enqueue_many(batch);
        check.equal(answers_of(answers),
                    std::vector{intake::accepted, intake::duplicate, intake::conflict, intake::accepted});
        check.equal(answers.at(1).id, answers.at(0).id);
        check.equal(answers.at(2).id, answers.at(0).id);
        check.equal(q.rows().size(), 2);
        check.nothing(q.queue.enqueue_many(std::vector<job>{}));
    });

    to.add("where a conflict shall withhold all, nothing is written", [](in with, checker& check) {
        queue_in q{with};
        const job_id there = q.add({.key = "there", .payload = "p"});
        const auto before = q.rows();
        const std::vector<job> batch{{.key = "there", .payload = "p"}, {.key = "new", .payload = "1"},
                                     {.key = "new", .payload = "1"},   {.key = "there", .payload = "q"},
                                     {.key = "new", .payload = "2"},   {.payload = "no key"}};
        const auto answers = q.queue.enqueue_many(batch, on_conflict::nothing);
        check.equal(answers_of(answers), std::vector{intake::duplicate, intake::withheld, intake::withheld,
                                                     intake::conflict, intake::conflict, intake::withheld});
        check.equal(answers.at(0).id, there);
        check.equal(answers.at(3).id, there);
        for (const std::size_t own : {1U, 2U, 4U, 5U}) {
            check.equal(answers.at(own).id, job_id{});
        }
        check.equal(q.rows(), before);

        const std::vector<job> clean{{.key = "there", .payload = "p"}, {.key = "new", .payload = "1"}};
        check.equal(answers_of(q.queue.enqueue_many(clean, on_conflict::nothing)),
                    std::vector{intake::duplicate, intake::accepted});
        check.equal(q.rows().size(), 2);
    });

    to.add("an id is never used again", [](in with, checker& check) {
        queue_in q{with};
        job_id last{};
        for (int i = 0; i < 12; ++i) {
            const job_id made = q.add({.payload = "x"});
            check.that(made > last, "an id above all those before");
            last = made;
            check.applied(q.queue.finish(q.taken()));
            check.equal(q.queue.prune({}), 1);
        }
        check.nothing(q.rows());
    });
}

template <class Store>
void add_name_cases(case_list<Store> to) {
    using in = const bench<Store>&;

    to.add("names that look like numbers stay as they are", [](in with, checker& check) {
        queue_in q{with};
        const std::vector<std::string> names{"12",   "0012", " 12", "12 ", "1e3",  "1000",
                                             "0x10", "+5",   "-0",  "5.0", "NULL", "'"};
        for (const std::string& name : names) {
            check.equal(q.queue.enqueue({.queue = name, .key = name, .payload = name}).answer, intake::accepted);
            check.equal(q.queue.enqueue({.queue = "one", .key = name, .payload = name}).answer, intake::accepted);
        }
        for (const std::string& name : names) {
            const lease held = check.some(q.queue.claim(name, 1000ms, name));
            check.equal(held.queue, name);
            check.equal(held.key, name);
            check.equal(held.payload, name);
            check.equal(held.owner, name);
            check.equal(q.row("one", name).key, name);
            check.equal(q.row(held.id).owner, name);
            check.applied(q.queue.finish(held, name));
            check.equal(q.row(held.id).result, name);
        }
    });

    to.add("names of any script, and of the greatest length, come back as they are", [](in with, checker& check) {
        queue_in q{with};
        const std::string long_name = std::string(252, 'x') + "\xE2\x82\xAC";  // 255 bytes that end in one character
        const std::string scripts =
            "gr\xC3\xB6\xC3\x9F"
            "e \xE2\x98\x83 \xE6\xBC\xA2\xE5\xAD\x97 \xF0\x9F\x8C\xAF";
        for (const std::string& name : {scripts, long_name, std::string{"a\nb\tc"}}) {
            q.add({.queue = name, .key = name});
            const lease held = check.some(q.queue.claim(name, 1000ms, name));
            check.equal(held.owner, name);
            check.equal(q.row(name, name).owner, name);
            check.applied(q.queue.finish(held));
        }
    });

    to.add("no error text can make a failure fail", [](in with, checker& check) {
        queue_in q{with};
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
            q.add({.payload = "x", .max_attempts = 1000});
            lease held = q.taken();
            check.applied(q.queue.fail(held, given));
            check.equal(q.row(held.id).last_error, kept);
            held = q.taken();
            check.applied(q.queue.leave_receipt(held, given));
            check.equal(q.row(held.id).receipts.at(0).note, kept);
            check.applied(q.queue.quarantine(held, given));
            check.equal(q.row(held.id).reason, kept);
        }
    });
}

template <class Store>
void add_bounds_cases(case_list<Store> to) {
    to.add("a job that cannot be right is refused by name, and nothing is written", [](const bench<Store>& with,
                                                                                       checker& check) {
        queue_in q{with};
        q.clock.set(at(100));
        constexpr auto forever = std::chrono::hours::max();
        const std::string long_name(256, 'n');
        const std::vector<std::pair<job, std::string_view>> bad{
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
            {{.delay = forever, .expires_in = forever}, "delay"},
            {{.max_attempts = 0}, "max_attempts"},
            {{.max_attempts = -1}, "max_attempts"},
        };
        for (const auto& each : bad) {
            const std::vector<job> batch{{.payload = "fine"}, each.first};
            check.throws<std::invalid_argument>([&] { return q.queue.enqueue(each.first); }, {each.second});
            check.throws<std::invalid_argument>([&] { return q.queue.enqueue_many(batch); }, {"job 1", each.second});
        }
        check.nothing(q.rows());
        q.add({.not_before = at(199), .deadline = at(200)});
        q.add({.deadline = at(101), .max_attempts = 1});
        q.add({.priority = 127, .delay = 4ms, .expires_in = 5ms});
        q.add({.priority = -128, .not_before = at(1)});
        check.equal(q.rows().size(), 4);
    });
}

}  // namespace leasehold::inline v0_1_0::testing::detail
