// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include <leasehold/receiver_ledger.hpp>
#include <leasehold/sqlite.hpp>

/// Database files to be afraid of: made here, out of good ones.
namespace hostile {

using namespace std::chrono_literals;

using manual_queue = leasehold::basic_lease_queue<leasehold::manual_clock, leasehold::sqlite_store>;

/// When the jobs of a file were made, and from when on its clock may show anything.
inline constexpr leasehold::instant made_at{10'000ms};

/// Jobs in every state, on small pages, so that tables and indexes are trees of some depth; a ledger beside them.
inline void make_good_file(const std::string& path, leasehold::journal_mode journal, int page_size = 512) {
    {
        SQLite::Database app{path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
        app.exec("PRAGMA page_size = " + std::to_string(page_size));
        app.exec(journal == leasehold::journal_mode::wal ? "PRAGMA journal_mode = WAL"
                                                         : "PRAGMA journal_mode = DELETE");
        app.exec("CREATE TABLE app (id INTEGER PRIMARY KEY, what TEXT)");
    }
    const leasehold::sqlite_options options{.journal = journal, .synchronous = leasehold::synchronous_mode::off};
    leasehold::manual_clock clock{made_at};
    manual_queue queue{{path, options}, clock};
    for (int i = 0; i < 30; ++i) {
        queue.enqueue({.queue = i % 5 == 0 ? "other" : "default",
                       .key = i % 2 == 0 ? "key-" + std::to_string(i) : "",
                       .payload = std::string(static_cast<std::size_t>(i) * 40, 'p'),
                       .priority = i % 3 - 1,
                       .delay = i % 7 == 0 ? 5s : 0s,
                       .max_attempts = i % 4 == 0 ? 1 : 3});
    }
    auto held = queue.claim_many("worker", 1s, 12);
    (void)queue.checkpoint(held.at(0), "half way");
    (void)queue.leave_receipt(held.at(0), "was sent");
    (void)queue.finish(held.at(1), "done");
    (void)queue.finish(held.at(2), std::string(2000, 'r'));
    (void)queue.fail(held.at(3), "no", 1s);
    (void)queue.fail(held.at(4), "no");
    (void)queue.release(held.at(5));
    (void)queue.quarantine(held.at(6), "odd");
    (void)queue.cancel(held.at(7).id);
    (void)queue.leave_receipt(held.at(7), "was sent all the same");
    leasehold::basic_receiver_ledger<leasehold::manual_clock> ledger{path, {.file = options}, clock};
    ledger.apply("id", "content", held.at(0), [](SQLite::Database&) { return "answer"; });
}

/// What somebody else may have made of a schema, and what the library must not trip over.
inline constexpr std::array schema_changes{
    // Work without an end, or a job that is never over, whenever a row is touched.
    "CREATE TRIGGER t AFTER UPDATE ON leasehold_job BEGIN INSERT INTO app (what) WITH RECURSIVE c(i) AS "
    "(SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i FROM c; END",
    "CREATE TRIGGER t AFTER UPDATE ON leasehold_job WHEN new.state <> 0 BEGIN "
    "UPDATE leasehold_job SET state = 0, owner = NULL, waits = 0 WHERE id = new.id; END",
    "CREATE TRIGGER t BEFORE INSERT ON leasehold_payload BEGIN SELECT RAISE(IGNORE); END",
    "CREATE TRIGGER t AFTER DELETE ON leasehold_receipt BEGIN INSERT INTO leasehold_receipt VALUES "
    "(NULL, old.job, 1, 'x', 1, 'x'); END",
    // Views in place of tables.
    "DROP TABLE leasehold_result; CREATE VIEW leasehold_result AS WITH RECURSIVE c(i) AS "
    "(SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT i AS id, x'00' AS bytes FROM c",
    "DROP TABLE leasehold_meta; CREATE VIEW leasehold_meta AS WITH RECURSIVE c(i) AS "
    "(SELECT 1 UNION ALL SELECT i + 1 FROM c) SELECT 0 AS only, 1 AS schema_version, zeroblob(16) AS store_id, "
    "'manual' AS clock_axis FROM c",
    // Functions that take for ever, or all the memory there is.
    "CREATE INDEX slow ON leasehold_job (length(replace(hex(zeroblob(50)), '0', hex(zeroblob(50)))))",
    "CREATE INDEX slow ON leasehold_job (id) WHERE queue || 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' LIKE "
    "'%a%a%a%a%a%a%a%a%a%a%a%a%b'",
    "ALTER TABLE leasehold_payload ADD COLUMN more TEXT GENERATED ALWAYS AS (hex(zeroblob(100000))) VIRTUAL",
    "ALTER TABLE leasehold_job ADD COLUMN more TEXT CHECK (length(hex(zeroblob(100000))) > 1)",
    "ALTER TABLE leasehold_job ADD COLUMN more TEXT DEFAULT 'x'",
    // Tables of another kind.
    "DROP TABLE leasehold_checkpoint; CREATE TABLE leasehold_checkpoint (id, bytes, PRIMARY KEY (id, bytes)) "
    "WITHOUT ROWID",
    "DROP TABLE leasehold_payload; CREATE TABLE leasehold_payload (id, bytes)",
    "DROP TABLE leasehold_meta; CREATE TABLE leasehold_meta (only, schema_version, store_id, clock_axis)",
    "DROP TABLE leasehold_result; CREATE VIRTUAL TABLE leasehold_result USING rtree (id, bytes, more)",
    "DROP INDEX leasehold_key; CREATE INDEX leasehold_key ON leasehold_job (queue, key)",
    "DROP INDEX leasehold_open; CREATE INDEX leasehold_open ON leasehold_job (queue) WHERE state <= 1",
    "DROP INDEX leasehold_ended; CREATE INDEX leasehold_ended ON app (id)",
};

/// The number of the page that a table's or an index's tree begins with.
inline std::size_t root_page(const std::string& path, const std::string& name) {
    SQLite::Database file{path};
    SQLite::Statement query{file, "SELECT rootpage FROM sqlite_schema WHERE name = ?"};
    query.bind(1, name);
    query.executeStep();
    return static_cast<std::size_t>(query.getColumn(0).getInt64());
}

inline void put(std::string& bytes, std::size_t at, std::size_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) {
        bytes.at(at + i) = static_cast<char>(value >> (8 * (width - 1 - i)));
    }
}

/// Makes a tree of a file's table so that its few pages are passed again and again: each inner page names the next one
/// as every one of its children, and the last names the page that the tree began with (a leaf of some rows).
inline std::string entangled(std::string file, std::size_t root, std::size_t page_size) {
    constexpr std::size_t depth = 17;     // the engine goes down 20 pages at most
    constexpr std::size_t children = 40;  // 40 to the power of 17 ways
    constexpr std::size_t cell = 5;       // a child's number and a key of one byte
    std::string leaf = file.substr((root - 1) * page_size, page_size);
    std::size_t last = file.size() / page_size;
    std::vector<std::string> pages(depth, std::string(page_size, '\0'));
    for (std::size_t i = 0; i < depth; ++i) {
        std::string& page = pages[i];
        const std::size_t next = i + 1 < depth ? last + i + 1 : last + depth;
        page[0] = 5;
        put(page, 3, children, 2);
        put(page, 5, page_size - children * cell, 2);
        put(page, 8, next, 4);
        for (std::size_t k = 0; k < children; ++k) {
            const std::size_t at = page_size - (k + 1) * cell;
            put(page, 12 + 2 * k, at, 2);
            put(page, at, next, 4);
            page[at + 4] = static_cast<char>(k + 1);
        }
    }
    std::copy(pages[0].begin(), pages[0].end(), file.begin() + static_cast<std::ptrdiff_t>((root - 1) * page_size));
    for (std::size_t i = 1; i < depth; ++i) {
        file += pages[i];
    }
    file += leaf;
    put(file, 28, last + depth, 4);  // how many pages there are
    return file;
}

}  // namespace hostile
