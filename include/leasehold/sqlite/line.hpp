// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <utility>

#include <leasehold/errors.hpp>
#include <leasehold/sqlite/file_connection.hpp>
#include <leasehold/sqlite/options.hpp>
#include <leasehold/sqlite/patience.hpp>
#include <leasehold/sqlite/turn.hpp>

namespace leasehold::detail::sqlite {

/// A connection that is made when it is needed, and its turn: one thread uses it at a time.
class line {
public:
    /// Waits for the turn and has the connection ready, within the timeout of the options, which runs from `since`.
    /// Throws `store_busy`.
    std::pair<turn_taken, file_connection&> take(const std::string& path, const sqlite_options& options,
                                                 patience::clock::time_point since = patience::clock::now()) {
        const patience until{options.busy_timeout, since};
        turn_taken turn = turn_.take(until.end());
        if (!turn) {
            throw store_busy{"waiting for another thread's use of " + path};
        }
        if (!connection_) {
            connection_.emplace(path, options, until);
        }
        connection_->wait_at_most(until);
        return {std::move(turn), *connection_};
    }

private:
    turn turn_{};
    std::optional<file_connection> connection_{};
};

}  // namespace leasehold::detail::sqlite
