// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <leasehold/errors.hpp>
#include <leasehold/postgres/pool.hpp>
#include <leasehold/postgres/primitives.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0::detail::postgres {

/// The verbs in a transaction that is ours to begin and to commit. It begins with its first statement, in the same
/// request.
class owned_primitives : public primitives {
public:
    /// Tells who waits, where there is something to tell, and commits. One request, and none where nothing was begun.
    void commit() {
        if (!is_started_) {
            return;
        }
        if (made_ready_ && pool_.options().notify) {
            on_.gather(on_.says().tell_listeners, with(on_.says().schema));
        }
        on_.gather(on_.says().commit);
        if (on_.flush(true).back().tag() != "COMMIT") {
            throw store_error{"the server rolled the transaction back instead of committing it", 0, true};
        }
    }

protected:
    /// `is_set_up`: the connection has our settings already, for as long as it lasts.
    owned_primitives(connection& on, const pool& of, bool is_set_up, low_water& lows, transaction_clock clock)
        : primitives{on, lows, clock}, pool_{of}, is_set_up_{is_set_up} {}
    ~owned_primitives() = default;
    owned_primitives(const owned_primitives&) = delete;
    owned_primitives& operator=(const owned_primitives&) = delete;

private:
    void begin() override {
        on_.gather(on_.says().begin);
        if (!is_set_up_) {
            on_.gather(on_.says().settings, pool_.settings(true));
        }
    }

    const pool& pool_;
    bool is_set_up_;
};

/// A connection of the store's own, in a transaction: a base, so that it is there before the primitives that use it.
class own_place {
protected:
    explicit own_place(pool::place at) : at_{std::move(at)} {}
    ~own_place() { at_.on().roll_back(); }
    own_place(const own_place&) = delete;
    own_place& operator=(const own_place&) = delete;
    connection& own() const noexcept { return at_.on(); }

private:
    pool::place at_;
};

/// A write transaction of the store's own.
class transaction : own_place, public owned_primitives {
public:
    transaction(pool::place at, const pool& of, low_water& lows, transaction_clock clock)
        : own_place{std::move(at)}, owned_primitives{own(), of, of.options().has_session, lows, clock} {}
    ~transaction() = default;
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;
};

/// A caller's connection, borrowed.
class borrowed_connection {
protected:
    borrowed_connection(PGconn* callers, const pool& of) : borrowed_{callers, of.says(), of.options().answer_timeout} {
        if (callers == nullptr || ::PQstatus(callers) != CONNECTION_OK) {
            throw std::logic_error{"join: the connection is not open"};
        }
        if (::PQpipelineStatus(callers) != PQ_PIPELINE_OFF) {
            throw std::logic_error{"join: the connection is in pipeline mode"};
        }
        if (::pg_encoding_to_char(::PQclientEncoding(callers)) != std::string_view{"UTF8"}) {
            throw std::logic_error{"join: the connection's client_encoding is not UTF8"};
        }
    }
    ~borrowed_connection() = default;
    borrowed_connection(const borrowed_connection&) = delete;
    borrowed_connection& operator=(const borrowed_connection&) = delete;
    connection& borrowed() noexcept { return borrowed_; }

    /// Throws unless the connection's database holds the store. Its transaction stays as it is.
    void check(const store_id& known) {
        const answer is_there = borrowed_.ask(borrowed_.says().has_meta, with(borrowed_.says().schema));
        if (!is_there.truth(0, 0) || meta_of(borrowed_.ask(borrowed_.says().meta)).identity != known) {
            throw std::logic_error{"join: the connection is to another store than the queue's"};
        }
    }

private:
    connection borrowed_;
};

/// The caller's own open transaction. It is never begun, committed or rolled back here.
class joined_transaction : borrowed_connection, public primitives {
public:
    /// Throws `std::logic_error` where the transaction is not one that the verbs can join.
    joined_transaction(PGconn* callers, const pool& of, low_water& lows, const store_id& identity,
                       transaction_clock clock)
        : borrowed_connection{callers, of}, primitives{borrowed(), lows, clock} {
        if (!borrowed().in_transaction()) {
            throw std::logic_error{"join: the connection has no open transaction"};
        }
        is_started_ = true;
        check(identity);
    }
    ~joined_transaction() = default;
    joined_transaction(const joined_transaction&) = delete;
    joined_transaction& operator=(const joined_transaction&) = delete;

    part savepoint() {
        clock_.ask();  // anew for each verb
        return primitives::savepoint();
    }

private:
    void begin() override {}
};

/// A transaction of ours on a caller's connection.
class lent_transaction : borrowed_connection, public owned_primitives {
public:
    lent_transaction(PGconn* callers, const pool& of, low_water& lows, const store_id& identity,
                     transaction_clock clock)
        : borrowed_connection{callers, of}, owned_primitives{borrowed(), of, false, lows, clock} {
        if (!borrowed().is_idle()) {
            throw std::logic_error{"transact: the connection has a transaction open already"};
        }
        check(identity);
    }
    ~lent_transaction() {
        if (is_started_) {
            on_.roll_back();
        }
    }
    lent_transaction(const lent_transaction&) = delete;
    lent_transaction& operator=(const lent_transaction&) = delete;
};

}  // namespace leasehold::inline v0_1_0::detail::postgres
