// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/job.hpp>
#include <leasehold/sqlite/connection.hpp>
#include <leasehold/sqlite/sql.hpp>
#include <leasehold/store.hpp>
#include <leasehold/text.hpp>

/// Rows between the file and the library. What the file holds is not trusted: a value that cannot be is
/// `store_corrupt`.
namespace leasehold::inline v0_1_0::detail::sqlite {

[[noreturn]] inline void raise_impossible(job_id id, std::string_view column, const std::string& value) {
    throw store_corrupt{"job " + to_text(id) + " has " + std::string{column} + " " + value};
}

/// An integer of the file, within the bounds that its column has.
template <class T>
T bounded(const running& from, int column, job_id id, std::string_view name, std::int64_t lowest,
          std::int64_t highest) {
    const std::int64_t value = from.integer(column);
    if (value < lowest || value > highest) {
        raise_impossible(id, name, std::to_string(value));
    }
    return static_cast<T>(value);
}

/// A name of the file; empty only where there may be none.
inline std::string name_at(const running& from, int column, job_id id, std::string_view what, bool may_be_none = true) {
    std::string name = from.text(column);
    if (!(is_name(name) || (name.empty() && may_be_none))) {
        raise_impossible(id, what, readable(std::string_view{name}.substr(0, longest_name)));
    }
    return name;
}

/// A message of the file: no longer than it was kept.
inline std::string message_at(const running& from, int column, job_id id, std::string_view what) {
    std::string message = from.text(column);
    if (message.size() > longest_message) {
        raise_impossible(id, what, "of " + std::to_string(message.size()) + " bytes");
    }
    return message;
}

inline instant instant_at(const running& from, int column) {
    return instant{std::chrono::milliseconds{from.integer(column)}};
}

inline std::optional<instant> optional_instant_at(const running& from, int column) {
    return from.is_null(column) ? std::nullopt : std::optional{instant_at(from, column)};
}

/// Reads the `row_columns` of the statement's current row.
inline row read_row(const running& from) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    constexpr std::int64_t many = std::numeric_limits<std::int64_t>::max();
    row job;
    job.id = job_id{from.integer(0)};
    job.queue = name_at(from, 1, job.id, "queue", false);
    job.key = name_at(from, 2, job.id, "key");
    job.priority = bounded<std::int32_t>(from, 3, job.id, "priority", -most - 1, most);
    job.enqueued_at = instant_at(from, 4);
    job.state = bounded<job_state>(from, 5, job.id, "state", 0, 4);
    job.owner = name_at(from, 6, job.id, "owner");
    job.token = claim_token{bounded<std::int64_t>(from, 7, job.id, "token", 0, many)};
    job.attempt = bounded<std::int32_t>(from, 8, job.id, "attempt", 0, most);
    job.max_attempts = bounded<std::int32_t>(from, 9, job.id, "max_attempts", 1, most);
    job.lease_until = optional_instant_at(from, 10);
    job.deadline = optional_instant_at(from, 11);
    job.waits = bounded<bool>(from, 12, job.id, "waits", 0, 1);
    job.vests_at = instant_at(from, 13);
    job.failures = bounded<std::int64_t>(from, 14, job.id, "failures", 0, many);
    job.lapses = bounded<std::int64_t>(from, 15, job.id, "lapses", 0, many);
    if (!from.is_null(16)) {
        job.ended_by = bounded<ender>(from, 16, job.id, "ended_by", 0, 2);
    }
    job.ended_at = optional_instant_at(from, 17);
    job.reason = message_at(from, 18, job.id, "reason");
    job.last_error = message_at(from, 19, job.id, "last_error");
    const bool is_lease = job.lease_until == job.vests_at && job.waits && !job.owner.empty();
    if (job.state == job_state::leased && !is_lease) {
        raise_impossible(job.id, "a lease", "without its owner, end or place in line");
    }
    if (has_ended(job.state) && !job.ended_at) {
        raise_impossible(job.id, "an end", "without its instant");
    }
    return job;
}

inline void append_rows(running& from, std::vector<row>& rows) {
    while (from.step()) {
        rows.push_back(read_row(from));
    }
}

/// The next priority of open rows below `above`; nothing where there is none.
inline std::optional<std::int64_t> priority_below(connection& on, std::string_view queue, std::int64_t above) {
    running query = on.prepared(next_priority);
    query.bind(queue, above).step();
    const std::optional<std::int64_t> next = query.optional_integer(0);
    if (next && *next >= above) {  // such as -6.5, which is below -6, and read as -6
        throw store_corrupt{"the index leasehold_open is out of order"};
    }
    return next;
}

inline std::int64_t number(job_state state) noexcept { return static_cast<std::int64_t>(state); }

inline void write_row(connection& on, const row& job) {
    std::optional<std::int64_t> ended_by;
    if (job.ended_by) {
        ended_by = static_cast<std::int64_t>(*job.ended_by);
    }
    on.prepared(update_row)
        .bind(job.id.value, number(job.state), nullable{job.owner}, job.token.value, job.attempt, job.lease_until,
              job.deadline, job.waits, job.vests_at, job.failures, job.lapses, ended_by, job.ended_at,
              nullable{job.reason}, nullable{job.last_error})
        .run();
}

/// Adds a row without its payload.
inline job_id add_row(connection& on, const insertion& made) {
    const rules::columns& as = made.columns;
    on.prepared(insert_row)
        .bind(made.content->queue, nullable{made.content->key}, made.content->priority, made.enqueued_at,
              number(as.state), as.token.value, as.attempt, as.max_attempts, as.deadline, as.waits, as.vests_at,
              as.failures, as.lapses)
        .run();
    return job_id{sqlite3_last_insert_rowid(on.handle())};
}

inline std::string_view bytes_of(const store_id& id) noexcept {
    return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};  // NOLINT: the bytes as they are
}

/// A value of one of the tables of bytes, or no bytes.
template <std::size_t Size>
std::string bytes_of(connection& on, const sql<Size>& select, job_id id) {
    running query = on.prepared(select);
    return query.bind(id.value).step() ? query.bytes(0) : std::string{};
}

template <std::size_t Set, std::size_t Delete>
void set_bytes(connection& on, const sql<Set>& set, const sql<Delete>& remove, job_id id, std::string_view bytes) {
    if (bytes.empty()) {
        on.prepared(remove).bind(id.value).run();
    } else {
        on.prepared(set).bind(id.value, blob{bytes}).run();
    }
}

inline std::vector<receipt> receipts_of(connection& on, job_id id) {
    std::vector<receipt> all;
    running query = on.prepared(select_receipts);
    query.bind(id.value);
    while (query.step()) {
        all.push_back({claim_token{query.integer(0)}, name_at(query, 1, id, "a receipt's owner"), instant_at(query, 2),
                       message_at(query, 3, id, "a receipt's note")});
    }
    return all;
}

}  // namespace leasehold::inline v0_1_0::detail::sqlite
