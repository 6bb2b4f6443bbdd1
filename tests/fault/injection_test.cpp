// SPDX-License-Identifier: MIT
/// Texts from outside that would do harm in a statement or a path are texts, and come back to the letter.
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include <leasehold/manual_clock.hpp>
#include <leasehold/receiver_ledger.hpp>

#include "support/catch.hpp"
#include "support/places.hpp"

namespace {

using namespace places;

const std::array hostile_texts{
    std::string{"'"},
    std::string{"''; DROP TABLE leasehold_job; --"},
    std::string{"x'); DELETE FROM leasehold_payload; --"},
    std::string{"\" OR \"\"=\""},
    std::string{"%' OR '1'='1"},
    std::string{"?1"},
    std::string{":name @name $name"},
    std::string{"/* */ ; -- \n"},
    std::string{"PRAGMA synchronous = OFF"},
    std::string{"ATTACH DATABASE '/tmp/x' AS x"},
    std::string{"*"},
    std::string{"_%"},
    std::string{"NULL"},
    std::string{"../../etc/passwd"},
    std::string{"file:x?mode=memory"},
    std::string{"\xC2\xA0\xE2\x80\xAE\xF0\x9F\x92\xA9"},
    std::string{"\x01\x1B[2J"},
};

TEMPLATE_TEST_CASE("whatever a text says, it is kept as text, and nothing else changes", "[fault]", places::memory,
                   places::rollback_file, places::wal_file) {
    TestType place;
    manual_clock clock{at(1000)};
    basic_lease_queue queue{place.store(), clock};
    const auto bystander = queue.enqueue({.queue = "bystander", .key = "b", .payload = "b"});
    const auto untouched = queue.find(bystander.id);
    for (const std::string& text : hostile_texts) {
        INFO(text);
        // A job that a text with a meaning of its own would take as well.
        const auto other = queue.enqueue({.queue = "q"});
        const auto made = queue.enqueue({.queue = text, .key = text, .payload = text, .max_attempts = 9});
        REQUIRE(made.answer == intake::accepted);
        CHECK(queue.enqueue({.queue = text, .key = text, .payload = text, .max_attempts = 9}).answer ==
              intake::duplicate);
        auto held = queue.claim(text, 1h, text);
        REQUIRE(held);
        CHECK(held->id == made.id);
        CHECK(held->owner == text);
        CHECK(held->queue == text);
        CHECK(held->key == text);
        CHECK(held->payload == text);
        CHECK(queue.renew(*held, 2h));
        CHECK(queue.checkpoint(*held, text));
        CHECK(queue.leave_receipt(*held, text));
        CHECK(queue.fail(*held, text));
        held = queue.claim(text, 1h, text);
        REQUIRE(held);
        CHECK(held->checkpoint == text);
        CHECK(queue.quarantine(*held, text));
        CHECK(queue.find(made.id)->reason == text);
        CHECK(queue.find(made.id)->last_error == text);
        CHECK(queue.requeue(made.id, queue.find(made.id)->token));
        held = queue.claim(text, 1h, text);
        REQUIRE(held);
        CHECK(queue.finish(*held, text));
        const auto found = queue.find(text, text);
        REQUIRE(found);
        CHECK(found->result == text);
        REQUIRE(found->receipts.size() == 1);
        CHECK(found->receipts.front().note == text);
        CHECK(queue.list({.queue = text}).items.size() == 1);
        CHECK(queue.find(other.id)->state == job_state::ready);
        CHECK(queue.find(bystander.id) == untouched);
        CHECK(queue.cancel(other.id, {}));
        CHECK(queue.find(other.id)->state == job_state::cancelled);
    }
    CHECK(queue.list({.limit = 1000}).items.size() == 2 * hostile_texts.size() + 1);
}

TEST_CASE("a ledger keeps whatever a text says as text", "[fault]") {
    const temporary_folder folder;
    receiver_ledger ledger{folder / "ledger.db"};
    lease_queue queue{{folder / "jobs.db"}};
    queue.enqueue({});
    const auto held = queue.claim("A", 1h);
    REQUIRE(held);
    int effects = 0;
    for (const std::string& text : hostile_texts) {
        for (int i = 0; i < 2; ++i) {
            const auto told = ledger.apply(text, text, *held, [&](SQLite::Database&) {
                ++effects;
                return text;
            });
            CHECK(told.answer == text);
        }
    }
    CHECK(effects == static_cast<int>(hostile_texts.size()));
}

}  // namespace
