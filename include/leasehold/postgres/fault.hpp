// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include <libpq-fe.h>

#include <leasehold/errors.hpp>

namespace leasehold::inline v0_1_0::detail::postgres {

/// A fault as the server reported it: its five-character code and its message, without the detail, which holds values.
struct fault {
    std::string state{};
    std::string message{};

    static fault of(const PGresult* answer) {
        const char* const state = ::PQresultErrorField(answer, PG_DIAG_SQLSTATE);
        const char* const message = ::PQresultErrorField(answer, PG_DIAG_MESSAGE_PRIMARY);
        return {state == nullptr ? "" : state, message == nullptr ? "" : message};
    }

    bool is_of(std::string_view kind) const noexcept { return std::string_view{state}.substr(0, 2) == kind; }

    /// The code as one number: six bits a character, the first one lowest, as the server's own sources have it.
    int code() const noexcept {
        int packed = 0;
        for (std::size_t i = state.size(); i-- > 0;) {
            packed = (packed << 6) + ((state[i] - '0') & 0x3F);
        }
        return packed;
    }
};

/// Throws the error that a caller can act on. `doing` names the operation.
[[noreturn]] inline void raise(const fault& why, std::string_view doing) {
    const std::string text = std::string{doing} + ": " + why.message + " (PostgreSQL " + why.state + ")";
    const int code = why.code();
    if (why.state == "40001" || why.state == "40P01") {
        throw store_conflict{text, code, true};
    }
    if (why.state == "55P03" || why.state == "57014") {  // a lock's timeout, a statement's
        throw store_busy{text, code, true};
    }
    if (why.state == "53100") {
        throw store_full{text, code, true};
    }
    if (why.state == "25006" || why.state == "42501") {  // a standby, a role without the right
        throw store_readonly{text, code, true};
    }
    if (why.is_of("XX")) {
        throw store_corrupt{text, code, true};
    }
    if (why.state == "42P01" || why.state == "42703" || why.state == "3F000") {  // no such table, column, schema
        throw store_unsupported{text, code, true};
    }
    throw store_error{text, code, true};
}

}  // namespace leasehold::inline v0_1_0::detail::postgres
