// SPDX-License-Identifier: MIT
/// Somebody else has the file locked, with no regard for the turnstile.
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "fault/patient.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace fault;

TEMPLATE_TEST_CASE("while a foreign transaction has the file for itself every call is busy, and after it none is",
                   "[fault]", places::rollback_file, places::wal_file) {
    for (const verb asked : every_verb) {
        const places::temporary_folder folder{crash::quick_place()};
        patient ill{folder / "jobs.db", {.journal = TestType::journal, .busy_timeout = 50ms}};
        outcome was;
        {
            SQLite::Database foreign{ill.path(), SQLite::OPEN_READWRITE};
            foreign.exec("BEGIN EXCLUSIVE");
            was = ill.ask(asked);
            foreign.exec("ROLLBACK");
        }
        INFO(to_text(asked) << ": " << was.kind << ": " << was.text);
        const bool reads = asked == verb::find || asked == verb::open;
        if (TestType::journal == journal_mode::wal && reads) {
            CHECK(!was.threw());  // a log's readers wait for nobody
        } else {
            CHECK(was.kind == "store_busy");
            CHECK((was.code & 0xFF) == SQLITE_BUSY);
        }
        CHECK(ill.aftermath(asked, was) == "");
    }
}

TEMPLATE_TEST_CASE("a reader that stays across a commit keeps a rollback journal's writers waiting, and no others",
                   "[fault]", places::rollback_file, places::wal_file) {
    for (const verb asked : every_verb) {
        const places::temporary_folder folder{crash::quick_place()};
        patient ill{folder / "jobs.db", {.journal = TestType::journal, .busy_timeout = 50ms}};
        outcome was;
        {
            SQLite::Database foreign{ill.path(), SQLite::OPEN_READONLY};
            foreign.exec("BEGIN");
            (void)foreign.execAndGet("SELECT count(*) FROM leasehold_job");
            was = ill.ask(asked);
        }
        INFO(to_text(asked) << ": " << was.kind << ": " << was.text);
        const bool writes = asked != verb::find && asked != verb::open;
        CHECK(was.kind == (writes && TestType::journal == journal_mode::rollback ? "store_busy" : "nothing"));
        CHECK(ill.aftermath(asked, was) == "");
    }
}

}  // namespace
