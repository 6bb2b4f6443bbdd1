// SPDX-License-Identifier: MIT
/// The file is damaged, or changed by another hand, under a queue that is running; then it is as it was.
#include <array>
#include <cstddef>
#include <fstream>
#include <functional>
#include <ios>
#include <string>
#include <string_view>

#include <SQLiteCpp/SQLiteCpp.h>
#include <unistd.h>

#include "fault/patient.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace fault;

/// All of the log is in the file, so that the file's bytes are what is read.
void tidy_up(const std::string& path) {
    SQLite::Database foreign{path, SQLite::OPEN_READWRITE};
    foreign.exec("PRAGMA wal_checkpoint(TRUNCATE)");
}

/// Overwrites a part of a file in place, without a lock: what a broken disk or program does.
void overwrite(const std::string& path, std::size_t from, std::string_view bytes) {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(static_cast<std::streamoff>(from));
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// Another connection commits something: whoever has pages in memory reads them anew. Undone, so that the file is as it
/// was but for its counter.
void let_pages_be_read_anew(const std::string& path) {
    SQLite::Database foreign{path, SQLite::OPEN_READWRITE};
    foreign.exec("CREATE TABLE other (x); DROP TABLE other");
}

struct change {
    std::string_view name;
    const char* done;
    bool spares_holders = false;  ///< a job's end and its renewal do without
};

constexpr std::array changes{
    change{"the jobs are renamed", "ALTER TABLE leasehold_job RENAME TO jobs"},
    change{"the jobs are dropped", "DROP TABLE leasehold_job"},
    change{"the payloads are renamed", "ALTER TABLE leasehold_payload RENAME TO gone", true},
    change{"the store's own row is dropped", "DROP TABLE leasehold_meta"},
};

TEMPLATE_TEST_CASE(
    "a table that is dropped or renamed under a queue is an error, and once it is back the queue goes on", "[fault]",
    places::rollback_file, places::wal_file) {
    for (const change& what : changes) {
        for (const verb asked : every_verb) {
            const places::temporary_folder folder{crash::quick_place()};
            patient ill{folder / "jobs.db", {.journal = TestType::journal, .busy_timeout = 1s}};
            const std::string saved = folder / "saved.db";
            SQLite::Database foreign{ill.path(), SQLite::OPEN_READWRITE};
            foreign.exec("PRAGMA legacy_alter_table = ON");
            foreign.backup(saved.c_str(), SQLite::Database::BackupType::Save);
            foreign.exec(what.done);
            const outcome was = ill.ask(asked);
            INFO(what.name << ", " << to_text(asked) << ": " << was.kind << ": " << was.text);
            if (what.spares_holders && (asked == verb::finish || asked == verb::renew)) {
                CHECK(!was.threw());
                continue;
            }
            CHECK(was.threw());
            CHECK(was.kind != "another exception");
            CHECK(was.kind != "store_unknown");
            CHECK(was.kind != "store_busy");
            foreign.backup(saved.c_str(), SQLite::Database::BackupType::Load);
            CHECK(ill.aftermath(asked, was) == "");
        }
    }
}

struct damage {
    std::string_view name;
    std::function<void(const std::string& path, const std::string& bytes)> done;
    bool spares_some = false;  ///< there are calls that need none of what is lost
};

const std::array damages{
    damage{"the header is overwritten", [](auto& path, auto&) { overwrite(path, 0, std::string(100, 'x')); }},
    damage{"the file is made of noise",
           [](auto& path, auto& bytes) { overwrite(path, 0, std::string(bytes.size(), '\xA5')); }},
    damage{"pages but the first are overwritten",
           [](auto& path, auto& bytes) { overwrite(path, 4096, std::string(bytes.size() - 4096, '\xA5')); }},
    damage{"the file is cut in half",
           [](auto& path, auto& bytes) { (void)!::truncate(path.c_str(), static_cast<off_t>(bytes.size() / 2)); },
           true},
    damage{"the file is cut within its first page", [](auto& path, auto&) { (void)!::truncate(path.c_str(), 700); }},
    damage{"the file is cut to nothing", [](auto& path, auto&) { (void)!::truncate(path.c_str(), 0); }},
};

TEMPLATE_TEST_CASE("a file that is damaged under a queue is an error, and once it is whole the queue goes on",
                   "[fault]", places::rollback_file, places::wal_file) {
    for (const damage& what : damages) {
        for (const verb asked : every_verb) {
            const places::temporary_folder folder{crash::quick_place()};
            patient ill{folder / "jobs.db", {.journal = TestType::journal, .busy_timeout = 1s}};
            let_pages_be_read_anew(ill.path());
            tidy_up(ill.path());
            const std::string bytes = files::read(ill.path());
            what.done(ill.path(), bytes);
            const outcome was = ill.ask(asked);
            INFO(what.name << ", " << to_text(asked) << ": " << was.kind << ": " << was.text);
            CHECK(was.kind != "another exception");
            if (asked != verb::find && asked != verb::open) {  // which may not meet the damage, or find an empty file
                CHECK((was.threw() || what.spares_some));
                CHECK(was.kind != "store_busy");
                CHECK(was.kind != "store_unknown");
            }
            (void)!::truncate(ill.path().c_str(), static_cast<off_t>(bytes.size()));
            overwrite(ill.path(), 0, bytes);
            CHECK(ill.aftermath(asked, was) == "");
        }
    }
}

}  // namespace
