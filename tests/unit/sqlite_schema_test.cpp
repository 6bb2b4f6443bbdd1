// SPDX-License-Identifier: MIT
/// Files that were made by an older schema.
#include <algorithm>
#include <memory>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "support/files.hpp"
#include "support/places.hpp"
#include "support/processes.hpp"

namespace {

using namespace places;

/// Takes from a file what the second schema added.
template <class Place>
void make_old(const Place& place) {
    SQLite::Database file{place.path(), SQLite::OPEN_READWRITE};
    file.exec("DROP TABLE leasehold_anchor; UPDATE leasehold_meta SET schema_version = 1");
}

template <class Place>
std::int64_t version_of(const Place& place) {
    return SQLite::Database{place.path()}.execAndGet("SELECT schema_version FROM leasehold_meta");
}

TEMPLATE_TEST_CASE("a file of the first schema opens with all that it holds, and is of the newest then", "[sqlite]",
                   places::rollback_file, places::wal_file) {
    const TestType place;
    std::optional<lease> held;
    {
        lease_queue queue{place.store()};
        queue.enqueue({.key = "1", .payload = "x"});
        held = queue.claim("A", 1h);
        CHECK(queue.checkpoint(*held, "c"));
    }
    make_old(place);
    lease_queue queue{place.store()};
    CHECK(version_of(place) == 2);
    CHECK(queue.find("default", "1")->checkpoint == "c");
    CHECK(queue.finish(*held));
    CHECK_NOTHROW(lease_queue{place.store()});
}

TEST_CASE("a file of the first schema that is refused is not changed", "[sqlite]") {
    const rollback_file place;
    { const lease_queue made{place.store()}; }
    make_old(place);
    const std::string before = files::read(place.path());
    CHECK_THROWS_AS((basic_lease_queue<manual_clock, sqlite_store>{place.store()}), store_unsupported);
    CHECK_THROWS_AS((lease_queue{{place.path(), {.journal = journal_mode::wal}}}), store_unsupported);
    CHECK_THROWS_WITH((lease_queue{{place.path(), {.upgrade = false}}}),
                      contains("schema 1, and is not to be upgraded to schema 2"));
    CHECK(files::read(place.path()) == before);
}

TEMPLATE_TEST_CASE("any number of processes may open a file of the first schema at once", "[sqlite]",
                   places::rollback_file, places::wal_file) {
    for (int round = 0; round < 5; ++round) {
        const TestType place;
        { const lease_queue made{place.store()}; }
        make_old(place);
        const auto reports = processes::run_together(
            8, [&](std::size_t i) { return std::make_unique<std::string>(std::to_string(i)); },
            [&](std::size_t, const std::string& key) {
                return to_text(lease_queue{place.store()}.enqueue({.key = key}).answer);
            });
        REQUIRE(std::count(reports.begin(), reports.end(), "accepted") == 8);
        REQUIRE(version_of(place) == 2);
    }
}

}  // namespace
