// SPDX-License-Identifier: MIT
/// Stores of every schema that was released are opened by this version, which goes on with their work.
#include <cstdlib>
#include <iostream>
#include <string>

#include "postgres/place.hpp"
#include "release/released_store.hpp"

namespace {

using namespace places;

constexpr int newest = leasehold::detail::postgres::schema_version;

/// What the server says that our tables are.
std::string shape(const postgres& place) {
    return place.caller().run(
        "SELECT c.relname, c.relkind, c.reloptions, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, "
        "a.attidentity, a.attstorage, a.attcollation, pg_get_expr(d.adbin, d.adrelid), "
        "CASE c.relkind WHEN 'i' THEN pg_get_indexdef(c.oid) END "
        "FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 "
        "LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum "
        "WHERE c.relnamespace = 'leasehold'::regnamespace ORDER BY c.relname, a.attnum");
}

TEST_CASE("this version goes on with a store of every schema that was released", "[release]") {
    const int schema = GENERATE(range(1, newest + 1));
    const released::story kept = released::read(released::kept("postgres", schema));
    const postgres place;
    place.caller().run(kept.sql);
    {
        manual_clock clock;
        basic_lease_queue queue{place.store(), clock};
        released::goes_on(queue, clock, kept.marker);
    }
    const postgres fresh;
    { basic_lease_queue made{fresh.store(), manual_clock{}}; }
    CHECK(shape(place) == shape(fresh));
    std::cout << "figure: release: a server's store of schema " << schema << " goes on with schema " << newest << '\n';
}

TEST_CASE("a schema that was released is never changed under its number", "[release]") {
    const postgres old;
    old.caller().run(released::read(released::kept("postgres", newest)).sql);
    const postgres fresh;
    { basic_lease_queue made{fresh.store(), manual_clock{}}; }
    CHECK(shape(old) == shape(fresh));
}

TEST_CASE("keeps a store for later versions, where it is asked for", "[.keep]") {
    const char* const path = std::getenv("LEASEHOLD_KEPT_FILE");
    REQUIRE(path != nullptr);
    const postgres place;
    manual_clock clock{released::made_at};
    basic_lease_queue queue{place.store(), clock};
    files::write(path, "-- held: " + released::fill(queue) + '\n');
    // Less what is for psql alone, and what names the server that it was.
    const std::string dump = std::string{LEASEHOLD_POSTGRES_PROGRAMS} +
                             "/pg_dump --inserts --no-owner --no-privileges --schema=leasehold '" +
                             place.data.conninfo() + "' | sed '/^--/d; /^$/d; /^\\\\/d; /^SET /d; /set_config/d' >> '" +
                             path + "'";
    REQUIRE(std::system(dump.c_str()) == 0);  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace
