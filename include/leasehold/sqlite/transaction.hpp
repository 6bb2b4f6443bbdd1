// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <utility>

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <leasehold/clock.hpp>
#include <leasehold/sqlite/connection.hpp>
#include <leasehold/sqlite/fault.hpp>
#include <leasehold/sqlite/gate.hpp>
#include <leasehold/sqlite/open_transaction.hpp>
#include <leasehold/sqlite/patience.hpp>
#include <leasehold/sqlite/primitives.hpp>
#include <leasehold/sqlite/schema.hpp>
#include <leasehold/sqlite/sql.hpp>
#include <leasehold/sqlite/turn.hpp>
#include <leasehold/store.hpp>

namespace leasehold::detail::sqlite {

/// The turn and the write lock: a base, so that they are had before anything is read.
class write_lock {
protected:
    write_lock(turn_taken turn, connection& on) : turn_{std::move(turn)}, open_{on, begin_write} {}

private:
    turn_taken turn_;
    open_transaction open_;
};

/// A write transaction: has the file's write lock from its construction on, and reads the clock after that.
class transaction : write_lock, public primitives {
public:
    transaction(turn_taken turn, connection& on, single_reading clock, gate& waiters)
        : write_lock{std::move(turn), on}, primitives{on, read_meta(on).identity, clock}, waiters_{waiters} {}

    sqlite::savepoint savepoint() { return sqlite::savepoint{on_}; }
    void commit() {
        on_.commit();
        if (made_ready_) {
            waiters_.bump();  // after the commit: who wakes, sees it
        }
    }

private:
    gate& waiters_;
};

/// A caller's connection, borrowed: a base, so that it is there before the primitives that use it.
class borrowed_connection {
protected:
    explicit borrowed_connection(SQLite::Database& callers) noexcept : borrowed_{callers} {}
    connection& borrowed() noexcept { return borrowed_; }

private:
    connection borrowed_;
};

/// The caller's own open transaction. It is never begun, committed or rolled back here.
class joined_transaction : borrowed_connection, public primitives {
public:
    /// Throws `std::logic_error` where the transaction is not one that the verbs can join.
    joined_transaction(SQLite::Database& callers, const store_id& identity, single_reading clock)
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

    single_reading unread_;
};

/// Begins on a caller's connection, which may not wait for locks itself: a base, so that the lock is had before
/// anything is read.
class lent_connection {
protected:
    lent_connection(SQLite::Database& callers, millis timeout) : lent_{callers}, timeout_{timeout} {
        const patience until{timeout};
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
    connection lent_;
    millis timeout_;
};

/// A transaction of ours on a caller's connection.
class lent_transaction : lent_connection, public joined_transaction {
public:
    lent_transaction(SQLite::Database& callers, const store_id& identity, single_reading clock, gate& waiters,
                     millis timeout)
        : lent_connection{callers, timeout}, joined_transaction{callers, identity, clock}, waiters_{waiters} {}

    void commit() {
        commit_lent();
        if (made_ready_) {
            waiters_.bump();
        }
    }

private:
    gate& waiters_;
};

}  // namespace leasehold::detail::sqlite
