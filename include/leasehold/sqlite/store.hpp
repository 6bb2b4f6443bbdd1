// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sqlite3.h>

#include <leasehold/clock.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/process_of.hpp>
#include <leasehold/random_store_id.hpp>
#include <leasehold/sqlite/file_bell.hpp>
#include <leasehold/sqlite/file_connection.hpp>
#include <leasehold/sqlite/file_place.hpp>
#include <leasehold/sqlite/line.hpp>
#include <leasehold/sqlite/options.hpp>
#include <leasehold/sqlite/private_file.hpp>
#include <leasehold/sqlite/schema.hpp>
#include <leasehold/sqlite/transaction.hpp>
#include <leasehold/sqlite/transaction_clock.hpp>
#include <leasehold/sqlite/view.hpp>
#include <leasehold/sqlite/write_lock.hpp>
#include <leasehold/store.hpp>

namespace leasehold::inline v0_1_0 {

/// Keeps jobs in a file, for the processes of one machine. The file may be an application's own: what is made there
/// begins with `leasehold_`, and nothing else is touched. Opened by the queue that it is given to.
///
/// A child of a fork has no part in it: every use there throws `store_unsupported`, and what it destroys closes nothing
/// of the parent's. It opens the file for itself, unless the parent had a lock on it at the fork, as is so all the time
/// with a write-ahead log: then it is refused.
class sqlite_store {
public:
    static constexpr reach reaches = reach::machine;

    /// Throws `std::invalid_argument` for a path that names no file.
    sqlite_store(std::string path, sqlite_options options = {})  // NOLINT: a path is a store in lease_queue{{path}}
        : shared_{new shared{detail::sqlite::file_place(path), options}} {}

    /// Opens the file and makes what is missing: the file, private to its user, and the tables in it. Refuses with
    /// `store_unsupported`, and changes nothing, where the file has another schema, journal or clock axis, or is on a
    /// network file system.
    void attach(clock_axis axis) {
        if (sqlite3_libversion_number() < detail::sqlite::oldest_engine) {
            throw store_unsupported{"SQLite " + std::string{sqlite3_libversion()} + " is older than 3.37"};
        }
        detail::sqlite::refuse_remote(shared_->path, shared_->options.trusted_file_system);
        if (!detail::sqlite::is_there(shared_->path)) {
            make_file(axis);
        }
        const detail::sqlite::line::place at = shared_->writing.take();
        detail::sqlite::attach(at.on, axis, shared_->options);
    }

    /// Waits for the lock until the busy timeout, which runs from `since`, is over.
    template <detail::sqlite::file_clock Clock>
    detail::sqlite::transaction begin(const Clock& clock,
                                      std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now()) {
        return detail::sqlite::transaction{shared_->writing.take(since), detail::sqlite::transaction_clock::of(clock),
                                           shared_->bell};
    }

    /// The caller's own open transaction on the same file, for the verbs to run in. Throws `std::logic_error` where it
    /// does not hold the write lock, or is on another file.
    template <detail::sqlite::file_clock Clock>
    detail::sqlite::joined_transaction adopt(SQLite::Database& connection, const Clock& clock) const {
        return detail::sqlite::joined_transaction{connection, identity(), detail::sqlite::transaction_clock::of(clock)};
    }

    /// A transaction begun on the caller's connection to the same file. Throws `std::logic_error` where that is to
    /// another file, or has a transaction open.
    template <detail::sqlite::file_clock Clock>
    detail::sqlite::lent_transaction begin_on(SQLite::Database& connection, const Clock& clock) const {
        const store_id known = identity();
        const detail::sqlite::patience until{shared_->options.busy_timeout};
        return {shared_->writing.pass(until),
                connection,
                known,
                detail::sqlite::transaction_clock::of(clock),
                shared_->bell,
                until,
                shared_->options.busy_timeout};
    }

    /// A snapshot; never waits for the write lock longer than a commit takes.
    detail::sqlite::view view() const { return detail::sqlite::view{shared_->reading.take()}; }

    /// What a clock that the file anchors shows, outside any transaction of the caller's.
    template <detail::sqlite::anchored_clock Clock>
    reading read(const Clock& clock) const {
        if (const std::optional<reading> seen = view().read(clock)) {
            return *seen;
        }
        detail::sqlite::write_lock writing{shared_->writing.take()};
        const reading now = clock.read_in(writing.file());
        writing.commit();
        return now;
    }

    /// A word that is another after every commit, by any process, that may have made a job ready.
    std::uint32_t changes() const { return shared_->bell.read(); }
    /// Waits until the word is another than `seen`, or for `at_most`; may come back sooner.
    void await(std::uint32_t seen, millis at_most) const { shared_->bell.wait(seen, at_most.to_chrono()); }
    /// Changes the word, so that who waits looks again: for commits that are not the store's own, for one.
    void wake() const noexcept { shared_->bell.ring(); }

    /// Another identity, so that no marker given out before fits.
    store_id renew_identity() {
        const store_id fresh = detail::random_store_id();
        detail::sqlite::write_lock writing{shared_->writing.take()};
        detail::sqlite::read_meta(writing.file());
        writing.file()
            .prepared(detail::sqlite::update_store_id)
            .bind(detail::sqlite::blob{detail::sqlite::bytes_of(fresh)})
            .run();
        writing.commit();
        return fresh;
    }

private:
    /// As the file says now.
    store_id identity() const { return view().identity(); }

    /// Makes the file whole before it has its name, so that nobody ever sees it half made, with another journal, or
    /// with other permissions than it shall have.
    void make_file(clock_axis axis) const {
        const sqlite_options& options = shared_->options;
        const detail::sqlite::unnamed_file fresh{shared_->path, options.file_mode};
        {
            detail::sqlite::file_connection on{fresh.path(), options, detail::sqlite::patience{options.busy_timeout}};
            detail::sqlite::attach(on, axis, options);
            on.empty_log();  // the log does not come along; and what fails when a connection is closed, nobody is told
        }
        if (!fresh.publish(shared_->path)) {
            detail::sqlite::make_empty_file(shared_->path, options.file_mode);
        }
    }

    struct shared {
        shared(std::string where, const sqlite_options& how) : path{std::move(where)}, options{how} {}

        std::string path;
        sqlite_options options;
        detail::sqlite::line writing{path, options, detail::sqlite::line::purpose::writing};
        detail::sqlite::line reading{path, options, detail::sqlite::line::purpose::reading};
        detail::sqlite::file_bell bell{path};
    };

    detail::bound_to_process<shared> shared_;
};

static_assert(lease_store<sqlite_store>);
static_assert(clock_for<wall_clock, sqlite_store> && !clock_for<process_clock, sqlite_store>);

/// Converts a file from one journal to the other; throws `store_busy` where somebody else's use of it prevents that.
/// To be called alone on the file: SQLite itself notices others on the way from a write-ahead log, and on the way to
/// one only where they have a lock at that moment.
inline void set_journal(const std::string& path, journal_mode mode, millis busy_timeout = std::chrono::seconds{5}) {
    detail::sqlite::line alone{path, {.busy_timeout = busy_timeout}, detail::sqlite::line::purpose::writing};
    const auto [way, on] = alone.take();
    if (mode == journal_mode::wal) {
        on.change_to_wal();
    } else {
        on.execute("PRAGMA journal_mode = DELETE");
    }
    if (on.journal() != mode) {
        throw store_busy{"the file's journal stays as it is: somebody else has " + path + " open"};
    }
}

}  // namespace leasehold::inline v0_1_0
