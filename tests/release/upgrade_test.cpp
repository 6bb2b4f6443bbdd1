// SPDX-License-Identifier: MIT
/// Files of every schema that was released are opened by this version, which goes on with their work.
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include <SQLiteCpp/SQLiteCpp.h>

#include <leasehold/receiver_ledger.hpp>

#include "release/released_store.hpp"
#include "support/files.hpp"
#include "support/places.hpp"

namespace {

using namespace std::string_literals;

constexpr int newest = leasehold::detail::sqlite::schema_version;

constexpr std::string_view round_text = "000102030405060708090a0b0c0d0e0f/7/2";
const auto none = [](SQLite::Database&) { return "made anew"; };

std::string statements_in(const std::string& path) {
    SQLite::Database file{path, SQLite::OPEN_READONLY};
    SQLite::Statement query{file, "SELECT sql FROM sqlite_schema WHERE name LIKE 'leasehold%' ORDER BY name"};
    std::string all;
    while (query.executeStep()) {
        all += query.getColumn(0).getString() + '\n';
    }
    return all;
}

void make(const std::string& path, const std::string& sql) {
    SQLite::Database{path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE}.exec(sql);
}

TEST_CASE("this version goes on with a file of every schema that was released", "[release]") {
    const int schema = GENERATE(range(1, newest + 1));
    const places::temporary_folder folder;
    const std::string path = folder / "jobs.db";
    const released::story kept = released::read(released::kept("sqlite", schema));
    make(path, kept.sql);
    {
        leasehold::manual_clock clock;
        leasehold::basic_lease_queue queue{leasehold::sqlite_store{path}, clock};
        released::goes_on(queue, clock, kept.marker);
    }
    { leasehold::basic_lease_queue made{leasehold::sqlite_store{folder / "made.db"}, leasehold::manual_clock{}}; }
    CHECK(statements_in(path) == statements_in(folder / "made.db"));
    std::cout << "figure: release: a file of schema " << schema << " goes on with schema " << newest << '\n';
}

TEST_CASE("a schema that was released is never changed under its number", "[release]") {
    const places::temporary_folder folder;
    make(folder / "kept.db", released::read(released::kept("sqlite", newest)).sql);
    { leasehold::basic_lease_queue made{leasehold::sqlite_store{folder / "made.db"}, leasehold::manual_clock{}}; }
    CHECK(statements_in(folder / "kept.db") == statements_in(folder / "made.db"));
}

TEST_CASE("this version goes on with a receiver's ledger that was released", "[release]") {
    const places::temporary_folder folder;
    const std::string path = folder / "ledger.db";
    make(path, files::read(released::kept("ledger", 1).string()));
    leasehold::receiver_ledger ledger{path};
    { const leasehold::receiver_ledger made{folder / "made.db"}; }
    CHECK(statements_in(path) == statements_in(folder / "made.db"));

    const auto known = ledger.apply("order-1", "one burrito \0"s, {}, none);
    CHECK(known.what == leasehold::delivery::duplicate);
    CHECK(known.answer == "eaten \0 größe"s);
    CHECK(ledger.apply("order-1", "two", {}, none).what == leasehold::delivery::conflict);
    auto round = leasehold::claim_round::from_text(round_text);
    REQUIRE(round);
    CHECK(ledger.apply("order-2", "with its round", round, none).answer.empty());
    CHECK(ledger.apply("order-2", "other", round, none).what == leasehold::delivery::conflict);
    round->token.value = 1;
    CHECK(ledger.apply("order-2", "other", round, none).what == leasehold::delivery::stale);
    CHECK(ledger.apply("order-3", "new", round, none).what == leasehold::delivery::applied);
}

TEST_CASE("keeps a ledger for later versions, where it is asked for", "[.keep_ledger]") {
    const char* const path = std::getenv("LEASEHOLD_KEPT_FILE");
    REQUIRE(path != nullptr);
    leasehold::basic_receiver_ledger ledger{path, {}, leasehold::manual_clock{released::made_at}};
    ledger.apply("order-1", "one burrito \0"s, {}, [](SQLite::Database&) { return "eaten \0 größe"s; });
    ledger.apply("order-2", "with its round", leasehold::claim_round::from_text(round_text), [](SQLite::Database&) {});
}

TEST_CASE("keeps a file for later versions, where it is asked for", "[.keep]") {
    const char* const path = std::getenv("LEASEHOLD_KEPT_FILE");
    REQUIRE(path != nullptr);
    leasehold::manual_clock clock{released::made_at};
    leasehold::basic_lease_queue queue{leasehold::sqlite_store{path}, clock};
    std::cout << "-- held: " << released::fill(queue) << '\n';
}

}  // namespace
