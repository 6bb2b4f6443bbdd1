// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <leasehold/clock.hpp>
#include <leasehold/job.hpp>
#include <leasehold/manual_clock.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0 {

/// A row to make: the job as it was enqueued, and what the rules made of it.
struct insertion {
    const job* content = nullptr;  ///< as it was enqueued; outlives the call
    rules::columns columns{};      ///< as the rules made it
    instant enqueued_at{};         ///< the clock's reading in the transaction
};

/// A row as it shall be. Bytes that are not named stay as they are; empty ones mean none.
struct change {
    const row* to = nullptr;                       ///< the row
    std::optional<std::string_view> result{};      ///< named: in place of the old one
    std::optional<std::string_view> checkpoint{};  ///< named: in place of the old one
};

/// A row whose bytes go out with its lease. In the first round nobody can have left it a checkpoint or a receipt yet.
struct granted_row {
    job_id id{};                  ///< the row
    bool is_first_round = false;  ///< then it has neither checkpoint nor receipts
};

/// The bytes of a granted row.
struct row_bytes {
    std::string payload{};            ///< as it was enqueued
    std::string checkpoint{};         ///< empty: none
    std::vector<receipt> receipts{};  ///< oldest first
};

namespace detail {

inline bool any_conflict(const std::vector<enqueued>& answers) noexcept {
    return std::any_of(answers.begin(), answers.end(), [](const enqueued& a) { return a.answer == intake::conflict; });
}

/// What a batch answers once it was taken back because of a conflict. What refers to a row of its own, from `first_new`
/// on, names none: that row is gone again.
inline void withhold(std::vector<enqueued>& answers, job_id first_new) noexcept {
    for (enqueued& answer : answers) {
        if (answer.id >= first_new) {
            answer = {{}, answer.answer == intake::conflict ? intake::conflict : intake::withheld, job_state::ready};
        }
    }
}

}  // namespace detail

/// What the verbs work on: the rows, inside an open transaction that somebody else may end.
template <class T>
concept row_transaction = std::is_nothrow_destructible_v<T> &&
    requires(T& t, std::string_view queue, std::int32_t priority, std::size_t limit, std::span<const job_id> ids,
             std::span<const granted_row> granted, std::span<const insertion> jobs, std::span<const change> changes,
             on_conflict conflict, job_id id, const receipt& note, instant before, bool quarantined) {
    { t.identity() } -> std::convertible_to<store_id>;
    { t.now() } -> std::convertible_to<reading>;
    { t.vested(queue, limit) } -> std::same_as<std::vector<row>>;
    { t.hold(ids) } -> std::same_as<std::vector<row>>;
    { t.bytes(granted) } -> std::same_as<std::vector<row_bytes>>;
    { t.insert(jobs, conflict) } -> std::same_as<std::vector<enqueued>>;
    { t.tail(queue, priority) } -> std::same_as<std::optional<instant>>;
    { t.ended(before, limit, quarantined) } -> std::same_as<std::vector<row>>;
    t.write(changes);
    t.erase(ids);
    t.add_receipt(id, note);
    t.savepoint().release();
    { t.is_open() } -> std::convertible_to<bool>;
};

/// A write transaction of the store's own. What it wrote is there for all, or for nobody: `~t` rolls back, and never
/// throws.
template <class T>
concept store_transaction = row_transaction<T> && requires(T& t) {
    t.commit();
};

/// A snapshot to read. It never takes the write lock, and ends with the object.
template <class V>
concept store_view = std::is_nothrow_destructible_v<V> &&
    requires(V& view, job_id id, std::string_view queue, std::string_view key, const filter& which) {
    { view.find(id) } -> std::same_as<std::optional<record>>;
    { view.find(queue, key) } -> std::same_as<std::optional<record>>;
    { view.list(which) } -> std::same_as<page<record>>;
    { view.counts() } -> std::same_as<statistics>;
    { view.next_vesting(queue) } -> std::same_as<std::optional<instant>>;
};

/// Keeps rows and gives transactions over them; it has no rule of its own. `attach` makes the store where it is new,
/// and refuses another clock axis than the one it was made with.
template <class Store>
concept lease_store = std::movable<Store> &&
    requires(Store& store, const Store& shared, const manual_clock& clock, clock_axis axis) {
    { Store::reaches } -> std::convertible_to<reach>;
    store.attach(axis);
    { store.begin(clock) } -> store_transaction;
    { shared.view() } -> store_view;
    store.renew_identity();
};

/// A store that can be waited at; at another one a queue looks again after a while.
template <class Store>
concept waitable_store = requires(const Store& store, std::uint32_t seen, millis at_most) {
    { store.changes() } -> std::same_as<std::uint32_t>;
    store.await(seen, at_most);
    store.wake();
};

/// A store whose transactions may carry the calls of several threads: since a commit is what costs, and since the wait
/// for its lock can be counted from the moment at which the call began.
template <class Store, class Clock>
concept grouping_store = requires(Store& store, const Clock& clock, std::chrono::steady_clock::time_point since) {
    { store.begin(clock, since) } -> store_transaction;
};

/// A store whose engine takes a transaction back when it meets another's, with `store_conflict`: says whether a call
/// that began at `since` may run again.
template <class Store>
concept conflicting_store = requires(const Store& store, std::chrono::steady_clock::time_point since) {
    { store.may_try_again(since) } -> std::convertible_to<bool>;
};

/// What the clock shows outside any transaction: read here, or where the store reads it.
template <class Clock, class Store>
reading read_clock(const Clock& clock, const Store& store) {
    if constexpr (local_clock<Clock>) {
        return take_reading(clock);
    } else {
        return store.read(clock);
    }
}

/// Whether the clock's answer holds wherever the store reaches.
template <class Clock, class Store>
concept holds_for = Store::reaches <= Clock::holds;

/// Whether the store can read the clock.
template <class Clock, class Store>
concept readable_in = requires(Store& store, const Clock& clock) {
    store.begin(clock);
};

namespace detail {

template <class Store, class Clock>
struct transaction_type {
    struct type {};  // a pair that does not fit is refused elsewhere, with one message
};
template <class Store, class Clock>
    requires readable_in<Clock, Store>
struct transaction_type<Store, Clock> {
    using type = decltype(std::declval<Store&>().begin(std::declval<const Clock&>()));
};

}  // namespace detail

/// The write transactions that a store begins.
template <class Store, class Clock>
using transaction_of = typename detail::transaction_type<Store, Clock>::type;

/// Whether a queue may be made of the two.
template <class Clock, class Store>
concept clock_for = clock_policy<Clock> && holds_for<Clock, Store> && readable_in<Clock, Store>;

/// A connection of the caller's whose transaction the verbs may join: one that is open already, or one that is begun
/// for them.
template <class Connection, class Store, class Clock>
concept adoptable_by = requires(const Store& store, Connection& connection, const Clock& clock) {
    { store.adopt(connection, clock) } -> row_transaction;
    { store.begin_on(connection, clock) } -> store_transaction;
};

}  // namespace leasehold::inline v0_1_0
