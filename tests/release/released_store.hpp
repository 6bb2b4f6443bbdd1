// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <leasehold/leasehold.hpp>
#include <leasehold/manual_clock.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"

/// A store as a version that was released left it, and what any later version must make of it.
namespace released {

using namespace leasehold;
using namespace std::chrono_literals;
using namespace std::string_literals;

constexpr instant made_at{1'700'000'000'000ms};

/// The file in tests/release/schemas that keeps a store of one schema: a line with the marker of the lease that was
/// live, then SQL that makes the store again.
inline std::filesystem::path kept(std::string_view engine, int schema) {
    return std::filesystem::path{LEASEHOLD_SCHEMAS} / (std::string{engine} + "_" + std::to_string(schema) + ".sql");
}

/// A round of the one job of a queue.
template <class Queue>
lease round_of(Queue& queue, const std::string& name, millis lease_for = 10min) {
    std::optional<lease> held = queue.claim("A", lease_for, name);
    if (!held) {
        throw std::runtime_error{"nothing to claim in " + name};
    }
    return std::move(*held);
}

inline void must(bool is_applied) {
    if (!is_applied) {
        throw std::runtime_error{"a verb was rejected"};
    }
}

/// Jobs in every state there is, most in a queue of their own. The clock stands at `made_at`. Answers with the marker
/// of the one whose lease is live.
template <class Queue>
std::string fill(Queue& queue) {
    queue.enqueue({.key = "plain", .payload = "\0\xff\n'"s});
    queue.enqueue({.key = "urgent", .payload = "now", .priority = 7});
    queue.enqueue({.key = "later", .payload = "in an hour", .delay = 1h});
    for (const char* name : {"held", "failed", "released", "finished", "set aside", "cancelled"}) {
        queue.enqueue({.queue = name, .key = name, .payload = "größe"});
    }
    queue.enqueue({.queue = "used up", .max_attempts = 1});
    queue.enqueue({.queue = "short", .expires_in = 1h});

    const lease held = round_of(queue, "held", 2h);
    must(bool{queue.checkpoint(held, "half \0 way"s)});
    must(bool{queue.fail(round_of(queue, "failed"), "no route", 1h)});
    must(bool{queue.release(round_of(queue, "released"))});
    must(bool{queue.finish(round_of(queue, "finished"), "42")});
    const lease odd = round_of(queue, "set aside");
    must(bool{queue.leave_receipt(odd, "sent as 7")});
    must(bool{queue.quarantine(odd, "a person must look")});
    must(bool{queue.cancel(queue.find("cancelled", "cancelled")->id)});
    must(bool{queue.fail(round_of(queue, "used up"), "no")});
    return to_text(held);
}

/// What was ready is taken in order, with its bytes; keys are known.
template <class Queue>
void work_goes_on(Queue& queue) {
    CHECK(queue.enqueue({.key = "plain", .payload = "\0\xff\n'"s}).answer == intake::duplicate);
    CHECK(queue.enqueue({.key = "plain", .payload = "other"}).answer == intake::conflict);
    for (const std::string& payload : {"now"s, "\0\xff\n'"s}) {
        const auto next = queue.claim("B", 1min);
        REQUIRE(next);
        CHECK(next->payload == payload);
        CHECK(next->token.value == 1);
        CHECK(queue.finish(*next));
    }
    CHECK_FALSE(queue.claim("B", 1min));
    const job_id last = queue.enqueue({.queue = "new"}).id;
    for (const record& each : queue.list({.limit = 1000}).items) {
        CHECK(each.id <= last);
    }
}

/// A lease outlives the upgrade: its holder, who kept the marker as text, renews and finishes.
template <class Queue>
void the_holder_goes_on(Queue& queue, const std::string& kept_marker) {
    std::optional<marker> held = marker::from_text(kept_marker);
    REQUIRE(held);
    CHECK(queue.find("held", "held")->checkpoint == "half \0 way"s);
    CHECK(queue.renew(*held, 3h));
    CHECK(queue.finish(*held, "done"));
    CHECK(queue.find("held", "held")->result == "done");
}

/// What has ended says how, and can be sent back to work.
template <class Queue>
void ends_are_known(Queue& queue) {
    const auto finished = queue.find("finished", "finished");
    REQUIRE(finished);
    CHECK(finished->result == "42");
    CHECK(finished->payload == "größe");
    const settlement late = queue.finish(finished->marker());
    CHECK(late.why == verdict::finished);
    CHECK(late.ended_by_presented());

    const auto odd = queue.find("set aside", "set aside");
    REQUIRE(odd);
    CHECK(odd->reason == "a person must look");
    CHECK(queue.requeue(odd->id, odd->token));
    const lease again = round_of(queue, "set aside");
    CHECK(again.token.value == 2);
    REQUIRE(again.receipts.size() == 1);
    CHECK(again.receipts.front().note == "sent as 7");

    const auto cancelled = queue.find("cancelled", "cancelled");
    REQUIRE(cancelled);
    CHECK(cancelled->state == job_state::cancelled);
    CHECK(queue.requeue(cancelled->id, cancelled->token));
    CHECK(round_of(queue, "cancelled").payload == "größe");

    const auto used_up = queue.list({.queue = "used up"}).items;
    REQUIRE(used_up.size() == 1);
    CHECK(used_up.front().reason == to_text(dead_end::attempts_exhausted));
}

/// Delays, retries and deadlines come when they were to come.
template <class Queue>
void times_are_kept(Queue& queue, manual_clock& clock) {
    CHECK_FALSE(queue.claim("B", 1min, "failed"));
    CHECK(round_of(queue, "released").attempt == 1);
    clock.set(made_at + 1h);
    const lease retried = round_of(queue, "failed");
    CHECK(retried.attempt == 2);
    const auto row = queue.find(retried.id);
    CHECK(row->failures == 1);
    CHECK(row->last_error == "no route");
    CHECK(round_of(queue, "default").payload == "in an hour");
    CHECK_FALSE(queue.claim("B", 1min, "short"));
    CHECK(queue.list({.queue = "short"}).items.front().reason == to_text(dead_end::deadline_passed));
    CHECK(queue.prune({}) > 0);
    CHECK_FALSE(queue.find("finished", "finished"));
}

template <class Queue>
void goes_on(Queue& queue, manual_clock& clock, const std::string& kept_marker) {
    clock.set(made_at + 1min);
    work_goes_on(queue);
    the_holder_goes_on(queue, kept_marker);
    ends_are_known(queue);
    times_are_kept(queue, clock);
}

/// What `kept` holds.
struct story {
    std::string marker{};
    std::string sql{};
};

inline story read(const std::filesystem::path& from) {
    const std::string text = files::read(from.string());
    constexpr std::string_view title = "-- held: ";
    const std::size_t end = text.find('\n');
    if (text.rfind(title, 0) != 0 || end == std::string::npos) {
        throw std::runtime_error{"no store is kept in " + from.string() + ": see tests/release/keep_schema.sh"};
    }
    return {text.substr(title.size(), end - title.size()), text.substr(end + 1)};
}

}  // namespace released
