// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <utility>

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <leasehold/clock.hpp>
#include <leasehold/sqlite/connection.hpp>
#include <leasehold/sqlite/fault.hpp>
#include <leasehold/sqlite/file_bell.hpp>
#include <leasehold/sqlite/line.hpp>
#include <leasehold/sqlite/open_transaction.hpp>
#include <leasehold/sqlite/patience.hpp>
#include <leasehold/sqlite/primitives.hpp>
#include <leasehold/sqlite/schema.hpp>
#include <leasehold/sqlite/sql.hpp>
#include <leasehold/sqlite/transaction_clock.hpp>
#include <leasehold/sqlite/write_lock.hpp>
#include <leasehold/store.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// A write transaction: has the file's write lock from its construction on, and reads the clock after that.
class transaction : write_lock, public primitives {
public:
    transaction(line::place at, transaction_clock clock, file_bell& bell)
        : write_lock{std::move(at)}, primitives{file(), read_meta(file()).identity, clock}, bell_{bell} {}

    sqlite::savepoint savepoint() { return sqlite::savepoint{on_}; }
    void commit() {
        write_lock::commit();
        if (made_ready_) {
            bell_.ring();  // after the commit: who wakes, sees it
        }
    }

private:
    file_bell& bell_;
};

/// A caller's connection, borrowed: a base, so that it is there before the primitives that use it.
class borrowed_connection {
protected:
    explicit borrowed_connection(SQLite::Database& callers) : borrowed_{callers} {}
    connection& borrowed() noexcept { return borrowed_; }

private:
    connection borrowed_;
};

/// The caller's own open transaction. It is never begun, committed or rolled back here.
class joined_transaction : borrowed_connection, public primitives {
public:
    /// Throws `std::logic_error` where the transaction is not one that the verbs can join.
    joined_transaction(SQLite::Database& callers, const store_id& identity, transaction_clock clock)
        : borrowed_connection{callers}, primitives{borrowed(), identity, clock}, unread_{clock} {
        check();
    }

    /// One verb: a savepoint of its own, by a reading of the clock of its own, after which the caller's last rowid is
    /// what it was.
    class verb {
    public:
        explicit verb(connection& on) : rowid_{on}, part_{on} {}
        void release() { part_.release(); }

    private:
        class kept_rowid {
        public:
            explicit kept_rowid(connection& on) noexcept
                : handle_{on.handle()}, last_{sqlite3_last_insert_rowid(handle_)} {}
            kept_rowid(const kept_rowid&) = delete;
            kept_rowid& operator=(const kept_rowid&) = delete;
            ~kept_rowid() { sqlite3_set_last_insert_rowid(handle_, last_); }

        private:
            sqlite3* handle_;
            sqlite3_int64 last_;
        };

        kept_rowid rowid_;
        sqlite::savepoint part_;
    };

    verb savepoint() {
        check();
        clock_ = unread_;
        return verb{on_};
    }

private:
    void check() {
        if (sqlite3_txn_state(on_.handle(), "main") != SQLITE_TXN_WRITE) {
            throw std::logic_error{
                "join: the connection has no transaction that holds the write lock (begin it with BEGIN IMMEDIATE)"};
        }
        const bool has_queue = sqlite3_table_column_metadata(on_.handle(), "main", "leasehold_meta", nullptr, nullptr,
                                                             nullptr, nullptr, nullptr, nullptr) == SQLITE_OK;
        if (!has_queue || read_meta(on_).identity != identity_) {
            throw std::logic_error{"join: the connection is to another file than the queue's"};
        }
    }

    transaction_clock unread_;
};

/// Begins on a caller's connection, which may not wait for locks itself: a base, so that the lock is had before
/// anything is read.
class lent_connection {
protected:
    lent_connection(passage way, SQLite::Database& callers, patience until, millis timeout)
        : way_{std::move(way)}, lent_{callers}, timeout_{timeout} {
        if (lent_.in_transaction()) {
            throw std::logic_error{"transact: the connection has a transaction open already"};
        }
        for (int tries = 0; lent_.database().tryExec(begin_write.c_str()) != SQLITE_OK; ++tries) {
            const fault why = last_fault(lent_.handle(), false);
            if (why.primary() != SQLITE_BUSY || !until.nap(tries)) {
                raise(why, "taking the write lock");
            }
        }
    }
    lent_connection(const lent_connection&) = delete;
    lent_connection& operator=(const lent_connection&) = delete;
    ~lent_connection() {
        if (lent_.in_transaction()) {
            lent_.roll_back();
        }
    }

    /// Waits anew for readers: the work may have taken as long as it likes.
    void commit_lent() {
        const patience until{timeout_};
        lent_.commit([&](int tries) { return until.nap(tries); });
    }

private:
    passage way_;
    connection lent_;
    millis timeout_;
};

/// A transaction of ours on a caller's connection.
class lent_transaction : lent_connection, public joined_transaction {
public:
    lent_transaction(passage way, SQLite::Database& callers, const store_id& identity, transaction_clock clock,
                     file_bell& bell, patience until, millis timeout)
        : lent_connection{std::move(way), callers, until, timeout},
          joined_transaction{callers, identity, clock},
          bell_{bell} {}

    void commit() {
        commit_lent();
        if (made_ready_) {
            bell_.ring();
        }
    }

private:
    file_bell& bell_;
};

}  // namespace leasehold::inline v0_1_0::detail::sqlite
