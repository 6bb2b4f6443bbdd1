// SPDX-License-Identifier: MIT
/// Values in the place of payloads.
#include <cstdint>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <leasehold/typed_queue.hpp>
#include <leasehold/worker.hpp>

#include "support/places.hpp"
#include "support/troubled_store.hpp"

namespace {

using namespace places;

struct reading_of_a_meter {
    std::int32_t meter = 0;
    std::int32_t kilowatt_hours = 0;
    friend bool operator==(const reading_of_a_meter&, const reading_of_a_meter&) = default;
};

/// A number in decimal; `oops` makes the codec itself fail.
struct decimal_codec {
    static std::string encode(const int& value) { return std::to_string(value); }
    static decoded<int> decode(std::string_view bytes) {
        if (bytes == "oops") {
            throw std::runtime_error{"the codec has a fault"};
        }
        if (bytes == "no exception") {
            throw 7;
        }
        if (bytes.find_first_not_of("0123456789") != std::string_view::npos || bytes.empty()) {
            return undecodable{"not a number: " + std::string{bytes}};
        }
        return std::stoi(std::string{bytes});
    }
};

static_assert(codec_for<object_codec<reading_of_a_meter>, reading_of_a_meter>);
static_assert(codec_for<decimal_codec, int> && !codec_for<decimal_codec, std::string> && !codec_for<int, int>);
static_assert(std::is_copy_constructible_v<typed_queue<int, lease_queue>>);
static_assert(!std::is_copy_constructible_v<typed_lease<int>> && std::is_convertible_v<typed_lease<int>&, marker&>);

/// Numbers in a queue in a fresh place.
template <class Place>
struct numbers_in : queue_in<Place> {
    using queue_type = typename queue_in<Place>::queue_type;

    void enqueue(const std::vector<std::string>& payloads) {
        for (const std::string& payload : payloads) {
            this->queue.enqueue({.payload = payload});
        }
    }
    record find(std::int64_t id) { return *this->queue.find(job_id{id}); }
    std::uint64_t count(std::uint64_t queue_statistics::*which) { return this->queue.stats().queues[0].*which; }

    typed_queue<int, queue_type, decimal_codec> numbers{this->queue};
};

std::vector<int> values_of(const std::vector<typed_lease<int>>& held) {
    std::vector<int> values;
    for (const typed_lease<int>& each : held) {
        values.push_back(each.value);
    }
    return values;
}

TEMPLATE_TEST_CASE("a value comes out as it went in, and its lease settles as any other", "[typed]", EVERY_STORE) {
    queue_in<TestType> q;
    const typed_queue<reading_of_a_meter, typename queue_in<TestType>::queue_type> readings{q.queue};
    const reading_of_a_meter read{7, -1};
    CHECK(readings.enqueue(read, {.queue = "meters", .key = "7@may"}).answer == intake::accepted);
    CHECK(readings.enqueue(read, {.queue = "meters", .key = "7@may"}).answer == intake::duplicate);
    CHECK(readings.enqueue({7, 0}, {.queue = "meters", .key = "7@may"}).answer == intake::conflict);
    const auto row = q.queue.find("meters", "7@may");
    CHECK(std::get<reading_of_a_meter>(readings.value_of(*row)) == read);

    CHECK(!readings.claim("A", 1000ms));  // there is nothing in the default queue
    const auto held = readings.claim("A", 1000ms, "meters");
    REQUIRE(held);
    CHECK(held->value == read);
    CHECK(held->key == "7@may");
    CHECK(q.queue.finish(*held, "noted"));
    CHECK(q.queue.find(held->id)->result == "noted");
}

TEMPLATE_TEST_CASE("a job may name all but its payload, and goes into batches and sessions", "[typed]", EVERY_STORE) {
    numbers_in<TestType> q;
    CHECK_THROWS_WITH(q.numbers.enqueue(1, {.payload = "x"}), contains("payload"));
    const std::vector<job> jobs{q.numbers.as_job(1, {.priority = 1}), q.numbers.as_job(2, {.priority = 2})};
    q.queue.enqueue_many(jobs);
    q.queue.transact([&](auto& session) { session.enqueue(q.numbers.as_job(3, {.priority = 3})); });
    CHECK(values_of(q.numbers.claim_many("A", 1s, 10)) == std::vector{3, 2, 1});
    CHECK_THROWS_AS(q.numbers.claim_many("A", 1s, 0), std::invalid_argument);
}

TEMPLATE_TEST_CASE("a payload that does not decode is set aside by its first claim, with the reason", "[typed]",
                   EVERY_STORE) {
    numbers_in<TestType> q;
    q.enqueue({"x", "1", "y", "2", "3"});
    SECTION("one after the other") {
        CHECK(q.numbers.claim("A", 1s)->value == 1);
        CHECK(q.numbers.claim("A", 1s)->value == 2);
    }
    SECTION("many at once: as many as were asked for, while there are") {
        CHECK(values_of(q.numbers.claim_many("A", 1s, 2)) == std::vector{1, 2});
        CHECK(q.find(5).state == job_state::ready);
    }
    CHECK(q.find(1).state == job_state::quarantined);
    CHECK(q.find(1).reason == "not a number: x");
    CHECK(q.find(1).attempt == 1);
    CHECK(q.find(1).ended_by == ender::holder);
    CHECK(q.find(3).reason == "not a number: y");
    CHECK(q.find(1).payload == "x");  // for the person who looks
}

TEMPLATE_TEST_CASE("nothing but what does not decode is an empty queue", "[typed]", EVERY_STORE) {
    numbers_in<TestType> q;
    q.enqueue({"x", "y", "z"});
    CHECK(!q.numbers.claim("A", 1s));
    CHECK(q.count(&queue_statistics::quarantined) == 3);
    q.enqueue({"x", "y", "z"});
    CHECK(q.numbers.claim_many("A", 1s, 2).empty());
    CHECK(q.count(&queue_statistics::quarantined) == 6);
    q.enqueue({"x"});
    CHECK(!q.numbers.wait_claim({}, {.owner = "A", .lease_for = 1s, .wait = millis{}}));
    CHECK(q.count(&queue_statistics::quarantined) == 7);
}

TEMPLATE_TEST_CASE("a waiting claim goes on past what does not decode, for no longer than it may wait", "[typed]",
                   EVERY_STORE) {
    numbers_in<TestType> q;
    q.enqueue({"x", "4"});
    const claim_terms terms{.owner = "A", .lease_for = 1h, .wait = 5s};
    const auto held = q.numbers.wait_claim({}, terms);
    REQUIRE(held);
    CHECK(held->value == 4);
    CHECK(q.queue.finish(*held));

    // A codec that takes its time: the clock stands at the end of the wait when it has refused.
    struct slow_codec : decimal_codec {
        decoded<int> decode(std::string_view bytes) const {
            clock.advance(5s);
            return decimal_codec::decode(bytes);
        }
        mutable manual_clock clock;
    };
    const typed_queue<int, typename numbers_in<TestType>::queue_type, slow_codec> slow{q.queue, {{}, q.clock}};
    q.enqueue({"x"});
    CHECK(!slow.wait_claim({}, terms));
    CHECK(q.clock.now() == at(5000));
}

TEMPLATE_TEST_CASE("the next of a finish that does not decode is set aside, and the caller told to claim", "[typed]",
                   EVERY_STORE) {
    numbers_in<TestType> q;
    q.enqueue({"1", "2", "x", "3"});
    const claim_terms terms{.owner = "A", .lease_for = 1s};
    auto held = q.numbers.claim("A", 1s);
    auto both = q.numbers.finish_and_claim(*held, "done", terms);
    CHECK(both.finished);
    REQUIRE(both.next);
    CHECK(both.next->value == 2);
    CHECK_FALSE(both.more);
    both = q.numbers.finish_and_claim(*both.next, "done", terms);
    CHECK(both.finished);
    CHECK(!both.next);
    CHECK(both.more);
    CHECK(q.find(3).state == job_state::quarantined);
    both = q.numbers.finish_and_claim(*q.numbers.claim("A", 1s), "done", terms);
    CHECK(both.finished);
    CHECK(!both.next);
    CHECK_FALSE(both.more);
}

TEMPLATE_TEST_CASE("a codec that throws fails the attempt, and the job is set aside after its last", "[typed]",
                   EVERY_STORE) {
    numbers_in<TestType> q;
    q.queue.enqueue({.payload = "oops", .max_attempts = 2});
    q.enqueue({"1", "2"});
    CHECK_THROWS_WITH(q.numbers.claim("A", 1s), "the codec has a fault");
    CHECK(q.find(1).last_error == "the codec has a fault");
    CHECK(q.find(1).state == job_state::ready);

    // It is behind the others now; what else was claimed goes back unspent, on both sides of it.
    q.enqueue({"3"});
    CHECK_THROWS_WITH(q.numbers.claim_many("A", 1s, 4), "the codec has a fault");
    CHECK(q.count(&queue_statistics::ready) == 3);
    for (const std::int64_t id : {2, 3, 4}) {
        CHECK(q.find(id).attempt == 0);
        CHECK(q.find(id).token == claim_token{1});
    }
    CHECK(q.find(1).state == job_state::quarantined);
    CHECK(q.find(1).reason == to_text(dead_end::attempts_exhausted));
    CHECK(values_of(q.numbers.claim_many("A", 1s, 10)) == std::vector{1, 2, 3});

    q.queue.enqueue({.queue = "other", .payload = "no exception", .max_attempts = 1});
    CHECK_THROWS_AS(q.numbers.claim("A", 1s, "other"), int);
    CHECK(q.find(5).state == job_state::quarantined);
}

TEST_CASE("a fault of the store while a job is set aside is thrown, and what else was claimed goes back", "[typed]") {
    troubled::control control;
    manual_clock clock;
    basic_lease_queue queue{troubled::store{control}, clock};
    // The second job's refusal turns the store against the third transaction: the one that sets it aside.
    struct turning_codec : decimal_codec {
        decoded<int> decode(std::string_view bytes) const {
            if (bytes == "x") {
                by->set(troubled::trouble::busy, 1);
            }
            return decimal_codec::decode(bytes);
        }
        troubled::control* by;
    };
    const typed_queue<int, decltype(queue), turning_codec> numbers{queue, {{}, &control}};
    for (const char* payload : {"1", "x", "2"}) {
        queue.enqueue({.payload = payload});
    }
    CHECK_THROWS_AS(numbers.claim_many("A", 1s, 3), store_busy);
    CHECK(queue.find(job_id{1})->state == job_state::ready);
    CHECK(queue.find(job_id{1})->attempt == 0);
    CHECK(queue.find(job_id{3})->attempt == 0);
    CHECK(queue.find(job_id{2})->state == job_state::leased);  // until it lapses; the next claim meets it again
    clock.advance(1s);
    CHECK(values_of(numbers.claim_many("A", 1s, 2)) == std::vector{1, 2});
    CHECK_THROWS_AS(numbers.claim("A", 1s), store_busy);
}

TEMPLATE_TEST_CASE("a worker's handler takes values; what does not decode is set aside and never handled", "[typed]",
                   EVERY_STORE) {
    numbers_in<TestType> q;
    q.enqueue({"x", "1", "2", "oops", "3"});
    std::vector<int> seen;
    worker w{q.queue,
             {.owner = "W", .retry_after = {.first = 100ms, .jitter_percent = 0}},
             q.numbers.handler([&](const int& value, const claimed_job& job, auto& context) -> outcome {
                 CHECK(job.payload == std::to_string(value));
                 CHECK(context.time_left() > millis{});
                 seen.push_back(value);
                 return value == 2 ? outcome{retry{.after = 1h}} : done{.result = "!"};
             })};
    while (w.claim() || w.handle()) {
    }
    CHECK(seen == std::vector{1, 2, 3});
    CHECK(w.counts() == worker_counts{.claimed = 5, .finished = 2, .failed = 2, .set_aside = 1});
    CHECK(q.find(1).reason == "not a number: x");
    CHECK(q.find(2).result == "!");
    CHECK(q.find(4).last_error == "the codec has a fault");
}

TEMPLATE_TEST_CASE("a typed handler may return nothing", "[typed]", EVERY_STORE) {
    numbers_in<TestType> q;
    q.enqueue({"x", "1"});
    int sum = 0;
    worker w{q.queue, {.owner = "W"}, q.numbers.handler([&](int value, const auto&, auto&) { sum += value; })};
    while (w.claim() || w.handle()) {
    }
    CHECK(sum == 1);
    CHECK(w.counts() == worker_counts{.claimed = 2, .finished = 1, .set_aside = 1});
}

TEST_CASE("bytes of another length are no object's, and the reason says so", "[typed]") {
    const object_codec<reading_of_a_meter> codec;
    for (const std::size_t size : {0U, 1U, 7U, 9U, 1000U}) {
        const auto read = codec.decode(std::string(size, '\xFF'));
        REQUIRE(std::holds_alternative<undecodable>(read));
        CHECK(std::get<undecodable>(read).why == "the payload has " + std::to_string(size) + " bytes, not 8");
    }
    const reading_of_a_meter any{-5, 1 << 30};
    CHECK(std::get<reading_of_a_meter>(codec.decode(codec.encode(any))) == any);
}

TEMPLATE_TEST_CASE("a reason of any bytes and any length does not keep a job from being set aside", "[typed]",
                   EVERY_STORE) {
    numbers_in<TestType> q;
    const std::string hostile = std::string("\0\xFF\x1B[2J", 6) + std::string(100'000, 'x');
    q.enqueue({hostile});
    CHECK(!q.numbers.claim("A", 1s));
    CHECK(q.find(1).state == job_state::quarantined);
    CHECK(q.find(1).reason.size() <= 4096);
    CHECK_THAT(q.find(1).reason, contains("not a number: "));
    CHECK(q.find(1).payload == hostile);
}

}  // namespace
