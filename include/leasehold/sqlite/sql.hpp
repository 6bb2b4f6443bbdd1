// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

/// Everything that is said to the engine. No statement is built from text that comes from outside.
namespace leasehold::inline v0_1_0::detail::sqlite {

/// Constant text that can be put together at compile time, for what several statements share.
template <std::size_t Size>
struct sql {
    std::array<char, Size> text{};

    constexpr sql() noexcept = default;
    consteval sql(const char (&literal)[Size]) noexcept {  // NOLINT: this is how a literal comes in
        std::copy_n(&literal[0], Size, text.begin());
    }
    constexpr const char* c_str() const noexcept { return text.data(); }
};

template <std::size_t A, std::size_t B>
constexpr sql<A + B - 1> operator+(const sql<A>& a, const sql<B>& b) noexcept {
    sql<A + B - 1> sum;
    std::copy_n(b.text.begin(), B, std::copy_n(a.text.begin(), A - 1, sum.text.begin()));
    return sum;
}

/// A statement, or several, that was there when the program was compiled: no other text converts to it.
class constant_text {
public:
    consteval constant_text(const char* literal) noexcept : text_{literal} {}  // NOLINT: this is how it comes in
    template <std::size_t Size>
    consteval constant_text(const sql<Size>& text) noexcept : text_{text.c_str()} {}  // NOLINT: the same

    constexpr const char* c_str() const noexcept { return text_; }

private:
    const char* text_;
};

// ---- Schema --------------------------------------------------------------------------------------------------------

inline constexpr int schema_version = 2;

/// State numbers are those of `job_state`: 0 and 1 are the open ones. Payload, checkpoint and result have tables of
/// their own, so that a job that changes state does not carry its bytes along.
inline constexpr sql first_schema = R"(
CREATE TABLE leasehold_meta (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    schema_version INTEGER NOT NULL,
    store_id BLOB NOT NULL,
    clock_axis TEXT NOT NULL
) STRICT;
CREATE TABLE leasehold_job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    key TEXT,
    priority INTEGER NOT NULL,
    enqueued_at INTEGER NOT NULL,
    state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 4),
    owner TEXT,
    token INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    lease_until INTEGER,
    deadline INTEGER,
    waits INTEGER NOT NULL CHECK (waits IN (0, 1)),
    vests_at INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    lapses INTEGER NOT NULL,
    ended_by INTEGER,
    ended_at INTEGER,
    reason TEXT,
    last_error TEXT
) STRICT;
CREATE TABLE leasehold_payload (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE leasehold_checkpoint (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE leasehold_result (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE leasehold_receipt (
    id INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    token INTEGER NOT NULL,
    owner TEXT NOT NULL,
    at INTEGER NOT NULL,
    note TEXT NOT NULL
) STRICT;
CREATE INDEX leasehold_open ON leasehold_job (queue, priority, waits, vests_at, id) WHERE state <= 1;
CREATE UNIQUE INDEX leasehold_key ON leasehold_job (queue, key) WHERE key IS NOT NULL;
CREATE INDEX leasehold_ended ON leasehold_job (state, ended_at) WHERE state >= 2;
CREATE INDEX leasehold_receipt_of ON leasehold_receipt (job);
)";
/// What the second schema adds: what a `boot_clock` showed when the machine was started.
inline constexpr sql add_anchor = R"(
CREATE TABLE leasehold_anchor (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    boot_id TEXT NOT NULL,
    time_namespace TEXT NOT NULL,
    booted_at INTEGER NOT NULL,
    high_water INTEGER NOT NULL
) STRICT;
)";
inline constexpr sql create_schema = first_schema + add_anchor;

/// What a file of ours must have: tables with their columns, and indexes without any. In the order in which schemas
/// added them.
struct schema_object {
    std::string_view name{};
    std::string_view columns{};  ///< each followed by a space
};
inline constexpr std::array<schema_object, 11> expected_schema{{
    {"leasehold_meta", "only schema_version store_id clock_axis "},
    {"leasehold_job",
     "id queue key priority enqueued_at state owner token attempt max_attempts lease_until deadline waits vests_at "
     "failures lapses ended_by ended_at reason last_error "},
    {"leasehold_payload", "id bytes "},
    {"leasehold_checkpoint", "id bytes "},
    {"leasehold_result", "id bytes "},
    {"leasehold_receipt", "id job token owner at note "},
    {"leasehold_open", ""},
    {"leasehold_key", ""},
    {"leasehold_ended", ""},
    {"leasehold_receipt_of", ""},
    {"leasehold_anchor", "only boot_id time_namespace booted_at high_water "},
}};
inline constexpr std::size_t objects_of_first_schema = 10;

/// All that is, or acts, on the queue's tables. The receiver's ledger is not the queue's, and may lie in the same file.
inline constexpr sql our_objects =
    "SELECT name, sql FROM sqlite_schema WHERE tbl_name LIKE 'leasehold~_%' ESCAPE '~' "
    "AND tbl_name NOT LIKE 'leasehold~_ledger%' ESCAPE '~'";
inline constexpr sql table_columns = "SELECT name FROM pragma_table_info(?1)";
inline constexpr sql insert_meta = "INSERT INTO leasehold_meta VALUES (1, ?1, ?2, ?3)";
inline constexpr sql select_meta = "SELECT schema_version, store_id, clock_axis FROM leasehold_meta WHERE only = 1";
inline constexpr sql update_store_id = "UPDATE leasehold_meta SET store_id = ?1 WHERE only = 1";
inline constexpr sql update_schema_version = "UPDATE leasehold_meta SET schema_version = ?1 WHERE only = 1";

// ---- The anchor of a clock that counts from the machine's start ----------------------------------------------------

inline constexpr sql select_anchor =
    "SELECT boot_id, time_namespace, booted_at, high_water FROM leasehold_anchor WHERE only = 1";
inline constexpr sql set_anchor = "INSERT OR REPLACE INTO leasehold_anchor VALUES (1, ?1, ?2, ?3, ?4)";
/// Where it is at ?2 or lower.
inline constexpr sql raise_high_water =
    "UPDATE leasehold_anchor SET high_water = ?1 WHERE only = 1 AND high_water <= ?2";

// ---- Transactions --------------------------------------------------------------------------------------------------

inline constexpr sql begin_write = "BEGIN IMMEDIATE";
inline constexpr sql begin_read = "BEGIN";
inline constexpr sql commit = "COMMIT";
inline constexpr sql roll_back = "ROLLBACK";
inline constexpr sql begin_part = "SAVEPOINT leasehold_part";
inline constexpr sql undo_part = "ROLLBACK TO leasehold_part";
inline constexpr sql end_part = "RELEASE leasehold_part";

/// Changes nothing, and yet has something to write, whatever the file holds.
inline constexpr sql leave_a_trace = "CREATE TABLE leasehold_trace (mark INTEGER) STRICT; DROP TABLE leasehold_trace";

// ---- Candidates: leasehold_open ------------------------------------------------------------------------------------

/// In the order in which a row is read.
inline constexpr sql row_columns =
    "id, queue, key, priority, enqueued_at, state, owner, token, attempt, max_attempts, lease_until, deadline, waits, "
    "vests_at, failures, lapses, ended_by, ended_at, reason, last_error";
inline constexpr int row_width = 20;

/// The next priority below ?2 that has open rows.
inline constexpr sql next_priority =
    "SELECT max(priority) FROM leasehold_job INDEXED BY leasehold_open "
    "WHERE state <= 1 AND queue = ?1 AND priority < ?2";

/// Rows of one queue and priority that do not wait, in claim order.
inline constexpr sql free_heads =
    sql{"SELECT "} + row_columns +
    sql{" FROM leasehold_job INDEXED BY leasehold_open "
        "WHERE state <= 1 AND queue = ?1 AND priority = ?2 AND waits = 0 ORDER BY vests_at, id LIMIT ?3"};

/// Rows that waited for an instant that has come; ?4 is the instant for leases.
inline constexpr sql waiting_heads =
    sql{"SELECT "} + row_columns +
    sql{" FROM leasehold_job INDEXED BY leasehold_open "
        "WHERE state <= 1 AND queue = ?1 AND priority = ?2 AND waits = 1 AND vests_at <= ?3 "
        "AND (state = 0 OR vests_at <= ?4) ORDER BY vests_at, id LIMIT ?5"};

/// The end of the line of rows that do not wait.
inline constexpr sql tail =
    "SELECT max(vests_at) FROM leasehold_job INDEXED BY leasehold_open "
    "WHERE state <= 1 AND queue = ?1 AND priority = ?2 AND waits = 0";

/// The first instant at which a row that waits may be taken.
inline constexpr sql first_waiting =
    "SELECT min(vests_at) FROM leasehold_job INDEXED BY leasehold_open "
    "WHERE state <= 1 AND queue = ?1 AND priority = ?2 AND waits = 1";

// ---- Rows by id, by key, by end ------------------------------------------------------------------------------------

inline constexpr sql select_row = sql{"SELECT "} + row_columns + sql{" FROM leasehold_job WHERE id = ?1"};

/// leasehold_key
inline constexpr sql select_id_of_key = "SELECT id FROM leasehold_job WHERE queue = ?1 AND key = ?2";

/// leasehold_key; says whether the payload is the same.
inline constexpr sql select_same_key =
    "SELECT id, state, coalesce((SELECT bytes FROM leasehold_payload AS p WHERE p.id = j.id), x'') = ?3 "
    "FROM leasehold_job AS j WHERE queue = ?1 AND key = ?2";

/// leasehold_ended
inline constexpr sql ended_rows =
    sql{"SELECT "} + row_columns +
    sql{" FROM leasehold_job INDEXED BY leasehold_ended "
        "WHERE state >= 2 AND state = ?1 AND ended_at <= ?2 ORDER BY ended_at, id LIMIT ?3"};

inline constexpr sql insert_row =
    "INSERT INTO leasehold_job (queue, key, priority, enqueued_at, state, token, attempt, max_attempts, deadline, "
    "waits, "
    "vests_at, failures, lapses) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

inline constexpr sql update_row =
    "UPDATE leasehold_job SET state = ?2, owner = ?3, token = ?4, attempt = ?5, lease_until = ?6, deadline = ?7, "
    "waits = ?8, vests_at = ?9, failures = ?10, lapses = ?11, ended_by = ?12, ended_at = ?13, reason = ?14, "
    "last_error = ?15 WHERE id = ?1";

inline constexpr sql delete_row = "DELETE FROM leasehold_job WHERE id = ?1";

// ---- Bytes and receipts --------------------------------------------------------------------------------------------

inline constexpr sql insert_payload = "INSERT INTO leasehold_payload VALUES (?1, ?2)";
inline constexpr sql set_checkpoint = "INSERT OR REPLACE INTO leasehold_checkpoint VALUES (?1, ?2)";
inline constexpr sql set_result = "INSERT OR REPLACE INTO leasehold_result VALUES (?1, ?2)";
inline constexpr sql select_payload = "SELECT bytes FROM leasehold_payload WHERE id = ?1";
inline constexpr sql select_checkpoint = "SELECT bytes FROM leasehold_checkpoint WHERE id = ?1";
inline constexpr sql select_result = "SELECT bytes FROM leasehold_result WHERE id = ?1";
inline constexpr sql delete_payload = "DELETE FROM leasehold_payload WHERE id = ?1";
inline constexpr sql delete_checkpoint = "DELETE FROM leasehold_checkpoint WHERE id = ?1";
inline constexpr sql delete_result = "DELETE FROM leasehold_result WHERE id = ?1";

/// leasehold_receipt_of
inline constexpr sql select_receipts =
    "SELECT token, owner, at, note FROM leasehold_receipt WHERE job = ?1 ORDER BY id";
inline constexpr sql insert_receipt =
    "INSERT INTO leasehold_receipt (job, token, owner, at, note) VALUES (?1, ?2, ?3, ?4, ?5)";
inline constexpr sql delete_receipts = "DELETE FROM leasehold_receipt WHERE job = ?1";

// ---- Reading for people --------------------------------------------------------------------------------------------

/// Sizes are read from the rows' heads, not from the bytes.
inline constexpr sql select_sizes =
    "SELECT coalesce((SELECT length(bytes) FROM leasehold_payload WHERE id = ?1), 0), "
    "coalesce((SELECT length(bytes) FROM leasehold_result WHERE id = ?1), 0), "
    "coalesce((SELECT length(bytes) FROM leasehold_checkpoint WHERE id = ?1), 0)";

inline constexpr sql list_rows =
    sql{"SELECT "} + row_columns +
    sql{" FROM leasehold_job WHERE id > ?1 AND (?2 IS NULL OR queue = ?2) AND (?3 IS NULL OR state = ?3) "
        "ORDER BY id LIMIT ?4"};

inline constexpr sql count_rows =
    "SELECT queue, state, waits, count(*), min(vests_at) FROM leasehold_job GROUP BY queue, state, waits ORDER BY "
    "queue";

}  // namespace leasehold::inline v0_1_0::detail::sqlite
