// SPDX-License-Identifier: MIT
/// What the SQLite store makes of a file, and what it leaves alone.
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/stat.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include "support/files.hpp"
#include "support/places.hpp"

namespace {

using namespace places;

/// Somebody else's connection to the file.
SQLite::Database foreign(const std::string& path) {
    return SQLite::Database{path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
}

std::string asked(SQLite::Database& database, const std::string& question) {
    return database.execAndGet(question).getString();
}

TEST_CASE("a new file is private to its user, whatever the mask, and keeps a rollback journal", "[sqlite]") {
    const temporary_folder folder;
    const std::string path = folder / "jobs.db";
    const mode_t mask = ::umask(0);
    {
        lease_queue queue{{path}};
        queue.enqueue({.payload = "x"});
        for (const char* name : {"jobs.db", "jobs.db-journal"}) {
            struct stat found {};
            REQUIRE(::stat((folder / name).c_str(), &found) == 0);
            CHECK((found.st_mode & 0777U) == 0600);
        }
        lease_queue shared{{folder / "shared.db", {.journal = journal_mode::wal, .file_mode = 0660}}};
        shared.enqueue({.payload = "x"});
        for (const char* name : {"shared.db", "shared.db-wal", "shared.db-shm"}) {
            struct stat found {};
            REQUIRE(::stat((folder / name).c_str(), &found) == 0);
            CHECK((found.st_mode & 0777U) == 0660);
        }
    }
    ::umask(mask);
    auto file = foreign(path);
    CHECK(asked(file, "PRAGMA journal_mode") == "delete");
    CHECK(asked(file, "PRAGMA integrity_check") == "ok");
    for (const auto& entry : std::filesystem::directory_iterator{folder.path()}) {
        CHECK(entry.path().filename().string().find(".leasehold-") == std::string::npos);
    }
}

TEST_CASE("tables are strict, ids are never used again, and every name begins with leasehold_", "[sqlite]") {
    const rollback_file place;
    { lease_queue queue{place.store()}; }
    auto file = foreign(place.path());
    CHECK(asked(file,
                "SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE 'leasehold\\_%' ESCAPE '\\' "
                "AND name <> 'sqlite_sequence'") == "0");
    CHECK(asked(file, "SELECT count(*) FROM pragma_table_list WHERE name LIKE 'leasehold%' AND strict = 0") == "0");
    CHECK_THAT(asked(file, "SELECT sql FROM sqlite_schema WHERE name = 'leasehold_job'"),
               contains("INTEGER PRIMARY KEY AUTOINCREMENT"));
}

TEST_CASE("an application's file keeps what is the application's", "[sqlite]") {
    const std::string mode = GENERATE("delete", "wal", "persist");
    const temporary_folder folder;
    const std::string path = folder / "app.db";
    {
        auto app = foreign(path);
        app.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT)");
        app.exec("INSERT INTO orders VALUES (1, 'größe')");
        app.exec("PRAGMA user_version = 7");
        app.exec("PRAGMA application_id = 4242");
        CHECK(asked(app, "PRAGMA journal_mode = " + mode) == mode);
    }
    {
        lease_queue queue{{path}};
        queue.enqueue({.queue = "q☃", .key = "größe", .payload = std::string{"\0\xff", 2}});
        const auto held = queue.claim("漢字", 1h, "q☃");
        REQUIRE(held);
        CHECK(held->key == "größe");
        CHECK(held->payload == std::string{"\0\xff", 2});
        CHECK(queue.quarantine(*held, "ü"));
        CHECK(queue.find(held->id)->owner == "漢字");
        CHECK(queue.find("q☃", "größe")->reason == "ü");
    }
    auto app = foreign(path);
    CHECK(asked(app, "PRAGMA user_version") == "7");
    CHECK(asked(app, "PRAGMA application_id") == "4242");
    CHECK(asked(app, "PRAGMA journal_mode") == (mode == "wal" ? "wal" : "delete"));
    CHECK(std::string{app.execAndGet("SELECT what FROM orders").getText()} == "größe");
}

TEST_CASE("a file whose texts are not UTF-8 is refused, since names would not come back exactly", "[sqlite]") {
    const temporary_folder folder;
    const std::string path = folder / "app.db";
    {
        auto app = foreign(path);
        app.exec("PRAGMA encoding = 'UTF-16le'");
        app.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT)");
    }
    const std::string before = files::read(path);
    CHECK_THROWS_AS((lease_queue{{path}}), store_unsupported);
    CHECK_THROWS_WITH((lease_queue{{path}}), contains("UTF-16le"));
    CHECK(files::read(path) == before);
}

TEST_CASE("an empty file that is there is taken as new, with the journal asked for", "[sqlite]") {
    const journal_mode journal = GENERATE(journal_mode::rollback, journal_mode::wal);
    const temporary_folder folder;
    const std::string path = folder / "jobs.db";
    std::ofstream{path};
    {
        auto other = foreign(path);
        other.exec("BEGIN IMMEDIATE");
        const sqlite_options impatient{.journal = journal, .busy_timeout = 20ms};
        CHECK_THROWS_AS((lease_queue{{path, impatient}}), store_busy);
    }
    lease_queue queue{{path, {.journal = journal}}};
    CHECK(queue.enqueue({.payload = "x"}).answer == intake::accepted);
    auto file = foreign(path);
    CHECK(asked(file, "PRAGMA journal_mode") == (journal == journal_mode::wal ? "wal" : "delete"));
}

TEST_CASE("a duplicate writes nothing at all", "[sqlite]") {
    const rollback_file place;
    lease_queue queue{place.store()};
    queue.enqueue({.key = "k", .payload = "x"});
    const std::string before = files::read(place.path());
    CHECK(queue.enqueue({.key = "k", .payload = "x"}).answer == intake::duplicate);
    CHECK(queue.enqueue({.key = "k", .payload = "y"}).answer == intake::conflict);
    CHECK(files::read(place.path()) == before);
    CHECK(queue.enqueue({.key = "next"}).id == job_id{2});
}

TEST_CASE("a journal that is asked for and is not there is refused, naming both", "[sqlite]") {
    const temporary_folder folder;
    const std::string path = folder / "jobs.db";
    const sqlite_options wal{.journal = journal_mode::wal};
    const sqlite_options rollback{.journal = journal_mode::rollback};
    { lease_queue queue{{path}}; }
    { lease_queue queue{{path, rollback}}; }
    const std::string before = files::read(path);
    CHECK_THROWS_AS((lease_queue{{path, wal}}), store_unsupported);
    CHECK_THROWS_WITH((lease_queue{{path, wal}}), contains("rollback journal") && contains("write-ahead log"));
    CHECK(files::read(path) == before);

    {
        lease_queue queue{{path}};
        queue.enqueue({.payload = "x"});
    }
    set_journal(path, journal_mode::wal);
    { lease_queue queue{{path, wal}}; }
    CHECK_THROWS_AS((lease_queue{{path, rollback}}), store_unsupported);
    {
        lease_queue queue{{path}};  // unset: as it is
        queue.stats();
        CHECK_THROWS_AS(set_journal(path, journal_mode::rollback, 50ms), store_busy);
        CHECK(queue.list().items.size() == 1);
    }
    set_journal(path, journal_mode::rollback);
    { lease_queue queue{{path, rollback}}; }
}

TEST_CASE("a file with another schema is refused by name, and its bytes stay as they are", "[sqlite]") {
    const journal_mode journal = GENERATE(journal_mode::rollback, journal_mode::wal);
    const temporary_folder folder;
    const std::string path = folder / "jobs.db";
    {
        lease_queue queue{{path, {.journal = journal}}};
        queue.enqueue({.payload = "x"});
    }
    const auto [change, named] = GENERATE(table<std::string, std::vector<std::string>>({
        {"UPDATE leasehold_meta SET schema_version = 3", {"schema 3", "schema 2"}},
        {"UPDATE leasehold_meta SET schema_version = 1", {"leasehold_anchor"}},
        {"UPDATE leasehold_meta SET schema_version = 0", {"schema 0"}},
        {"DROP TABLE leasehold_meta", {"leasehold_meta"}},
        {"ALTER TABLE leasehold_meta DROP COLUMN clock_axis", {"leasehold_meta", "clock_axis"}},
        {"ALTER TABLE leasehold_job DROP COLUMN lapses", {"leasehold_job", "lapses"}},
        {"ALTER TABLE leasehold_job RENAME COLUMN token TO claim", {"leasehold_job", "token"}},
        {"ALTER TABLE leasehold_receipt DROP COLUMN note", {"leasehold_receipt", "note"}},
        {"ALTER TABLE leasehold_payload RENAME COLUMN bytes TO b", {"leasehold_payload", "bytes"}},
        {"DROP TABLE leasehold_result", {"table leasehold_result"}},
        {"DROP TABLE leasehold_anchor", {"table leasehold_anchor"}},
        {"DROP INDEX leasehold_key", {"index leasehold_key"}},
        {"DROP INDEX leasehold_open", {"index leasehold_open"}},
        {"UPDATE leasehold_meta SET schema_version = 9; ALTER TABLE leasehold_job DROP COLUMN lapses", {"schema 9"}},
    }));
    {
        auto file = foreign(path);
        file.exec(change);
    }
    const std::string before = files::read(path);
    CHECK_THROWS_AS((lease_queue{{path}}), store_unsupported);
    for (const std::string& name : named) {
        CHECK_THROWS_WITH((lease_queue{{path}}), contains(name));
    }
    CHECK(files::read(path) == before);
}

TEST_CASE("a store that says nothing of itself that can be read is refused as corrupt", "[sqlite]") {
    const rollback_file place;
    { lease_queue queue{place.store()}; }
    const std::string change = GENERATE("DELETE FROM leasehold_meta", "UPDATE leasehold_meta SET store_id = x'0102'");
    {
        auto file = foreign(place.path());
        file.exec(change);
    }
    CHECK_THROWS_AS((lease_queue{place.store()}), store_corrupt);
    CHECK_THROWS_WITH((lease_queue{place.store()}), contains("leasehold_meta"));
}

TEST_CASE("where the process goes does not matter to a queue that was opened by a relative path", "[sqlite]") {
    const temporary_folder here;
    const temporary_folder there;
    const std::filesystem::path before = std::filesystem::current_path();
    { lease_queue other{{there / "jobs.db"}}; }
    std::filesystem::current_path(here.path());
    lease_queue queue{{"jobs.db"}};
    queue.enqueue({.key = "mine"});
    std::filesystem::current_path(there.path());
    CHECK(queue.find("default", "mine"));
    CHECK(queue.claim("A", 1h));
    std::filesystem::current_path(before);
}

TEST_CASE("a queue that is running learns of a newer schema before it writes", "[sqlite]") {
    const rollback_file place;
    lease_queue queue{place.store()};
    queue.enqueue({.payload = "x"});
    {
        auto file = foreign(place.path());
        file.exec("UPDATE leasehold_meta SET schema_version = 3");
    }
    CHECK_THROWS_AS(queue.claim("A", 1h), store_unsupported);
    CHECK_THROWS_AS(queue.list(), store_unsupported);
    {
        auto file = foreign(place.path());
        file.exec("UPDATE leasehold_meta SET schema_version = 2");
    }
    CHECK(queue.claim("A", 1h));
}

TEST_CASE("what a file holds is not trusted", "[sqlite]") {
    const rollback_file place;
    lease_queue queue{place.store()};
    queue.enqueue({.payload = "x"});
    const auto held = queue.claim("A", 1h);
    const std::string change =
        GENERATE("state = 5", "state = -1", "token = -1", "attempt = -1", "max_attempts = 0", "attempt = 4294967297",
                 "priority = 99999999999", "owner = NULL", "lease_until = NULL", "state = 2", "ended_by = 3",
                 "waits = 0", "waits = 7", "vests_at = 0", "lapses = -1", "failures = -1");
    {
        auto file = foreign(place.path());
        file.exec("PRAGMA ignore_check_constraints = ON");
        file.exec("UPDATE leasehold_job SET " + change);
    }
    CHECK_THROWS_AS(queue.find(held->id), store_corrupt);
    CHECK_THROWS_WITH(queue.find(held->id), contains("job 1 has"));
    CHECK_THROWS_AS(queue.finish(*held), store_corrupt);
    {
        auto file = foreign(place.path());
        file.exec(
            "UPDATE leasehold_job SET state = 1, token = 1, attempt = 1, max_attempts = 5, priority = 0, owner = 'A', "
            "waits = 1, lapses = 0, failures = 0, vests_at = " +
            to_text(held->lease_until) +
            ", "
            "ended_by = NULL, lease_until = " +
            to_text(held->lease_until));
    }
    CHECK(queue.finish(*held));
}

TEST_CASE("a path that names no file is refused, and one that looks like something else is a file", "[sqlite]") {
    for (const std::string& bad : {std::string{}, std::string{":memory:"}, std::string{"a\0b", 3}}) {
        CHECK_THROWS_AS(sqlite_store{bad}, std::invalid_argument);
    }
    const temporary_folder folder;
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder.path());
    { lease_queue queue{{"file:x?mode=memory"}}; }
    { lease_queue queue{{"-jobs"}}; }
    std::filesystem::current_path(before);
    CHECK(std::filesystem::exists(folder / "file:x?mode=memory"));
    CHECK(std::filesystem::exists(folder / "-jobs"));
    CHECK_THROWS_AS((lease_queue{{folder / "no such folder/jobs.db"}}), store_error);
    CHECK_THROWS_AS((lease_queue{{folder.path().string()}}), store_error);
}

TEST_CASE("a file that is no database is refused, and stays as it is", "[sqlite]") {
    const temporary_folder folder;
    const std::string path = folder / "notes.txt";
    std::ofstream{path} << std::string(5000, 'n');
    CHECK_THROWS_AS((lease_queue{{path}}), store_corrupt);
    CHECK(files::read(path) == std::string(5000, 'n'));
}

TEMPLATE_TEST_CASE("a busy answer leaves nothing behind", "[sqlite]", places::rollback_file, places::wal_file) {
    TestType place;
    lease_queue queue{sqlite_store{place.path(), {.journal = place.journal, .busy_timeout = 20ms}}};
    queue.enqueue({.payload = "x"});
    auto other = foreign(place.path());
    other.exec("BEGIN IMMEDIATE");
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(queue.claim("A", 1h), store_busy);
    CHECK_THROWS_AS(queue.enqueue({.payload = "y"}), store_busy);
    CHECK(std::chrono::steady_clock::now() - start >= 40ms);
    other.exec("COMMIT");

    other.exec("BEGIN EXCLUSIVE");  // would be refused if a statement of the queue still had a lock
    other.exec("COMMIT");
    CHECK(queue.claim("A", 1h));
    CHECK(queue.list().items.size() == 1);
}

TEMPLATE_TEST_CASE("a file that is moved away under a queue is refused, and works again once it is back", "[sqlite]",
                   places::rollback_file, places::wal_file) {
    TestType place;
    lease_queue queue{place.store()};
    queue.enqueue({.key = "a"});
    const std::string elsewhere = place.folder / "elsewhere.db";
    const bool replaced = GENERATE(false, true);
    std::filesystem::rename(place.path(), elsewhere);
    if (replaced) {
        std::filesystem::copy_file(elsewhere, place.path());
    }
    std::this_thread::sleep_for(11ms);  // so long a queue may not have noticed
    CHECK_THROWS_AS(queue.claim("A", 1h), store_unsupported);
    CHECK_THROWS_AS(queue.enqueue({.key = "b"}), store_unsupported);
    std::filesystem::rename(elsewhere, place.path());
    const auto held = queue.claim("A", 1h);
    REQUIRE(held);
    CHECK(held->key == "a");
    CHECK(!queue.find("default", "b"));
}

TEST_CASE("in the send callback another connection enqueues, at once and with success", "[sqlite]") {
    const auto journal = GENERATE(journal_mode::rollback, journal_mode::wal);
    const temporary_folder folder;
    const sqlite_options impatient{.journal = journal, .busy_timeout = 0ms};
    lease_queue queue{{folder / "jobs.db", impatient}};
    queue.enqueue({.key = "first", .payload = "x"});
    const auto send = [&](const lease& held) {
        lease_queue separate{{folder / "jobs.db", impatient}};
        CHECK(separate.enqueue({.key = "from " + held.key}).answer == intake::accepted);
        auto plain = foreign(folder / "jobs.db");
        plain.exec("BEGIN EXCLUSIVE");
        plain.exec("COMMIT");
    };
    auto held = queue.claim("A", 1h);
    send(*held);
    for (const lease& each : queue.claim_many("A", 1h, 10)) {
        send(each);
    }
    CHECK(queue.finish(*held));
    CHECK(queue.list().items.size() == 3);
}

TEST_CASE("bytes that are more than the file takes are refused as an argument, and nothing is written", "[sqlite]") {
    const rollback_file place;
    lease_queue queue{place.store()};
    queue.transact([](auto& session) { sqlite3_limit(session.native().getHandle(), SQLITE_LIMIT_LENGTH, 10'000); });
    CHECK_THROWS_AS(queue.enqueue({.payload = std::string(10'000, 'x')}), std::invalid_argument);
    CHECK_THROWS_WITH(queue.enqueue({.payload = std::string(10'000, 'x')}), contains("10000 bytes"));
    CHECK(queue.list().items.empty());
    CHECK(queue.enqueue({.payload = std::string(9'900, 'x')}).answer == intake::accepted);
}

TEST_CASE("what may only be read is so called, and nothing is written", "[sqlite]") {
    const rollback_file place;
    lease_queue queue{place.store()};
    queue.transact([](auto& session) {
        session.native().exec("PRAGMA query_only = ON");
        CHECK_THROWS_AS(session.enqueue({.key = "a"}), store_readonly);
        session.native().exec("PRAGMA query_only = OFF");
    });
    CHECK(queue.list().items.empty());
    CHECK(queue.enqueue({.key = "a"}).answer == intake::accepted);
}

TEST_CASE("where the gate is no file, or a link, the queue works without it, and leaves it alone", "[sqlite]") {
    const rollback_file place;
    const std::string gate = place.path() + "-gate";
    const std::string kind = GENERATE("pipe", "folder", "link");
    if (kind == "pipe") {
        REQUIRE(::mkfifo(gate.c_str(), 0600) == 0);
    } else if (kind == "folder") {
        std::filesystem::create_directory(gate);
    } else {
        std::filesystem::create_symlink(place.folder / "elsewhere", gate);
    }
    lease_queue queue{place.store()};
    queue.enqueue({.payload = "x"});
    CHECK(queue.claim("A", 1h));
    CHECK(!queue.wait_claim({}, {.owner = "A", .lease_for = 1h, .wait = 1ms}));
    CHECK(!std::filesystem::is_regular_file(gate));
}

TEST_CASE("who has seen another change than the last does not wait", "[sqlite]") {
    const rollback_file place;
    sqlite_store store = place.store();
    store.attach(clock_axis::wall);
    store.wake();
    const auto start = std::chrono::steady_clock::now();
    store.await(store.changes() + 1, 1h);
    CHECK(std::chrono::steady_clock::now() - start < 60s);
}

TEST_CASE("threads share a queue", "[sqlite]") {
    const rollback_file place;
    lease_queue queue{place.store()};
    queue.enqueue_many(std::vector<job>(200, {.payload = "x"}));
    std::vector<std::thread> threads;
    std::atomic<int> done = 0;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            const std::string name = "thread " + std::to_string(i);
            while (auto held = queue.claim(name, 1h)) {
                done += queue.finish(*held) ? 1 : 0;
                (void)queue.stats();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    CHECK(done == 200);
}

TEST_CASE("of a job that was pruned nothing is left in any table", "[sqlite]") {
    queue_in<rollback_file> q;
    q.queue.enqueue({.key = "k", .payload = "p"});
    const lease held = q.taken();
    CHECK(q.queue.checkpoint(held, "half"));
    CHECK(q.queue.leave_receipt(held, "sent"));
    CHECK(q.queue.finish(held, "r"));
    auto file = foreign(q.path());
    const auto rows = [&] {
        std::string counts;
        for (const char* table : {"job", "payload", "checkpoint", "result", "receipt"}) {
            counts += asked(file, "SELECT count(*) FROM leasehold_" + std::string{table});
        }
        return counts;
    };
    CHECK(rows() == "11111");
    CHECK(q.queue.prune({}) == 1);
    CHECK(rows() == "00000");
}

}  // namespace
