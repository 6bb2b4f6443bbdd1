// SPDX-License-Identifier: MIT
/// Files that somebody made to do harm: each is refused, or is an error, and nothing runs for ever.
#include <chrono>
#include <cstddef>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "support/files.hpp"
#include "support/hostile_files.hpp"
#include "support/places.hpp"

namespace {

using namespace places;

/// A good file, and what is done to it by its own engine.
struct victim {
    explicit victim(const std::string& change = {}) {
        hostile::make_good_file(path, journal_mode::rollback);
        if (!change.empty()) {
            this->change(change);
        }
    }
    void change(const std::string& statements) const {
        SQLite::Database file{path, SQLite::OPEN_READWRITE};
        file.exec("PRAGMA writable_schema = ON");
        file.exec(statements);
    }
    /// Makes a tree of ours the one of the index `x`.
    void exchange(const std::string& index) const {
        change(
            "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'x') WHERE name = '" +
            index + "'; DELETE FROM sqlite_schema WHERE name = 'x'");
    }

    temporary_folder folder{};
    std::string path = folder / "jobs.db";
    manual_clock clock{hostile::made_at};
};

TEST_CASE("what somebody else made of the schema is refused when the file is opened", "[hostile]") {
    const std::string change = GENERATE(from_range(hostile::schema_changes));
    CAPTURE(change);
    const victim made{change};
    CHECK_THROWS_AS((hostile::manual_queue{{made.path}, made.clock}), store_unsupported);
}

TEST_CASE("what somebody else made of a ledger's schema is refused when the file is opened", "[hostile]") {
    const std::string change =
        GENERATE("DROP INDEX leasehold_ledger_id", "DROP INDEX leasehold_ledger_age",
                 "ALTER TABLE leasehold_ledger DROP COLUMN answer", "ALTER TABLE leasehold_ledger ADD COLUMN more TEXT",
                 "CREATE TRIGGER t AFTER INSERT ON leasehold_ledger BEGIN DELETE FROM leasehold_ledger; END");
    CAPTURE(change);
    const victim made{change};
    CHECK_THROWS_AS((basic_receiver_ledger<manual_clock>{made.path, {}, made.clock}), store_unsupported);
    CHECK_NOTHROW(hostile::manual_queue{{made.path}, made.clock});  // it is not the queue's
}

TEST_CASE("what an application has beside the queue's tables is its own affair", "[hostile]") {
    const victim made{
        "CREATE TABLE leaseholder (id INTEGER PRIMARY KEY REFERENCES leasehold_job, what TEXT);"
        "CREATE INDEX leaseholder_what ON leaseholder (what);"
        "CREATE VIEW open_jobs AS SELECT * FROM leasehold_job WHERE state <= 1;"
        "CREATE TRIGGER t AFTER INSERT ON leaseholder BEGIN INSERT INTO app (what) VALUES (new.what); END"};
    hostile::manual_queue queue{{made.path}, made.clock};
    CHECK(queue.claim("A", 1s));
    queue.transact([](auto& session) {
        session.native().exec("INSERT INTO leaseholder (what) VALUES ('fires')");
        // Of its own accord it may work for as long as it likes.
        session.native().exec(
            "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300000) SELECT count(*) FROM c");
        session.enqueue({});
        session.native().exec(
            "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300000) SELECT count(*) FROM c");
    });
    CHECK(SQLite::Database{made.path}.execAndGet("SELECT count(*) FROM app").getInt() == 1);
}

TEST_CASE("a tree that passes its pages again and again is damaged, however it is read", "[hostile]") {
    const victim made;
    const std::string table = GENERATE("leasehold_job", "leasehold_receipt", "sqlite_schema");
    CAPTURE(table);
    const std::size_t root = table == "sqlite_schema" ? 1 : hostile::root_page(made.path, table);
    files::write(made.path, hostile::entangled(files::read(made.path), root, 512));
    const auto use = [&] {
        hostile::manual_queue queue{{made.path}, made.clock};
        (void)queue.stats();
        (void)queue.list({.queue = "no such queue"});
        (void)queue.find(job_id{1});
        (void)queue.prune({});
    };
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(use(), store_corrupt);
    CHECK(std::chrono::steady_clock::now() - start < 20s);
}

TEST_CASE("an index that is out of order does not lead round in circles", "[hostile]") {
    const victim made{"CREATE INDEX x ON leasehold_job (queue, -6.5, 1, 5, 1)"};  // below -6, and read as -6
    made.exchange("leasehold_open");
    hostile::manual_queue queue{{made.path}, made.clock};
    CHECK_THROWS_AS(queue.claim("A", 1s), store_corrupt);
    CHECK_THROWS_AS(queue.wait_claim({}, {.owner = "A", .lease_for = 1s, .wait = 0s}), store_corrupt);
}

TEST_CASE("an index that names a row twice does not give its job twice", "[hostile]") {
    const victim made{
        "CREATE TABLE x (queue, priority, waits, vests_at, id, row, PRIMARY KEY (queue, priority, waits, vests_at, "
        "id)) "
        "WITHOUT ROWID;"
        "INSERT INTO x VALUES ('default', 0, 0, 5, 23, 23), ('default', 0, 0, 6, 23, 23)"};
    made.exchange("leasehold_open");
    hostile::manual_queue queue{{made.path}, made.clock};
    CHECK_THROWS_WITH(queue.claim_many("A", 1s, 10), contains("twice"));
}

TEST_CASE("an index of ended jobs that names others erases none of them", "[hostile]") {
    const victim made{GENERATE("CREATE INDEX x ON leasehold_job (2, 5)",
                               "CREATE INDEX x ON leasehold_job ((CASE WHEN id < 30 THEN 2 ELSE 0 END) DESC, (CASE "
                               "WHEN id < 30 THEN 5 END))")};
    made.exchange("leasehold_ended");
    hostile::manual_queue queue{{made.path}, made.clock};
    const std::size_t before = queue.list({.limit = 1000}).items.size();
    CHECK_THROWS_AS(queue.prune({}), store_corrupt);
    CHECK(queue.list({.limit = 1000}).items.size() == before);
}

TEST_CASE("names and messages that are longer than any can be, or no text, are damage", "[hostile]") {
    const auto [change, reads] = GENERATE(table<std::string, bool>({
        {"UPDATE leasehold_job SET queue = hex(zeroblob(200))", true},
        {"UPDATE leasehold_job SET queue = ''", true},
        {"UPDATE leasehold_job SET key = CAST(x'ff' AS TEXT) WHERE id = 1", true},
        {"UPDATE leasehold_job SET owner = hex(zeroblob(200)) WHERE state = 1", true},
        {"UPDATE leasehold_job SET last_error = hex(zeroblob(3000))", true},
        {"UPDATE leasehold_job SET reason = hex(zeroblob(3000))", true},
        {"UPDATE leasehold_receipt SET note = hex(zeroblob(3000))", true},
        {"UPDATE leasehold_receipt SET owner = hex(zeroblob(200))", true},
    }));
    CAPTURE(change);
    const victim made{change};
    const hostile::manual_queue queue{{made.path}, made.clock};
    CHECK_THROWS_AS(queue.list({.limit = 1000}), store_corrupt);
}

}  // namespace
