// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/postgres/connection.hpp>
#include <leasehold/postgres/transaction_clock.hpp>
#include <leasehold/random_store_id.hpp>
#include <leasehold/text.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0::detail::postgres {

/// A name that needs no quotes in a statement, and leaves room in the server's 63 bytes.
inline const std::string& checked_schema(const std::string& name) {
    const auto is_letter = [](char c) { return 'a' <= c && c <= 'z'; };
    const bool is_fine = !name.empty() && name.size() <= 40 && is_letter(name.front()) && name.substr(0, 3) != "pg_" &&
                         std::all_of(name.begin(), name.end(),
                                     [&](char c) { return is_letter(c) || ('0' <= c && c <= '9') || c == '_'; });
    if (!is_fine) {
        throw std::invalid_argument{
            "schema: a lower-case letter, then lower-case letters, digits and underscores, at most 40, and not pg_"};
    }
    return name;
}

inline std::string_view bytes_of(const store_id& id) noexcept {
    return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};  // NOLINT: the bytes as they are
}

/// What the database says of the store, or nothing where it has none in this schema.
inline std::optional<meta> known_in(connection& on) {
    const answer found = on.ask(on.says().has_meta, with(on.says().schema));
    if (const std::string_view encoding = found.view(0, 1); encoding != "UTF8") {
        throw store_unsupported{"the database's texts are " + std::string{encoding} + ", not UTF8"};
    }
    if (!found.truth(0, 0)) {
        return std::nullopt;
    }
    return meta_of(on.ask(on.says().meta));
}

/// The statements that make the schema, one by one.
inline std::vector<statement> making(const statements& says) {
    const std::string text = says.of(create_schema);
    std::vector<statement> all;
    std::string_view rest = text;
    while (rest.find(';') != std::string_view::npos) {
        all.push_back({"", std::string{rest.substr(0, rest.find(';'))}});
        rest.remove_prefix(rest.find(';') + 1);
    }
    return all;
}

inline meta make_schema(connection& on, clock_axis axis) {
    const meta made{random_store_id(), std::string{to_text(axis)}};
    const statement schema{"", on.says().of("CREATE SCHEMA {schema}")};
    if (!on.ask(on.says().has_schema, with(on.says().schema)).truth(0, 0)) {
        on.ask(schema);
    }
    const std::vector<statement> all = making(on.says());
    for (const statement& each : all) {
        on.gather(each);
    }
    on.gather(on.says().insert_meta, with(std::int64_t{schema_version}, blob{bytes_of(made.identity)}, made.axis));
    on.gather(on.says().commit);
    on.flush(true);
    return made;
}

/// Makes the schema where there is none. Any number of programs may try at once: one of them does it. The connection is
/// used for nothing else afterwards.
inline void attach(connection& on, clock_axis axis) {
    std::optional<meta> known = known_in(on);
    if (!known) {
        on.gather(on.says().begin);
        on.gather(on.says().lock_schema, with(on.says().schema));
        known = known_in(on);
        if (!known) {
            known = make_schema(on, axis);
        }
        on.roll_back();
    }
    if (known->axis != to_text(axis)) {
        throw store_unsupported{"the store's instants are of a " + readable(known->axis) + " clock, not of a " +
                                std::string{to_text(axis)} + " clock"};
    }
}

}  // namespace leasehold::inline v0_1_0::detail::postgres
