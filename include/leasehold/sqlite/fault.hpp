// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include <sqlite3.h>

#include <leasehold/errors.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// A fault as the engine reported it.
struct fault {
    int code = SQLITE_OK;  ///< the extended code
    std::string message{};
    bool transaction_lost = false;

    int primary() const noexcept { return code & 0xFF; }
};

/// What the connection's last call came to; to be read before the next call.
inline fault last_fault(sqlite3* database, bool was_in_transaction) {
    return {sqlite3_extended_errcode(database), sqlite3_errmsg(database),
            was_in_transaction && sqlite3_get_autocommit(database) != 0};
}

/// Throws the error that a caller can act on. `doing` names the operation.
[[noreturn]] inline void raise(const fault& why, std::string_view doing) {
    const std::string text = std::string{doing} + ": " + why.message + " (SQLite " + std::to_string(why.code) + ")";
    if (why.code == SQLITE_READONLY_DBMOVED) {
        throw store_unsupported{text, why.code, why.transaction_lost};
    }
    switch (why.primary()) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED: throw store_busy{text, why.code, why.transaction_lost};
        case SQLITE_FULL: throw store_full{text, why.code, why.transaction_lost};
        case SQLITE_READONLY:
        case SQLITE_PERM: throw store_readonly{text, why.code, why.transaction_lost};
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB: throw store_corrupt{text, why.code, why.transaction_lost};
        default: throw store_error{text, why.code, why.transaction_lost};
    }
}

}  // namespace leasehold::inline v0_1_0::detail::sqlite
