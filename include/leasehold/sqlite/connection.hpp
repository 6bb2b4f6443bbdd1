// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <leasehold/job.hpp>
#include <leasehold/process_of.hpp>
#include <leasehold/sqlite/fault.hpp>
#include <leasehold/sqlite/sql.hpp>
#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// Bytes, where a string would be text.
struct blob {
    std::string_view bytes{};
};

/// Text that may be missing: an empty one is kept as NULL.
struct nullable {
    std::string_view text{};
};

class connection;

/// Says to a connection that the engine works for the library, as long as it lives: see `connection::take_turn`.
class at_work {
public:
    explicit at_work(connection& on) noexcept;
    at_work(const at_work&) = delete;
    at_work& operator=(const at_work&) = delete;
    ~at_work();

private:
    connection& on_;
};

/// A statement of a connection while it is used: bound, stepped, read. Reset when it goes, whatever happened, so that
/// nothing of it holds a lock. By the engine's own calls: to read a row is a good part of what a claim costs.
class running {
public:
    running(connection& on, sqlite3_stmt* statement, const char* text) noexcept
        : on_{on}, working_{on}, statement_{statement}, text_{text} {}
    running(const running&) = delete;
    running& operator=(const running&) = delete;
    ~running() { sqlite3_reset(statement_); }  // what it has bound is never read again: every use binds all anew

    /// Binds all parameters in their order. Texts and blobs must outlive the last step.
    template <class... Values>
    running& bind(Values&&... values) {
        int at = 0;
        (put(++at, std::forward<Values>(values)), ...);
        return *this;
    }

    /// Whether there is a row to read. Throws `store_error`.
    bool step();
    /// The same, with the engine's own answer; nothing is thrown.
    int try_step() noexcept { return sqlite3_step(statement_); }
    void run() {
        while (step()) {
        }
    }

    bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
    std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
    /// Empty where there is none.
    std::string text(int column) const {
        return copied(column, reinterpret_cast<const char*>(sqlite3_column_text(statement_, column)));  // NOLINT: C
    }
    std::string bytes(int column) const {
        return copied(column, static_cast<const char*>(sqlite3_column_blob(statement_, column)));
    }
    std::optional<std::int64_t> optional_integer(int column) const {
        return is_null(column) ? std::nullopt : std::optional{integer(column)};
    }

private:
    void put(int at, std::int64_t value) { check(sqlite3_bind_int64(statement_, at, value)); }
    void put(int at, std::string_view value) {
        check(sqlite3_bind_text64(statement_, at, begin_of(value), value.size(), SQLITE_STATIC, SQLITE_UTF8));
    }
    void put(int at, std::string&& value) = delete;  // would be gone before the step
    void put(int at, instant value) { put(at, std::int64_t{value.time_since_epoch().count()}); }
    void put(int at, blob value);
    void put(int at, nullable value) { value.text.empty() ? put(at, std::nullopt) : put(at, value.text); }
    void put(int at, std::nullopt_t) { check(sqlite3_bind_null(statement_, at)); }
    template <class T>
    void put(int at, const std::optional<T>& value) {
        value ? put(at, *value) : put(at, std::nullopt);
    }

    /// A null pointer would bind NULL, not a value without bytes.
    static const char* begin_of(std::string_view value) noexcept { return value.empty() ? "" : value.data(); }

    void check(int answer) const;
    std::string copied(int column, const char* begin) const;
    /// What is being done, for an error's text.
    std::string doing() const;

    connection& on_;
    at_work working_;
    sqlite3_stmt* statement_;
    const char* text_;
};

/// A connection with its statements kept: ours, or a caller's that is borrowed. One thread uses it at a time.
class connection {
public:
    explicit connection(SQLite::Database& database) : database_{database} {}
    connection(const connection&) = delete;
    connection& operator=(const connection&) = delete;
    ~connection() = default;

    SQLite::Database& database() const noexcept { return database_; }
    sqlite3* handle() const noexcept { return database_.getHandle(); }

    bool in_transaction() const noexcept { return sqlite3_get_autocommit(handle()) == 0; }

    template <std::size_t Size>
    running prepared(const sql<Size>& text) {
        process_.refuse_another();
        const at_work working{*this};
        was_in_transaction_ = in_transaction();
        return {*this, statement(text.c_str()), text.c_str()};
    }

    /// Throws what the engine has just reported.
    [[noreturn]] void fail(std::string_view doing) {
        const fault why = last_fault(handle(), was_in_transaction_);
        saw_damage_ = saw_damage_ || why.primary() == SQLITE_CORRUPT || why.primary() == SQLITE_NOTADB;
        if (why.primary() == SQLITE_INTERRUPT && gave_up_) {
            throw store_corrupt{
                std::string{doing} + ": given up after more steps than a whole file of this size can need", why.code,
                why.transaction_lost};
        }
        raise(why, doing);
    }

    /// Runs text of our own, which may be several statements.
    void execute(constant_text text) {
        const at_work working{*this};
        was_in_transaction_ = in_transaction();
        if (database_.tryExec(text.c_str()) != SQLITE_OK) {
            fail("setting up");
        }
    }

    /// Ends the transaction for good. Where the engine says that it was not had, nothing of it stands: `store_busy`,
    /// `store_full`; where it failed on the way, it may stand or not: `store_unknown`. After any of them the
    /// transaction is still to be rolled back. `again(tries)`: whether one that was busy is tried once more; a
    /// connection of ours waits by itself.
    template <class Again>
    void commit(const Again& again) {
        if (!in_transaction()) {
            throw store_error{"committing: the transaction has ended before: by the engine, or by the work in it", 0,
                              true};
        }
        int tries = 0;
        fault why;
        do {
            if (prepared(sqlite::commit).try_step() == SQLITE_DONE) {
                return;
            }
            why = last_fault(handle(), true);
        } while (why.primary() == SQLITE_BUSY && again(tries++));
        if (why.primary() == SQLITE_BUSY || why.primary() == SQLITE_FULL) {
            raise(why, "committing");
        }
        throw store_unknown{"committing: " + why.message + " (SQLite " + std::to_string(why.code) +
                                "); the transaction may stand or not",
                            why.code, why.transaction_lost};
    }

    void commit() {
        commit([](int) { return false; });
    }

    /// Where the engine reports a fault here as well, it has rolled back all the same. In a child of the process that
    /// began, nothing is done: the transaction goes on in the parent.
    void roll_back() noexcept {
        if (process_.is_this()) {
            database_.tryExec(sqlite::roll_back.c_str());
        }
    }

    std::string ask(constant_text pragma) {
        const at_work working{*this};
        try {
            return database_.execAndGet(pragma.c_str()).getString();
        } catch (const SQLite::Exception&) {
            fail(pragma.c_str());
        }
    }

    /// The longest value that the file takes, in bytes.
    std::size_t longest_value() const noexcept {
        constexpr std::size_t rest_of_row = 64;
        return static_cast<std::size_t>(sqlite3_limit(handle(), SQLITE_LIMIT_LENGTH, -1)) - rest_of_row;
    }

    /// Whether the file was found damaged: pages of it may be kept in memory, where the engine would find them again
    /// once the file is whole.
    bool saw_damage() const noexcept { return saw_damage_; }

    void note_transaction() noexcept { was_in_transaction_ = in_transaction(); }

protected:
    /// How many turns the engine has taken for what the library asked of it, this one included; nothing while it works
    /// for somebody else, such as a caller's own statement.
    std::optional<std::int64_t> take_turn() noexcept { return at_work_ > 0 ? std::optional{++turns_} : std::nullopt; }
    void give_up() noexcept { gave_up_ = true; }

private:
    friend class at_work;
    struct finalize {
        void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
    };
    using kept_statement = std::unique_ptr<sqlite3_stmt, finalize>;

    sqlite3_stmt* statement(const char* text) {
        // Texts are constants of ours: the address tells which.
        const auto found = std::find_if(statements_.begin(), statements_.end(),
                                        [text](const auto& kept) { return kept.first == text; });
        if (found != statements_.end()) {
            return found->second.get();
        }
        sqlite3_stmt* made = nullptr;
        if (sqlite3_prepare_v3(handle(), text, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr) != SQLITE_OK) {
            fail("preparing a statement");
        }
        return statements_.emplace_back(text, kept_statement{made}).second.get();
    }

    SQLite::Database& database_;
    process_of process_{};
    bool was_in_transaction_ = false;
    int at_work_ = 0;  ///< how many of our statements are open
    std::int64_t turns_ = 0;
    bool gave_up_ = false;
    bool saw_damage_ = false;
    std::vector<std::pair<const char*, kept_statement>> statements_{};
};

inline at_work::at_work(connection& on) noexcept : on_{on} {
    if (on_.at_work_++ == 0) {
        on_.turns_ = 0;
        on_.gave_up_ = false;
    }
}
inline at_work::~at_work() { --on_.at_work_; }

inline void running::check(int answer) const {
    if (answer != SQLITE_OK) {
        on_.fail("binding a value: " + doing());
    }
}

inline void running::put(int at, blob value) {
    if (value.bytes.size() > on_.longest_value()) {
        throw std::invalid_argument{std::to_string(value.bytes.size()) + " bytes; the file takes at most " +
                                    std::to_string(on_.longest_value()) + " in one value"};
    }
    check(sqlite3_bind_blob64(statement_, at, begin_of(value.bytes), value.bytes.size(), SQLITE_STATIC));
}

inline bool running::step() {
    on_.note_transaction();
    const int answer = try_step();
    if (answer != SQLITE_ROW && answer != SQLITE_DONE) {
        on_.fail(doing());
    }
    return answer == SQLITE_ROW;
}

inline std::string running::copied(int column, const char* begin) const {
    const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, column));
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

}  // namespace leasehold::inline v0_1_0::detail::sqlite
