// SPDX-License-Identifier: MIT
#pragma once

#include <array>

#include <leasehold/sqlite/sql.hpp>

/// What the receiver's ledger says to the engine.
namespace leasehold::inline v0_1_0::detail::sqlite {

inline constexpr std::array<schema_object, 3> expected_ledger{{
    {"leasehold_ledger", "business_id content answer store_id job token recorded_at "},
    {"leasehold_ledger_id", ""},
    {"leasehold_ledger_age", ""},
}};

inline constexpr sql create_ledger = R"(
CREATE TABLE leasehold_ledger (
    business_id TEXT NOT NULL,
    content BLOB NOT NULL,
    answer BLOB NOT NULL,
    store_id BLOB,
    job INTEGER,
    token INTEGER,
    recorded_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX leasehold_ledger_id ON leasehold_ledger (business_id);
CREATE INDEX leasehold_ledger_age ON leasehold_ledger (recorded_at);
)";

/// All that is, or acts, on the ledger's table.
inline constexpr sql ledger_objects =
    "SELECT name, sql FROM sqlite_schema WHERE tbl_name LIKE 'leasehold~_ledger' ESCAPE '~'";

/// leasehold_ledger_id
inline constexpr sql select_delivery =
    "SELECT content = ?2, answer, store_id, job, token, recorded_at FROM leasehold_ledger WHERE business_id = ?1";
inline constexpr sql insert_delivery = "INSERT INTO leasehold_ledger VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
inline constexpr sql update_round =
    "UPDATE leasehold_ledger SET store_id = ?2, job = ?3, token = ?4 WHERE business_id = ?1";

/// leasehold_ledger_age
inline constexpr sql forget_deliveries =
    "DELETE FROM leasehold_ledger WHERE rowid IN "
    "(SELECT rowid FROM leasehold_ledger WHERE recorded_at <= ?1)";

}  // namespace leasehold::inline v0_1_0::detail::sqlite
