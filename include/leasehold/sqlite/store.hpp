// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <sqlite3.h>

#include <leasehold/clock.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/random_store_id.hpp>
#include <leasehold/sqlite/connection.hpp>
#include <leasehold/sqlite/options.hpp>
#include <leasehold/sqlite/private_file.hpp>
#include <leasehold/sqlite/schema.hpp>
#include <leasehold/sqlite/transaction.hpp>
#include <leasehold/sqlite/turn.hpp>
#include <leasehold/sqlite/view.hpp>
#include <leasehold/store.hpp>

namespace leasehold {

namespace detail::sqlite {

/// A connection that is made when it is needed, and its turn: one thread uses it at a time.
class line {
public:
    /// Waits for the turn and has the connection ready, within the timeout of the options. Throws `store_busy`.
    std::pair<turn_taken, connection&> take(const std::string& path, const sqlite_options& options) {
        const patience until{options.busy_timeout};
        turn_taken turn = turn_.take(until.end());
        if (!turn) {
            throw store_busy{"waiting for another thread's use of " + path};
        }
        if (connection_ && connection_->is_broken()) {
            connection_.reset();
        }
        if (!connection_) {
            connection_.emplace(path, options);
        }
        connection_->wait_at_most(until);
        return {std::move(turn), *connection_};
    }

private:
    turn turn_{};
    std::optional<connection> connection_{};
};

}  // namespace detail::sqlite

/// Keeps jobs in a file, for the processes of one machine. The file may be an application's own: what is made there
/// begins with `leasehold_`, and nothing else is touched. Opened by the queue that it is given to.
class sqlite_store {
public:
    static constexpr reach reaches = reach::machine;

    /// Throws `std::invalid_argument` for a path that names no file.
    sqlite_store(std::string path, sqlite_options options = {})  // NOLINT: a path is a store in lease_queue{{path}}
        : shared_{std::make_unique<shared>(std::move(path), options)} {
        if (shared_->path.empty() || shared_->path.find('\0') != std::string::npos || shared_->path == ":memory:") {
            throw std::invalid_argument{"path: " + detail::readable(shared_->path) +
                                        " names no file (see memory_store for jobs that live in memory)"};
        }
    }

    /// Opens the file and makes what is missing: the file, private to its user, and the tables in it. Refuses with
    /// `store_unsupported`, and changes nothing, where the file has another schema, journal or clock axis.
    void attach(clock_axis axis) {
        if (sqlite3_libversion_number() < detail::sqlite::oldest_engine) {
            throw store_unsupported{"SQLite " + std::string{sqlite3_libversion()} + " is older than 3.37"};
        }
        detail::sqlite::make_private_file(shared_->path, shared_->options.file_mode);
        const auto [turn, on] = shared_->writing.take(shared_->path, shared_->options);
        detail::sqlite::attach(on, axis);
    }

    template <local_clock Clock>
    detail::sqlite::transaction begin(const Clock& clock) {
        auto [turn, on] = shared_->writing.take(shared_->path, shared_->options);
        return detail::sqlite::transaction{std::move(turn), on, single_reading::of(clock)};
    }

    detail::sqlite::view view() {
        auto [turn, on] = shared_->reading.take(shared_->path, shared_->options);
        return detail::sqlite::view{std::move(turn), on};
    }

    store_id renew_identity() {
        const store_id fresh = detail::random_store_id();
        const wall_clock unread;
        auto transaction = begin(unread);
        transaction.set_identity(fresh);
        transaction.commit();
        return fresh;
    }

private:
    struct shared {
        shared(std::string where, const sqlite_options& how) : path{std::move(where)}, options{how} {}

        std::string path;
        sqlite_options options;
        detail::sqlite::line writing{};
        detail::sqlite::line reading{};
    };

    std::unique_ptr<shared> shared_;
};

static_assert(lease_store<sqlite_store>);
static_assert(clock_for<wall_clock, sqlite_store> && !clock_for<process_clock, sqlite_store>);

/// Converts a file from one journal to the other. Nothing else may have it open.
inline void set_journal(const std::string& path, journal_mode mode, millis busy_timeout = std::chrono::seconds{5}) {
    detail::sqlite::connection on{path, {.busy_timeout = busy_timeout}};
    on.execute(mode == journal_mode::wal ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE");
    const bool is_wal = on.ask("PRAGMA journal_mode") == "wal";
    if (is_wal != (mode == journal_mode::wal)) {
        throw store_busy{"the file's journal stays as it is: somebody else has " + path + " open"};
    }
}

}  // namespace leasehold
