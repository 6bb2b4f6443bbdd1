// SPDX-License-Identifier: MIT
/// The receiving side: an effect under a business ID is made once.
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include <leasehold/receiver_ledger.hpp>

#include "support/places.hpp"
#include "support/processes.hpp"

namespace {

using namespace places;

/// A ledger on a manual clock, with a table that effects are made in.
struct receiver {
    explicit receiver(journal_mode journal = journal_mode::rollback, std::optional<millis> forget_after = {})
        : ledger{folder / "effects.db",
                 {.file = {.journal = journal, .synchronous = synchronous_mode::off}, .forget_after = forget_after},
                 clock} {
        SQLite::Database{folder / "effects.db", SQLite::OPEN_READWRITE}.exec("CREATE TABLE effect (what TEXT)");
    }

    delivered apply(const std::string& id, const std::string& content, const std::optional<marker>& round = {}) {
        return ledger.apply(id, content, round, [&](SQLite::Database& database) {
            SQLite::Statement insert{database, "INSERT INTO effect VALUES (?)"};
            insert.bind(1, content);
            insert.exec();
            return "answer to " + content;
        });
    }
    int effects() const {
        SQLite::Database file{folder / "effects.db"};
        return file.execAndGet("SELECT count(*) FROM effect").getInt();
    }

    temporary_folder folder{};
    manual_clock clock{};
    basic_receiver_ledger<manual_clock> ledger;
};

marker round_of(std::int64_t token, std::int64_t job = 7, std::uint8_t store = 1) {
    marker round;
    round.store.bytes[0] = store;
    round.id = {job};
    round.owner = "A";
    round.token = {token};
    return round;
}

TEST_CASE("an unknown ID is applied, and the same content again is given the first answer", "[ledger]") {
    receiver to{GENERATE(journal_mode::rollback, journal_mode::wal)};
    const delivered first = to.apply("order-1", "one burrito", round_of(1));
    CHECK(first.what == delivery::applied);
    CHECK(first.answer == "answer to one burrito");
    for (const auto& round : {std::optional<marker>{}, std::optional{round_of(1)}, std::optional{round_of(0)},
                              std::optional{round_of(9)}, std::optional{round_of(1, 8)}}) {
        const delivered again = to.apply("order-1", "one burrito", round);
        CHECK(again.what == delivery::duplicate);
        CHECK(again.answer == first.answer);
        CHECK(again);
    }
    CHECK(to.effects() == 1);
    CHECK(to.apply("order-2", "one burrito").what == delivery::applied);
    CHECK(to.effects() == 2);
}

TEST_CASE("other content is stale from an older round of the same job, and else a conflict", "[ledger]") {
    receiver to;
    to.apply("k", "content", round_of(2));
    CHECK(to.apply("k", "other", round_of(1)).what == delivery::stale);
    CHECK(to.apply("k", "other", round_of(2)).what == delivery::conflict);
    CHECK(to.apply("k", "other", round_of(3)).what == delivery::conflict);
    CHECK(to.apply("k", "other", round_of(1, 8)).what == delivery::conflict);
    CHECK(to.apply("k", "other", round_of(1, 7, 2)).what == delivery::conflict);
    CHECK(to.apply("k", "other").what == delivery::conflict);
    CHECK_FALSE(to.apply("k", "other"));
    CHECK(to.apply("k", "").what == delivery::conflict);

    CHECK(to.apply("k", "content", round_of(5)).what == delivery::duplicate);  // the round that counts is 5 from now on
    CHECK(to.apply("k", "other", round_of(4)).what == delivery::stale);
    to.apply("bare", "content");
    CHECK(to.apply("bare", "other", round_of(1)).what == delivery::conflict);
    CHECK(to.effects() == 2);
}

TEST_CASE("content and answers are any bytes, and IDs are names", "[ledger]") {
    receiver to;
    const std::string bytes{"\0\xff\0", 3};
    const auto echo = [&](SQLite::Database&) { return bytes; };
    CHECK(to.ledger.apply("größe", bytes, {}, echo).answer == bytes);
    CHECK(to.ledger.apply("größe", bytes, {}, echo).answer == bytes);
    CHECK(to.ledger.apply("empty", "", {}, [](SQLite::Database&) {}).what == delivery::applied);
    CHECK(to.ledger.apply("empty", "", {}, [](SQLite::Database&) {}).what == delivery::duplicate);
    CHECK(to.ledger.apply("0012", "", {}, echo).what == delivery::applied);
    CHECK(to.ledger.apply("12", "", {}, echo).what == delivery::applied);
    for (const std::string& bad : {std::string{}, std::string(256, 'x'), std::string{"\xff"}}) {
        CHECK_THROWS_AS(to.ledger.apply(bad, "x", {}, echo), std::invalid_argument);
    }
}

TEST_CASE("an effect that throws leaves neither itself nor a record, and the next delivery makes it", "[ledger]") {
    receiver to;
    CHECK_THROWS_WITH(to.ledger.apply("k", "content", {},
                                      [](SQLite::Database& database) {
                                          database.exec("INSERT INTO effect VALUES ('half')");
                                          throw std::runtime_error{"no"};
                                      }),
                      "no");
    CHECK(to.effects() == 0);
    CHECK(to.apply("k", "content").what == delivery::applied);
    CHECK(to.effects() == 1);
}

TEST_CASE("an ID is remembered for as long as was said, and not longer", "[ledger]") {
    receiver to{journal_mode::rollback, 1000ms};
    to.apply("k", "content");
    to.clock.set(at(999));
    CHECK(to.apply("k", "content").what == delivery::duplicate);
    to.clock.set(at(1000));
    CHECK(to.apply("k", "content").what == delivery::applied);
    CHECK(to.effects() == 2);
    CHECK_THROWS_AS((receiver{journal_mode::rollback, 0ms}), std::invalid_argument);
}

TEST_CASE("two threads with one ID at once make one effect", "[ledger]") {
    receiver to;
    std::atomic<int> applied = 0;
    for (int round = 0; round < 50; ++round) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 2; ++i) {
            threads.emplace_back(
                [&] { applied += to.apply(std::to_string(round), "content").what == delivery::applied ? 1 : 0; });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
    }
    CHECK(applied == 50);
    CHECK(to.effects() == 50);
}

TEST_CASE("two processes with one ID at once make one effect", "[ledger]") {
    for (int round = 0; round < 20; ++round) {
        const receiver to;
        const auto reports = processes::run_together(
            2,
            [&](std::size_t) {
                return std::make_unique<basic_receiver_ledger<manual_clock>>(
                    to.folder / "effects.db", ledger_options{.file = {.busy_timeout = 30s}});
            },
            [](std::size_t, basic_receiver_ledger<manual_clock>& ledger) {
                return std::string{to_text(
                    ledger
                        .apply("k", "content", {},
                               [](SQLite::Database& database) { database.exec("INSERT INTO effect VALUES ('x')"); })
                        .what)};
            });
        CHECK((reports == std::vector<std::string>{"applied", "duplicate"} ||
               reports == std::vector<std::string>{"duplicate", "applied"}));
        CHECK(to.effects() == 1);
    }
}

TEST_CASE("a ledger and a queue may live in one file", "[ledger]") {
    const temporary_folder folder;
    const std::string path = folder / "both.db";
    receiver_ledger first{path};
    lease_queue queue{{path}};
    receiver_ledger second{path};
    lease_queue again{{path}};
    CHECK(first.apply("k", "c", {}, [](SQLite::Database&) {}).what == delivery::applied);
    CHECK(second.apply("k", "c", {}, [](SQLite::Database&) {}).what == delivery::duplicate);
    CHECK(again.enqueue({.key = "k"}).answer == intake::accepted);
    struct stat found {};
    REQUIRE(::stat(path.c_str(), &found) == 0);
    CHECK((found.st_mode & 0777U) == 0600);
    SQLite::Database{path, SQLite::OPEN_READWRITE}.exec("ALTER TABLE leasehold_ledger DROP COLUMN answer");
    CHECK_THROWS_WITH((receiver_ledger{path}), contains("leasehold_ledger") && contains("answer"));
}

}  // namespace
