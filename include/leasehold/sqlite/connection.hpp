// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <leasehold/job.hpp>
#include <leasehold/sqlite/fault.hpp>
#include <leasehold/sqlite/options.hpp>
#include <leasehold/sqlite/sql.hpp>
#include <leasehold/time.hpp>

namespace leasehold::detail::sqlite {

/// The first engine with STRICT tables. Asked of the headers here, and of the library when a file is opened.
inline constexpr int oldest_engine = 3037000;
static_assert(SQLITE_VERSION_NUMBER >= oldest_engine, "leasehold needs SQLite 3.37 or newer");

/// Until when a call waits for locks, on the steady clock.
class patience {
public:
    using clock = std::chrono::steady_clock;

    explicit patience(millis timeout) noexcept
        // A hundred years are as good as for ever, and no sum below overflows.
        : end_{clock::now() + std::chrono::milliseconds{std::clamp<std::int64_t>(
                                  timeout.count(), 0, std::int64_t{100} * 365 * 86'400'000)}} {}

    clock::time_point end() const noexcept { return end_; }

    /// Sleeps a little before the next try, longer with every one; false once the time is over.
    bool nap(int tries) const {
        const clock::duration left = end_ - clock::now();
        if (left <= clock::duration::zero()) {
            return false;
        }
        constexpr std::chrono::microseconds shortest{100};
        constexpr int doublings = 6;
        std::this_thread::sleep_for(std::min<clock::duration>(left, shortest * (1 << std::clamp(tries, 0, doublings))));
        return true;
    }

private:
    clock::time_point end_;
};

/// Bytes, where a string would be text.
struct blob {
    std::string_view bytes{};
};

/// Text that may be missing: an empty one is kept as NULL.
struct nullable {
    const std::string& text;
};

class connection;

/// A statement of a connection while it is used: bound, stepped, read. Reset when it goes, whatever happened, so that
/// nothing of it holds a lock.
class running {
public:
    running(connection& on, SQLite::Statement& statement, const char* text) noexcept
        : on_{on}, statement_{statement}, text_{text} {}
    running(const running&) = delete;
    running& operator=(const running&) = delete;
    ~running() { statement_.tryReset(); }  // what it has bound is never read again: every use binds all anew

    /// Binds all parameters in their order. Texts and blobs must outlive the last step.
    template <class... Values>
    running& bind(Values&&... values);

    /// Whether there is a row to read. Throws `store_error`.
    bool step();
    /// The same, with the engine's own answer; nothing is thrown.
    int try_step() noexcept { return statement_.tryExecuteStep(); }
    void run() {
        while (step()) {
        }
    }

    bool is_null(int column) const { return statement_.getColumn(column).isNull(); }
    std::int64_t integer(int column) const { return statement_.getColumn(column).getInt64(); }
    /// Empty where there is none.
    std::string text(int column) const {
        const SQLite::Column value = statement_.getColumn(column);
        const char* const begin = value.getText(nullptr);
        return copied(value, begin);
    }
    std::string bytes(int column) const {
        const SQLite::Column value = statement_.getColumn(column);
        return copied(value, static_cast<const char*>(value.getBlob()));
    }
    std::optional<std::int64_t> optional_integer(int column) const {
        return is_null(column) ? std::nullopt : std::optional{integer(column)};
    }

private:
    void put(int at, std::int64_t value) { statement_.bind(at, value); }
    void put(int at, const std::string& value) { statement_.bindNoCopy(at, value); }
    void put(int at, std::string&& value) = delete;  // would be gone before the step
    void put(int at, instant value) { put(at, std::int64_t{value.time_since_epoch().count()}); }
    void put(int at, blob value);
    void put(int at, nullable value) { value.text.empty() ? put(at, std::nullopt) : put(at, value.text); }
    void put(int at, std::nullopt_t) { statement_.bind(at); }
    template <class T>
    void put(int at, const std::optional<T>& value) {
        value ? put(at, *value) : put(at, std::nullopt);
    }

    std::string copied(const SQLite::Column& value, const char* begin) const;
    /// What is being done, for an error's text.
    std::string doing() const;

    connection& on_;
    SQLite::Statement& statement_;
    const char* text_;
};

/// One connection to the file, used by one thread at a time, with its statements kept.
class connection {
public:
    connection(const std::string& path, const sqlite_options& options, patience until)
        : database_{opened(path)}, patience_{until} {
        sqlite3_busy_handler(handle(), &connection::on_busy, this);
        sqlite3_extended_result_codes(handle(), 1);
        // A schema that somebody else wrote must not run functions with effects through ours.
        sqlite3_db_config(handle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
        execute("PRAGMA cell_size_check = ON");
        set_synchronous(options.synchronous);
        if (journal() == journal_mode::rollback) {
            // With FULL, a journal that is truncated is as durable as one that is deleted with EXTRA, and faster.
            execute("PRAGMA journal_mode = TRUNCATE");
        }
    }
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() = default;

    sqlite3* handle() const noexcept { return database_.getHandle(); }

    /// From here on locks are waited for so long.
    void wait_at_most(patience until) noexcept { patience_ = until; }
    const patience& waits() const noexcept { return patience_; }

    bool in_transaction() const noexcept { return sqlite3_get_autocommit(handle()) == 0; }

    template <std::size_t Size>
    running prepared(const sql<Size>& text) {
        was_in_transaction_ = in_transaction();
        return {*this, statement(text.c_str()), text.c_str()};
    }

    /// Throws what the engine has just reported.
    [[noreturn]] void fail(std::string_view doing) const { raise(last_fault(handle(), was_in_transaction_), doing); }

    /// Runs text of our own, which may be several statements.
    void execute(const char* text) {
        was_in_transaction_ = in_transaction();
        if (database_.tryExec(text) != SQLITE_OK) {
            fail("setting up");
        }
    }

    /// Ends the transaction for good. Where the engine says that it was not had, nothing of it stands: `store_busy`,
    /// `store_full`; where it failed on the way, it may stand or not: `store_unknown`. After any of them the
    /// transaction is still to be rolled back.
    void commit() {
        if (prepared(sqlite::commit).try_step() == SQLITE_DONE) {
            return;
        }
        const fault why = last_fault(handle(), true);
        if (why.primary() == SQLITE_BUSY || why.primary() == SQLITE_FULL) {
            raise(why, "committing");
        }
        throw store_unknown{"committing: " + why.message + " (SQLite " + std::to_string(why.code) +
                                "); the transaction may stand or not",
                            why.code, why.transaction_lost};
    }

    /// Where the engine reports a fault here as well, it has rolled back all the same.
    void roll_back() noexcept { database_.tryExec(sqlite::roll_back.c_str()); }

    std::string ask(const char* pragma) {
        try {
            return database_.execAndGet(pragma).getString();
        } catch (const SQLite::Exception&) {
            fail(pragma);
        }
    }

    /// The journal that the file has.
    journal_mode journal() { return ask("PRAGMA journal_mode") == "wal" ? journal_mode::wal : journal_mode::rollback; }

    /// Gives the file a write-ahead log, if nobody else is using it; waits for that as for any lock.
    void change_to_wal() {
        for (int tries = 0; database_.tryExec("PRAGMA journal_mode = WAL") != SQLITE_OK; ++tries) {
            const fault why = last_fault(handle(), false);
            if (why.primary() != SQLITE_BUSY || !patience_.nap(tries)) {
                raise(why, "changing to a write-ahead log");
            }
        }
    }

    /// The longest value that the file takes, in bytes.
    std::size_t longest_value() const noexcept {
        constexpr std::size_t rest_of_row = 64;
        return static_cast<std::size_t>(sqlite3_limit(handle(), SQLITE_LIMIT_LENGTH, -1)) - rest_of_row;
    }

    void note_transaction() noexcept { was_in_transaction_ = in_transaction(); }

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

    static int on_busy(void* self, int tries) noexcept {
        return static_cast<connection*>(self)->patience_.nap(tries) ? 1 : 0;
    }

    SQLite::Statement& statement(const char* text) {
        // Texts are constants of ours: the address tells which.
        const auto found = std::find_if(statements_.begin(), statements_.end(),
                                        [text](const auto& kept) { return kept.first == text; });
        if (found != statements_.end()) {
            return found->second;
        }
        try {
            return statements_.emplace_back(text, SQLite::Statement{database_, text}).second;
        } catch (const SQLite::Exception&) {
            fail("preparing a statement");
        }
    }

    void set_synchronous(synchronous_mode mode) {
        constexpr std::array texts{"PRAGMA synchronous = OFF", "PRAGMA synchronous = NORMAL",
                                   "PRAGMA synchronous = FULL", "PRAGMA synchronous = EXTRA"};
        execute(texts.at(static_cast<std::size_t>(mode)));
    }

    SQLite::Database database_;
    patience patience_;
    bool was_in_transaction_ = false;
    std::deque<std::pair<const char*, SQLite::Statement>> statements_{};  // a deque: `running` keeps references
};

template <class... Values>
running& running::bind(Values&&... values) {
    try {
        int at = 0;
        (put(++at, std::forward<Values>(values)), ...);
    } catch (const SQLite::Exception&) {
        on_.fail("binding a value: " + doing());
    }
    return *this;
}

inline void running::put(int at, blob value) {
    if (value.bytes.size() > on_.longest_value()) {
        throw std::invalid_argument{std::to_string(value.bytes.size()) + " bytes; the file takes at most " +
                                    std::to_string(on_.longest_value()) + " in one value"};
    }
    // A null pointer would bind NULL, not no bytes.
    const char* const begin = value.bytes.empty() ? "" : value.bytes.data();
    statement_.bindNoCopy(at, static_cast<const void*>(begin), static_cast<int>(value.bytes.size()));
}

inline bool running::step() {
    on_.note_transaction();
    const int answer = statement_.tryExecuteStep();
    if (answer != SQLITE_ROW && answer != SQLITE_DONE) {
        on_.fail(doing());
    }
    return answer == SQLITE_ROW;
}

inline std::string running::copied(const SQLite::Column& value, const char* begin) const {
    const auto size = static_cast<std::size_t>(value.getBytes());
    if (begin == nullptr && size > 0) {
        on_.fail("reading a value: " + doing());  // the engine had no memory for it
    }
    return begin == nullptr ? std::string{} : std::string{begin, size};
}

inline std::string running::doing() const {
    const std::string_view text{text_};
    if (text == begin_write.c_str()) {
        return "taking the write lock";
    }
    constexpr std::size_t enough = 60;
    return "running " + std::string{text.substr(0, enough)} + (text.size() > enough ? "..." : "");
}

}  // namespace leasehold::detail::sqlite
