// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <sys/stat.h>

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <leasehold/errors.hpp>
#include <leasehold/sqlite/connection.hpp>
#include <leasehold/sqlite/fault.hpp>
#include <leasehold/sqlite/open_transaction.hpp>
#include <leasehold/sqlite/options.hpp>
#include <leasehold/sqlite/patience.hpp>
#include <leasehold/sqlite/sql.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// The first engine with STRICT tables. Asked of the headers here, and of the library when a file is opened.
inline constexpr int oldest_engine = 3037000;
static_assert(SQLITE_VERSION_NUMBER >= oldest_engine, "leasehold needs SQLite 3.37 or newer");

/// The engine's own object, opened; a base, so that it is there before the connection that refers to it.
class opened_file {
protected:
    explicit opened_file(const std::string& path) : database_{opened(path)} {}

    SQLite::Database& opened_database() noexcept { return database_; }

private:
    /// A plain file name, never a URI or a name with a meaning of its own.
    static std::string plain(const std::string& path) { return path.starts_with("/") ? path : "./" + path; }

    static SQLite::Database opened(const std::string& path) {
        try {
            // Its own mutexes are not needed: one thread at a time has the connection.
            return SQLite::Database{plain(path), SQLite::OPEN_READWRITE | SQLite::OPEN_NOMUTEX};
        } catch (const SQLite::Exception& refused) {
            raise({refused.getExtendedErrorCode(), refused.getErrorStr(), false}, "opening " + path);
        }
    }

    SQLite::Database database_;
};

/// A connection of our own to the file, as the options say.
class file_connection : opened_file, public connection {
public:
    file_connection(const std::string& path, const sqlite_options& options, patience until)
        : opened_file{path}, connection{opened_database()}, patience_{until} {
        sqlite3_busy_handler(handle(), &file_connection::on_busy, this);
        sqlite3_extended_result_codes(handle(), 1);
        sqlite3_progress_handler(handle(), steps_in_a_turn, &file_connection::on_turn, this);
        // A schema that somebody else wrote must not run functions with effects through ours.
        sqlite3_db_config(handle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
        execute("PRAGMA cell_size_check = ON");
        set_synchronous(options.synchronous);
        has_rollback_journal_ = journal() == journal_mode::rollback;
        if (has_rollback_journal_) {
            // With FULL, a journal that is truncated is as durable as one that is deleted with EXTRA, and faster.
            execute("PRAGMA journal_mode = TRUNCATE");
        }
    }

    /// From here on locks are waited for so long.
    void wait_at_most(patience until) noexcept { patience_ = until; }

    /// What was so when the file was opened: commits and reads keep each other waiting.
    bool has_rollback_journal() const noexcept { return has_rollback_journal_; }

    /// Throws `store_unsupported` where the file has no longer the name by which it was opened: what is written there
    /// nobody would find. Asked at most every 10 ms, as long as nothing had to be waited for, and nothing failed.
    void refuse_if_moved() {
        constexpr std::chrono::milliseconds between_checks{10};
        const auto now = patience::clock::now();
        if (now < next_check_ && !is_in_doubt_) {
            return;
        }
        int moved = 0;
        if (sqlite3_file_control(handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0) {
            throw store_unsupported{"the database file was moved, removed or replaced while it was open"};
        }
        next_check_ = now + between_checks;
        is_in_doubt_ = false;
    }

    void commit() {
        if (is_in_doubt_) {
            refuse_if_moved();
        }
        try {
            connection::commit();
        } catch (const store_unknown&) {
            is_in_doubt_ = is_unsettled_ = true;
            try {
                settle();
            } catch (const store_error&) {  // then before the next transaction
            }
            throw;
        } catch (...) {
            is_in_doubt_ = true;
            throw;
        }
    }

    /// After a commit that failed on the way, what can be seen of it may be in the machine's memory alone, and not
    /// even a sync makes it last: the kernel takes for clean what it once could not write. Another commit does. Until
    /// then a power cut may bring the old journal back, and that must not be mixed with the next: so that is a new
    /// file.
    void settle() {
        if (!is_unsettled_) {
            return;
        }
        if (in_transaction()) {
            roll_back();
        }
        if (has_rollback_journal_) {
            execute("PRAGMA journal_mode = DELETE; PRAGMA journal_mode = TRUNCATE");
        }
        const open_transaction writing{*this, begin_write};
        execute(leave_a_trace);
        connection::commit();
        is_unsettled_ = false;
    }

    /// Writes into the database itself what is in its write-ahead log, if it has one.
    void empty_log() { execute("PRAGMA wal_checkpoint(TRUNCATE)"); }

    /// The journal that the file has.
    journal_mode journal() { return ask("PRAGMA journal_mode") == "wal" ? journal_mode::wal : journal_mode::rollback; }

    /// Gives the file a write-ahead log, if nobody else is using it; waits for that as for any lock.
    void change_to_wal() {
        for (int tries = 0; database().tryExec("PRAGMA journal_mode = WAL") != SQLITE_OK; ++tries) {
            const fault why = last_fault(handle(), false);
            if (why.primary() != SQLITE_BUSY || !patience_.nap(tries)) {
                raise(why, "changing to a write-ahead log");
            }
        }
    }

private:
    static int on_busy(void* self, int tries) noexcept {
        auto* const waits = static_cast<file_connection*>(self);
        waits->is_in_doubt_ = true;
        return waits->patience_.nap(tries) ? 1 : 0;
    }

    /// The pages of a damaged tree can lead in circles, for as long as anybody cares to follow: a statement of ours
    /// that takes more steps than a good file of that size could need is given up.
    static constexpr int steps_in_a_turn = 100'000;
    static constexpr std::int64_t always_allowed = 10;   ///< turns
    static constexpr std::int64_t steps_for_a_byte = 8;  ///< no row takes so many for one of its bytes

    static int on_turn(void* self) noexcept {
        auto* const works = static_cast<file_connection*>(self);
        const std::optional<std::int64_t> turns = works->take_turn();
        if (!turns || *turns <= always_allowed || *turns <= works->bytes() * steps_for_a_byte / steps_in_a_turn) {
            return 0;
        }
        works->give_up();
        return 1;
    }

    /// How large the file is, and its write-ahead log.
    std::int64_t bytes() const noexcept {
        const char* const name = sqlite3_db_filename(handle(), "main");
        std::int64_t sum = 0;
        for (const char* const each : {name, sqlite3_filename_wal(name)}) {
            struct stat found {};
            sum += ::stat(each, &found) == 0 ? found.st_size : 0;
        }
        return sum;
    }

    void set_synchronous(synchronous_mode mode) {
        constexpr std::array<constant_text, 4> texts{"PRAGMA synchronous = OFF", "PRAGMA synchronous = NORMAL",
                                                     "PRAGMA synchronous = FULL", "PRAGMA synchronous = EXTRA"};
        execute(texts.at(static_cast<std::size_t>(mode)));
    }

    patience patience_;
    patience::clock::time_point next_check_{};
    bool has_rollback_journal_ = false;
    bool is_unsettled_ = false;  ///< whether a commit has failed on the way, and none has succeeded since
    bool is_in_doubt_ = false;   ///< whether something has happened since the file was last looked for
};

}  // namespace leasehold::inline v0_1_0::detail::sqlite
