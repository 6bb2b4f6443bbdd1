// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <libpq-fe.h>

#include <leasehold/clock.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/postgres/listener.hpp>
#include <leasehold/postgres/low_water.hpp>
#include <leasehold/postgres/options.hpp>
#include <leasehold/postgres/pool.hpp>
#include <leasehold/postgres/schema.hpp>
#include <leasehold/postgres/server_clock.hpp>
#include <leasehold/postgres/transaction.hpp>
#include <leasehold/postgres/view.hpp>
#include <leasehold/process_of.hpp>
#include <leasehold/random_store_id.hpp>
#include <leasehold/store.hpp>

namespace leasehold::inline v0_1_0 {

namespace detail::postgres {

/// Clocks that the store can read: those that are read here, and its server's.
template <class Clock>
concept readable_clock = local_clock<Clock> || std::same_as<Clock, server_clock>;

}  // namespace detail::postgres

/// Keeps jobs in a PostgreSQL database, for whoever reaches its server. Rows are locked one by one: callers wait for
/// one another only where they mean the same job.
class postgres_store {
public:
    static constexpr reach reaches = reach::network;

    /// `conninfo` is libpq's own, of either form: services, password files and TLS are said there. Nothing of it is
    /// ever in the text of an error. Throws `std::invalid_argument` for a schema's name that cannot be one.
    postgres_store(std::string conninfo, postgres_options options = {})  // NOLINT: as a queue's first argument
        : shared_{new shared{std::move(conninfo), std::move(options)}} {}

    /// Connects, and makes what is missing: the schema, and the tables in it. Refuses with `store_unsupported`, and
    /// changes nothing, where they are newer, or of another clock axis.
    void attach(clock_axis axis) {
        const auto on = shared_->connections.made();
        detail::postgres::attach(*on, axis);
    }

    /// Waits for a connection until the busy timeout, which runs from `since`, is over.
    template <detail::postgres::readable_clock Clock>
    detail::postgres::transaction begin(
        const Clock& clock, std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now()) {
        return {shared_->connections.take(detail::postgres::after(shared_->options.busy_timeout, since)),
                shared_->connections, shared_->lows, detail::postgres::transaction_clock::of(clock)};
    }

    /// The caller's own open transaction, for the verbs to run in. Throws `std::logic_error` where there is none, or
    /// where the connection is to another store.
    template <detail::postgres::readable_clock Clock>
    detail::postgres::joined_transaction adopt(PGconn* connection, const Clock& clock) const {
        return {connection, shared_->connections, shared_->lows, identity(),
                detail::postgres::transaction_clock::of(clock)};
    }

    /// A transaction begun on the caller's connection. Throws `std::logic_error` where that has one open, or is to
    /// another store.
    template <detail::postgres::readable_clock Clock>
    detail::postgres::lent_transaction begin_on(PGconn* connection, const Clock& clock) const {
        return {connection, shared_->connections, shared_->lows, identity(),
                detail::postgres::transaction_clock::of(clock)};
    }

    /// A snapshot; waits for a connection until the busy timeout is over.
    detail::postgres::view view() const { return detail::postgres::view{shared_->connections.take(), shared_->lows}; }

    /// The server's clock, outside any transaction.
    reading read(const server_clock& clock) const {
        const auto at = shared_->connections.take();
        const auto pace = clock.pace();
        return detail::postgres::server_reading(at.on().ask(shared_->says.read_clock).integer(0, 0), pace);
    }

    /// Whether a call that began at `since`, and met another's transaction, may run again.
    bool may_try_again(std::chrono::steady_clock::time_point since) const {
        return std::chrono::steady_clock::now() < detail::postgres::after(shared_->options.busy_timeout, since);
    }

    /// A number that is another after every commit, by anybody, that may have made a job ready; where the server
    /// cannot tell, after a while.
    std::uint32_t changes() const { return shared_->commits.read(); }
    /// Waits until the number is another than `seen`, or for `at_most`; may come back sooner.
    void await(std::uint32_t seen, millis at_most) const { shared_->commits.wait(seen, at_most.to_chrono()); }
    /// Lets all that wait look again: for commits that are not the store's own, for one.
    void wake() const noexcept {
        shared_->commits.ring();
        if (shared_->options.notify) {
            try {
                shared_->connections.take().on().ask(shared_->says.tell_listeners,
                                                     detail::postgres::with(shared_->says.schema));
            } catch (...) {  // NOLINT(bugprone-empty-catch): they look by themselves, a little later
            }
        }
    }

    /// Another identity, so that no marker given out before fits.
    store_id renew_identity() {
        const store_id fresh = detail::random_store_id();
        const auto at = shared_->connections.take();
        at.on().ask(shared_->says.update_store_id,
                    detail::postgres::with(detail::postgres::blob{detail::postgres::bytes_of(fresh)}));
        return fresh;
    }

private:
    struct shared {
        shared(std::string conninfo, postgres_options how)
            : options{std::move(how)},
              says{detail::postgres::checked_schema(options.schema)},
              connections{std::move(conninfo), options, says} {}
        postgres_options options;
        detail::postgres::statements says;
        detail::postgres::pool connections;
        detail::postgres::low_water lows{};
        detail::postgres::listener commits{connections};
    };

    store_id identity() const {
        const auto at = shared_->connections.take();
        return detail::postgres::meta_of(at.on().ask(shared_->says.meta)).identity;
    }

    detail::bound_to_process<shared> shared_;
};

static_assert(lease_store<postgres_store> && waitable_store<postgres_store> && conflicting_store<postgres_store>);
static_assert(clock_for<server_clock, postgres_store> && clock_for<manual_clock, postgres_store>);
static_assert(!clock_for<wall_clock, postgres_store> && !clock_for<process_clock, postgres_store>);
static_assert(grouping_store<postgres_store, server_clock>);

}  // namespace leasehold::inline v0_1_0
