// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/random_store_id.hpp>
#include <leasehold/sqlite/connection.hpp>
#include <leasehold/sqlite/file_connection.hpp>
#include <leasehold/sqlite/open_transaction.hpp>
#include <leasehold/sqlite/options.hpp>
#include <leasehold/sqlite/rows.hpp>
#include <leasehold/sqlite/sql.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// What a file says of itself.
struct meta {
    std::int64_t version = schema_version;
    store_id identity{};
    std::string axis{};
};

/// Reads and checks `leasehold_meta`; throws where the file is not one that this library works on: of its own schema,
/// or (when it is opened) of one from `oldest` on.
inline meta read_meta(connection& on, std::int64_t oldest = schema_version) {
    running row = on.prepared(select_meta);
    if (!row.step()) {
        throw store_corrupt{"leasehold_meta has no row"};
    }
    meta found;
    found.version = row.integer(0);
    if (found.version < oldest || found.version > schema_version) {
        throw store_unsupported{"the file has leasehold's schema " + std::to_string(found.version) +
                                "; this library knows schema " + std::to_string(schema_version)};
    }
    const std::string id = row.bytes(1);
    if (id.size() != found.identity.bytes.size()) {
        throw store_corrupt{"leasehold_meta.store_id has " + std::to_string(id.size()) + " bytes, not 16"};
    }
    std::copy(id.begin(), id.end(), found.identity.bytes.begin());
    found.axis = row.text(2);
    return found;
}

/// What a file has of ours: names, and the statements that made them, as the engine keeps those.
struct found_object {
    std::string name{};
    std::string statement{};
};
using found_objects = std::vector<found_object>;

template <std::size_t Size>
found_objects objects_of(connection& on, const sql<Size>& which) {
    found_objects all;
    running query = on.prepared(which);
    while (query.step()) {
        all.push_back({query.text(0), query.text(1)});
    }
    return all;
}

inline const found_object* named(const found_objects& all, std::string_view name) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const found_object& each) { return each.name == name; });
    return found == all.end() ? nullptr : &*found;
}

/// Throws `store_unsupported` for the first column of a table that is missing.
inline void check_columns(connection& on, const schema_object& table) {
    const std::string name{table.name};
    running query = on.prepared(table_columns);
    query.bind(name);
    std::vector<std::string> found;
    while (query.step()) {
        found.push_back(query.text(0));
    }
    std::string_view rest = table.columns;
    while (!rest.empty()) {
        const std::string_view column = rest.substr(0, rest.find(' '));
        if (std::find(found.begin(), found.end(), column) == found.end()) {
            throw store_unsupported{"the file's table " + name + " has no column " + std::string{column}};
        }
        rest.remove_prefix(column.size() + 1);
    }
}

/// Throws `store_unsupported` unless `made` makes the object, word for word. What somebody else's trigger, check, index
/// or view on our tables computes would run inside the queue's transactions, and might never end.
inline void check_statement(const found_object& object, std::string_view made) {
    if (made.find('\n' + object.statement + ";\n") == std::string_view::npos) {
        throw store_unsupported{"the file's " + readable(object.name) +
                                " acts on this library's tables, and is not as this library makes it"};
    }
}

/// All that is expected is there, and nothing else that acts on it.
inline void check_objects(connection& on, const found_objects& all, std::span<const schema_object> expected,
                          std::string_view made) {
    for (const schema_object& object : expected) {
        if (named(all, object.name) == nullptr) {
            throw store_unsupported{"the file has no " + std::string{object.columns.empty() ? "index " : "table "} +
                                    std::string{object.name}};
        }
        check_columns(on, object);
    }
    for (const found_object& object : all) {
        check_statement(object, made);
    }
}

/// What the file says of itself where it is made already, by this schema or an older one; nothing where it has no table
/// of ours. Throws `store_unsupported` for a schema that is newer, foreign or not whole. Reads only.
inline std::optional<meta> check_schema(connection& on) {
    const found_objects found = objects_of(on, our_objects);
    if (found.empty()) {
        return std::nullopt;
    }
    const found_object* const says = named(found, "leasehold_meta");
    if (says == nullptr) {
        throw store_unsupported{"the file has " + readable(found.front().name) + ", but no table leasehold_meta"};
    }
    // This table is the same in every schema, and says which one it is; the rest of a newer one may look otherwise.
    check_columns(on, expected_schema.front());
    check_statement(*says, create_schema.c_str());
    meta known = read_meta(on, 1);
    const std::span<const schema_object> expected{expected_schema};
    if (known.version == 1) {
        check_objects(on, found, expected.first(objects_of_first_schema), first_schema.c_str());
    } else {
        check_objects(on, found, expected, create_schema.c_str());
    }
    return known;
}

/// The clock axis must be the one that the file was made with.
inline void check_axis(const meta& known, clock_axis axis) {
    if (known.axis != to_text(axis)) {
        throw store_unsupported{"the file's instants are of a " + readable(known.axis) + " clock, not of a " +
                                std::string{to_text(axis)} + " clock"};
    }
}

inline void check_upgrade(const meta& known, bool is_wanted) {
    if (known.version < schema_version && !is_wanted) {
        throw store_unsupported{"the file has leasehold's schema " + std::to_string(known.version) +
                                ", and is not to be upgraded to schema " + std::to_string(schema_version)};
    }
}

inline void check_journal(file_connection& on, std::optional<journal_mode> wanted) {
    const journal_mode found = on.journal();
    if (wanted.value_or(found) != found) {
        throw store_unsupported{"the file has a " + std::string{to_text(found)} + ", not the " +
                                std::string{to_text(*wanted)} + " that was asked for"};
    }
}

/// Texts in another encoding than ours would not come back exactly: SQLite has no U+FFFF in UTF-16.
inline void check_encoding(connection& on) {
    if (const std::string found = on.ask("PRAGMA encoding"); found != "UTF-8") {
        throw store_unsupported{"the file's texts are " + found + ", not UTF-8"};
    }
}

/// Gives a file that is new the journal asked for, and refuses one that cannot be worked on.
inline void settle_file(file_connection& on, std::optional<journal_mode> wanted) {
    if (wanted == journal_mode::wal && on.ask("PRAGMA page_count") == "0") {
        on.change_to_wal();
    }
    check_journal(on, wanted);
    check_encoding(on);
}

/// Makes the schema, or what it has more than the file's.
inline void make_schema(connection& on, std::optional<meta>& known, clock_axis axis) {
    if (!known) {
        known = meta{.identity = random_store_id(), .axis = std::string{to_text(axis)}};
        on.execute(create_schema);
        on.prepared(insert_meta).bind(known->version, blob{bytes_of(known->identity)}, known->axis).run();
    } else if (known->version < schema_version) {
        on.execute(add_anchor);
        on.prepared(update_schema_version).bind(schema_version).run();
    }
}

/// Makes the schema where the file has none, or an older one. Any number of processes may try at once: one of them does
/// it.
inline void attach(file_connection& on, clock_axis axis, const sqlite_options& options) {
    settle_file(on, options.journal);
    std::optional<meta> known;
    const auto look = [&] {  // a file that is refused is not changed
        known = check_schema(on);
        if (known) {
            check_axis(*known, axis);
            check_upgrade(*known, options.upgrade);
        }
    };
    {
        const open_transaction reading{on, begin_read};
        look();
    }
    if (!known || known->version < schema_version) {
        const open_transaction writing{on, begin_write};
        look();
        make_schema(on, known, axis);
        on.commit();
    }
    check_journal(on, options.journal);  // somebody else may have made the file at the same moment
}

}  // namespace leasehold::inline v0_1_0::detail::sqlite
