// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

/// Everything that is said to the server. Values go beside a statement, never into it; `{schema}` stands for the schema
/// of the options, a name of lower-case letters, digits and underscores, and the other words in braces for the texts of
/// ours that are named like them.
namespace leasehold::inline v0_1_0::detail::postgres {

inline constexpr int schema_version = 1;

/// In the order in which a row is read.
inline constexpr std::string_view row_columns =
    "id, queue, key, priority, enqueued_at, state, owner, token, attempt, max_attempts, lease_until, deadline, waits, "
    "vests_at, failures, lapses, ended_by, ended_at, reason, last_error";
inline constexpr int row_width = 20;

/// State numbers are those of `job_state`: 0 and 1 are the open ones. Instants are milliseconds, which no session's
/// time zone moves. Payload, result and checkpoint beyond some bytes lie outside the row, and are not copied with it.
/// `IS TRUE` keeps the planner from taking leasehold_open, which holds all that waits, for a question about rows that
/// do not: it cannot see that `state = 0` implies the predicate then.
///
/// Half of each page is left free for the versions that a claim and a finish make, and vacuum comes by the thousand
/// dead rows, not by a share of the table.
inline constexpr std::string_view create_schema = R"(
CREATE TABLE {schema}.leasehold_meta (
    only_row smallint PRIMARY KEY CHECK (only_row = 1),
    schema_version bigint NOT NULL,
    store_id bytea NOT NULL,
    clock_axis text NOT NULL,
    listened_until bigint NOT NULL DEFAULT 0
);
CREATE TABLE {schema}.leasehold_job (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    enqueued_at bigint NOT NULL,
    token bigint NOT NULL,
    vests_at bigint NOT NULL,
    lease_until bigint,
    deadline bigint,
    failures bigint NOT NULL,
    lapses bigint NOT NULL,
    ended_at bigint,
    priority integer NOT NULL,
    attempt integer NOT NULL,
    max_attempts integer NOT NULL,
    state smallint NOT NULL CHECK (state BETWEEN 0 AND 4),
    ended_by smallint,
    waits boolean NOT NULL,
    queue text COLLATE "C" NOT NULL,
    key text COLLATE "C",
    owner text COLLATE "C" NOT NULL DEFAULT '',
    reason text COLLATE "C" NOT NULL DEFAULT '',
    last_error text COLLATE "C" NOT NULL DEFAULT '',
    payload bytea NOT NULL,
    result bytea NOT NULL DEFAULT '',
    checkpoint bytea NOT NULL DEFAULT ''
) WITH (fillfactor = 50, toast_tuple_target = 256, autovacuum_vacuum_scale_factor = 0,
        autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_analyze_scale_factor = 0.2);
CREATE TABLE {schema}.leasehold_receipt (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job bigint NOT NULL,
    token bigint NOT NULL,
    at bigint NOT NULL,
    owner text COLLATE "C" NOT NULL,
    note text COLLATE "C" NOT NULL
);
CREATE INDEX leasehold_open ON {schema}.leasehold_job (queue, priority, vests_at, id) WHERE (state <= 1) IS TRUE;
CREATE INDEX leasehold_line ON {schema}.leasehold_job (queue, priority, vests_at, id) WHERE state = 0 AND NOT waits;
CREATE UNIQUE INDEX leasehold_key ON {schema}.leasehold_job (queue, key) WHERE key IS NOT NULL;
CREATE INDEX leasehold_ended ON {schema}.leasehold_job (state, ended_at, id) WHERE state >= 2;
CREATE INDEX leasehold_receipt_of ON {schema}.leasehold_receipt (job);
)";

/// A statement with its name on the connections of one store.
struct statement {
    std::string_view name{};
    std::string text{};
};

/// The clock as the server shows it at this moment: in a scalar sub-query it is read once, and may bound an index scan.
inline constexpr std::string_view server_us = "floor(extract(epoch FROM clock_timestamp()) * 1000000)::bigint";
inline constexpr std::string_view server_ms = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// The priorities of a queue's open rows, from the highest down, and where each one's rows begin. Those in `given`,
/// arrays from the highest down, begin where these say; others are found between them, each by one search of
/// leasehold_open (`OFFSET 0` keeps that search from being made once for each use of its answer). The first row stands
/// above all priorities, and the last may be below all: neither has a beginning.
inline constexpr std::string_view levels = R"(level(priority, next, low, low_id) AS (
    SELECT 2147483648::bigint, 1, NULL::bigint, NULL::bigint
    UNION ALL
    SELECT coalesce(between.priority, mark.priority),
           CASE WHEN between.priority IS NULL THEN level.next + 1 ELSE level.next END,
           CASE WHEN between.priority IS NULL THEN mark.low ELSE -9223372036854775808 END,
           CASE WHEN between.priority IS NULL THEN mark.low_id ELSE 0 END
    FROM level,
         LATERAL (SELECT priorities[level.next] AS priority, lows[level.next] AS low, ids[level.next] AS low_id
                  FROM given) AS mark,
         LATERAL (SELECT (SELECT j.priority FROM {schema}.leasehold_job AS j
                          WHERE (j.state <= 1) IS TRUE AND j.queue = $1::text AND j.priority < level.priority
                            AND j.priority > coalesce(mark.priority, -2147483649)
                          ORDER BY j.priority DESC LIMIT 1) AS priority OFFSET 0) AS between
    WHERE level.priority IS NOT NULL))";

/// One store's statements, in its schema.
struct statements {
    explicit statements(std::string_view in) : schema{in} {}

    std::string schema;

    statement begin{"begin", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"};
    statement begin_view{"begin_view", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"};
    statement commit{"commit", "COMMIT"};
    statement roll_back{"roll_back", "ROLLBACK"};
    statement begin_part{"begin_part", "SAVEPOINT leasehold_part"};
    statement undo_part{"undo_part", "ROLLBACK TO SAVEPOINT leasehold_part"};
    statement end_part{"end_part", "RELEASE SAVEPOINT leasehold_part"};

    /// For a session, or for one transaction. Statistics are old whenever many rows have come or gone at once; the
    /// order that is asked for is an index's, whatever they say.
    statement settings{"settings", R"(
        SELECT set_config('lock_timeout', $1::text, $2::bool), set_config('enable_seqscan', 'off', $2::bool),
               set_config('enable_bitmapscan', 'off', $2::bool), set_config('enable_sort', 'off', $2::bool),
               set_config('jit', 'off', $2::bool), set_config('plan_cache_mode', 'force_generic_plan', $2::bool))"};

    // ---- What a store says of itself, and what time it is there ----

    /// By the catalogue's rows: what a backend remembers of names may be older than a lock that it has waited for.
    statement has_meta{"has_meta", R"(
        SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class AS c
                       JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
                       WHERE n.nspname = $1::text AND c.relname = 'leasehold_meta'),
               current_setting('server_encoding'))"};
    statement lock_schema{"lock_schema", "SELECT pg_advisory_xact_lock(hashtext('leasehold'), hashtext($1::text))"};
    statement has_schema{"has_schema",
                         "SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1::text)"};
    statement insert_meta{"insert_meta",
                          of("INSERT INTO {schema}.leasehold_meta VALUES (1, $1::bigint, $2::bytea, $3::text)")};
    /// Asked after the last lock of a request.
    statement meta{"meta", of(R"(
        SELECT schema_version, store_id, clock_axis, {server_us} FROM {schema}.leasehold_meta WHERE only_row = 1)")};
    /// The same for a transaction that is going to write: it has a number of its own before the clock is read, as
    /// `low_water` wants it.
    statement writers_meta{"writers_meta", of(R"(
        SELECT schema_version, store_id, clock_axis, {server_us}
        FROM txid_current() AS mine, {schema}.leasehold_meta WHERE only_row = 1)")};
    statement update_store_id{"update_store_id",
                              of("UPDATE {schema}.leasehold_meta SET store_id = $1::bytea WHERE only_row = 1")};
    statement read_clock{"read_clock", of("SELECT {server_us}")};

    // ---- Candidates ----

    /// Locks the first $2 rows of the queue that nobody else holds, in claim order, and no other row. Of a priority
    /// first those whose instant has come, by leasehold_open; then those that do not wait and lie ahead of a clock that
    /// stepped back, by leasehold_line. Each part is a limit over a lock over an index scan, and is pulled row by row.
    statement vested{"vested", of(R"(
        WITH RECURSIVE now AS MATERIALIZED (
            SELECT coalesce($3::bigint, {server_ms}) AS at, coalesce($4::bigint, {server_ms}) AS taking_at),
        given(priorities, lows, ids) AS MATERIALIZED (SELECT $5::bigint[], $6::bigint[], $7::bigint[]),
        {levels}
        SELECT {columns}, payload, checkpoint,
               CASE WHEN token > 0 THEN ARRAY(SELECT ARRAY[r.token::text, r.owner, r.at::text, r.note]
                                              FROM {schema}.leasehold_receipt AS r WHERE r.job = found.id ORDER BY r.id)
               END,
               {server_us}
        FROM (SELECT part.* FROM level, LATERAL (
                  SELECT * FROM (SELECT * FROM {schema}.leasehold_job AS j
                                 WHERE (j.state <= 1) IS TRUE AND j.queue = $1::text AND j.priority = level.priority
                                   AND (j.vests_at, j.id) >= (level.low, level.low_id)
                                   AND j.vests_at <= (SELECT at FROM now)
                                   AND (j.state = 0 OR j.vests_at <= (SELECT taking_at FROM now))
                                 ORDER BY j.vests_at, j.id LIMIT $2::bigint FOR UPDATE SKIP LOCKED) AS come
                  UNION ALL
                  SELECT * FROM (SELECT * FROM {schema}.leasehold_job AS j
                                 WHERE j.state = 0 AND NOT j.waits AND j.queue = $1::text
                                   AND j.priority = level.priority AND j.vests_at > (SELECT at FROM now)
                                 ORDER BY j.vests_at, j.id LIMIT $2::bigint FOR UPDATE SKIP LOCKED) AS ahead
              ) AS part WHERE level.low IS NOT NULL LIMIT $2::bigint) AS found)")};

    /// Which transactions run at this moment, since when this one does, and where the open rows of each priority begin.
    statement first_open{"first_open", of(R"(
        WITH RECURSIVE given(priorities, lows, ids) AS (SELECT '{}'::bigint[], '{}'::bigint[], '{}'::bigint[]),
        {levels}
        SELECT txid_snapshot_xmin(seen.running), txid_snapshot_xmax(seen.running),
               floor(extract(epoch FROM transaction_timestamp()) * 1000)::bigint,
               level.priority, first.vests_at, first.id
        FROM (SELECT txid_current_snapshot() AS running) AS seen
        LEFT JOIN level ON level.low IS NOT NULL
        LEFT JOIN LATERAL (SELECT j.vests_at, j.id FROM {schema}.leasehold_job AS j
                           WHERE (j.state <= 1) IS TRUE AND j.queue = $1::text AND j.priority = level.priority
                           ORDER BY j.vests_at, j.id LIMIT 1) AS first ON true)")};

    /// The end of the line of rows that do not wait, of which none is before $3: leasehold_line.
    statement tail{"tail", of(R"(
        SELECT max(vests_at) FROM {schema}.leasehold_job
        WHERE state = 0 AND NOT waits AND queue = $1::text AND priority = $2::bigint AND vests_at >= $3::bigint)")};

    /// Whether a row need not wait, and the first instant of all.
    statement next_vesting{"next_vesting", of(R"(
        WITH RECURSIVE given(priorities, lows, ids) AS MATERIALIZED (SELECT $2::bigint[], $3::bigint[], $4::bigint[]),
        {levels}
        SELECT EXISTS (
                   SELECT 1 FROM level, LATERAL (
                       SELECT 1 FROM {schema}.leasehold_job AS j
                       WHERE j.state = 0 AND NOT j.waits AND j.queue = $1::text AND j.priority = level.priority
                         AND (j.vests_at, j.id) >= (level.low, level.low_id)
                       ORDER BY j.vests_at, j.id LIMIT 1) AS present
                   WHERE level.low IS NOT NULL),
               (SELECT min(first.vests_at) FROM level, LATERAL (
                    SELECT j.vests_at FROM {schema}.leasehold_job AS j
                    WHERE (j.state <= 1) IS TRUE AND j.queue = $1::text AND j.priority = level.priority
                      AND (j.vests_at, j.id) >= (level.low, level.low_id)
                    ORDER BY j.vests_at, j.id LIMIT 1) AS first
                WHERE level.low IS NOT NULL))")};

    // ---- Rows by id, by key, by end ----

    /// Locked by ascending id. The clock stands outside of what locks, and so is read after the row's lock is had.
    statement hold{"hold", of(R"(
        SELECT {columns}, {server_us}
        FROM (SELECT * FROM {schema}.leasehold_job AS j WHERE j.id = $1::bigint FOR UPDATE) AS held)")};
    statement hold_many{"hold_many", of(R"(
        SELECT {columns}, {server_us}
        FROM (SELECT * FROM {schema}.leasehold_job AS j WHERE j.id = ANY ($1::bigint[])
              ORDER BY j.id FOR UPDATE) AS held)")};

    /// leasehold_ended. Whoever else prunes at the moment takes others.
    statement ended{"ended", of(R"(
        SELECT {columns} FROM unnest($1::bigint[]) AS s(state_of), LATERAL (
            SELECT * FROM {schema}.leasehold_job AS j
            WHERE j.state >= 2 AND j.state = s.state_of AND j.ended_at <= $2::bigint
            ORDER BY j.ended_at, j.id LIMIT $3::bigint FOR UPDATE SKIP LOCKED) AS part)")};

    /// A key that is there already, or that another transaction is just giving away, makes no row. Ids are in the order
    /// given; keys are taken in an order of their own, so that two calls with the same ones never wait for each other.
    statement insert{"insert", of(R"(
        WITH given AS MATERIALIZED (
            SELECT nextval('{schema}.leasehold_job_id_seq') AS id, all_given.* FROM (
                SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[],
                                     $7::bigint[], $8::bool[], $9::bigint[], $10::bytea[])
                    WITH ORDINALITY AS g(queue, key, priority, enqueued_at, state, max_attempts, deadline, waits,
                                         vests_at, payload, place)
                ORDER BY place) AS all_given)
        INSERT INTO {schema}.leasehold_job (id, queue, key, priority, enqueued_at, state, token, attempt, max_attempts,
                                            deadline, waits, vests_at, failures, lapses, payload)
        OVERRIDING SYSTEM VALUE
        SELECT id, queue, key, priority, enqueued_at, state, 0, 0, max_attempts,
               deadline, waits, vests_at, 0, 0, payload
        FROM given ORDER BY queue COLLATE "C", key COLLATE "C", id
        ON CONFLICT (queue, key) WHERE key IS NOT NULL DO NOTHING RETURNING id, queue, key)")};

    /// leasehold_key; says whether the payload is the same.
    statement same_keys{"same_keys", of(R"(
        SELECT given.place, j.id, j.state, j.payload = given.payload
        FROM unnest($1::text[], $2::text[], $3::bytea[]) WITH ORDINALITY AS given(queue, key, payload, place), LATERAL (
            SELECT id, state, payload FROM {schema}.leasehold_job AS there
            WHERE there.queue = given.queue AND there.key = given.key AND there.key IS NOT NULL) AS j)")};

    statement write{"write", of(R"(
        UPDATE {schema}.leasehold_job
        SET state = $2::bigint, owner = $3::text, token = $4::bigint, attempt = $5::bigint, lease_until = $6::bigint,
            deadline = $7::bigint, waits = $8::bool, vests_at = $9::bigint, failures = $10::bigint,
            lapses = $11::bigint, ended_by = $12::bigint, ended_at = $13::bigint, reason = $14::text,
            last_error = $15::text, result = coalesce($16::bytea, result),
            checkpoint = coalesce($17::bytea, checkpoint), max_attempts = $18::bigint
        WHERE id = $1::bigint)")};
    statement write_many{"write_many", of(R"(
        UPDATE {schema}.leasehold_job AS j
        SET state = c.state, owner = c.owner, token = c.token, attempt = c.attempt, lease_until = c.lease_until,
            deadline = c.deadline, waits = c.waits, vests_at = c.vests_at, failures = c.failures, lapses = c.lapses,
            ended_by = c.ended_by, ended_at = c.ended_at, reason = c.reason, last_error = c.last_error,
            result = coalesce(c.result, j.result), checkpoint = coalesce(c.checkpoint, j.checkpoint),
            max_attempts = c.max_attempts
        FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
                    $8::bool[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::text[],
                    $15::text[], $16::bytea[], $17::bytea[], $18::bigint[])
            AS c(id, state, owner, token, attempt, lease_until, deadline, waits, vests_at, failures, lapses, ended_by,
                 ended_at, reason, last_error, result, checkpoint, max_attempts)
        WHERE j.id = c.id)")};

    statement erase{"erase", of("DELETE FROM {schema}.leasehold_job WHERE id = ANY ($1::bigint[])")};
    statement erase_receipts{"erase_receipts",
                             of("DELETE FROM {schema}.leasehold_receipt WHERE job = ANY ($1::bigint[])")};

    // ---- Bytes and receipts ----

    statement bytes{"bytes", of(R"(
        SELECT j.payload, j.checkpoint FROM unnest($1::bigint[]) WITH ORDINALITY AS given(id, place)
        JOIN {schema}.leasehold_job AS j ON j.id = given.id ORDER BY place)")};
    statement receipts{"receipts", of(R"(
        SELECT job, token, owner, at, note FROM {schema}.leasehold_receipt
        WHERE job = ANY ($1::bigint[]) ORDER BY id)")};
    statement insert_receipt{"insert_receipt", of(R"(
        INSERT INTO {schema}.leasehold_receipt (job, token, owner, at, note)
        VALUES ($1::bigint, $2::bigint, $3::text, $4::bigint, $5::text))")};

    // ---- Reading for people ----

    statement find{"find", of(R"(
        SELECT {columns}, payload, result, checkpoint FROM {schema}.leasehold_job WHERE id = $1::bigint)")};
    statement find_key{"find_key", of(R"(
        SELECT {columns}, payload, result, checkpoint FROM {schema}.leasehold_job
        WHERE queue = $1::text AND key = $2::text AND key IS NOT NULL)")};
    statement list{"list", of(R"(
        SELECT {columns}, length(payload)::bigint, length(result)::bigint, length(checkpoint)::bigint
        FROM {schema}.leasehold_job
        WHERE id > $1::bigint AND ($2::text IS NULL OR queue = $2::text) AND ($3::bigint IS NULL OR state = $3::bigint)
        ORDER BY id LIMIT $4::bigint)")};
    statement counts{"counts", of(R"(
        SELECT queue, state, waits, count(*), min(vests_at) FROM {schema}.leasehold_job
        GROUP BY queue, state, waits ORDER BY queue)")};

    // ---- Waiting ----

    /// Commits tell only while somebody has said that he listens: telling makes commits of the whole database queue up.
    statement listen{"listen", of("LISTEN {schema}")};
    statement say_listening{"say_listening", of(R"(
        UPDATE {schema}.leasehold_meta SET listened_until = {server_ms} + 60000
        WHERE only_row = 1 AND listened_until < {server_ms} + 30000)")};
    statement tell_listeners{"tell_listeners", of(R"(
        SELECT pg_notify($1::text, '') FROM {schema}.leasehold_meta
        WHERE only_row = 1 AND listened_until > {server_ms})")};

    /// A text of ours with others of ours, and the schema's name, in their places.
    std::string of(std::string_view text) const {
        std::string filled{text};
        for (const auto& [mark, value] : {std::pair<std::string_view, std::string_view>{"{levels}", levels},
                                          {"{columns}", row_columns},
                                          {"{server_us}", server_us},
                                          {"{server_ms}", server_ms},
                                          {"{schema}", schema}}) {
            for (std::size_t at = filled.find(mark); at != std::string::npos; at = filled.find(mark, at)) {
                filled.replace(at, mark.size(), value);
            }
        }
        return filled;
    }
};

}  // namespace leasehold::inline v0_1_0::detail::postgres
