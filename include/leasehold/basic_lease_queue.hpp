// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>
#include <version>

#include <leasehold/arguments.hpp>
#include <leasehold/basic_session.hpp>
#include <leasehold/clock.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/event.hpp>
#include <leasehold/job.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/rounds.hpp>
#include <leasehold/session.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/store.hpp>
#include <leasehold/transactor.hpp>
#include <leasehold/waiter.hpp>

namespace leasehold::inline v0_1_0 {

/// A durable queue in which a claim is a lease. Usable from several threads at once; neither copyable nor movable.
///
/// Every verb is one short transaction of the store (a claim behind many dead rows is several), and returns after its
/// commit with no lock held. A rejection is an ordinary answer. Bad arguments throw `std::invalid_argument`, with
/// nothing written; a fault of the store throws `store_error` or a child of it.
template <class Clock, class Store>
class basic_lease_queue {
    static_assert(clock_policy<Clock>, "Clock is not a clock: use wall_clock, or see docs/clocks.md");
    static_assert(!clock_policy<Clock> || holds_for<Clock, Store>,
                  "Clock holds less far than Store reaches: use wall_clock or boot_clock with a file, server_clock or "
                  "assume_synchronised with a server (docs/clocks.md says which)");
    static_assert(!clock_policy<Clock> || !holds_for<Clock, Store> || readable_in<Clock, Store>,
                  "Clock is not readable in this Store: use boot_clock with a file alone, server_clock with a server "
                  "alone, process_clock or wall_clock in memory (docs/clocks.md says which)");
    static_assert(lease_store<Store>, "Store must model lease_store: see leasehold/store.hpp");

public:
    /// Opens the store, which is made where it is new. Throws `store_unsupported` where it was made with a clock of
    /// another axis.
    explicit basic_lease_queue(Store store, Clock clock = {}, queue_options options = {})
        : store_{std::move(store)}, clock_{std::move(clock)}, options_{std::move(options)} {
        store_.attach(Clock::axis);
    }
    basic_lease_queue(const basic_lease_queue&) = delete;
    basic_lease_queue& operator=(const basic_lease_queue&) = delete;
    ~basic_lease_queue() = default;

    // ---- Work comes in ----------------------------------------------------------------------------------------------

    /// Adds a job; where its key is in the queue already, changes nothing and answers with that row. A deadline that is
    /// over is refused, whether or not the key is known.
    enqueued enqueue(const job& work) {
        detail::check_job(work);
        return in_transaction([&](auto& session) {
            return session.enqueue(std::span{&work, 1}, on_conflict::keep_others, false).front();
        });
    }

    /// Adds jobs in one transaction, judged in their order; the answers have the same order. With
    /// `on_conflict::nothing` a conflict anywhere withholds all that are not there yet.
    std::vector<enqueued> enqueue_many(std::span<const job> jobs, on_conflict policy = on_conflict::keep_others) {
        detail::check_jobs(jobs);
        return in_transaction([&](auto& session) { return session.enqueue(jobs, policy, true); });
    }

    // ---- Claims -----------------------------------------------------------------------------------------------------

    /// Takes the next job of the queue for `lease_for` (above zero), or until its deadline if that is earlier.
    std::optional<lease> claim(std::string_view owner, millis lease_for, std::string_view queue = "default") {
        return first_of(claim_many(owner, lease_for, 1, queue));
    }

    /// Takes up to `limit` (1 to 1,000) jobs in one transaction. Fewer than there are only where very many rows had to
    /// be set aside on the way.
    std::vector<lease> claim_many(std::string_view owner, millis lease_for, std::size_t limit,
                                  std::string_view queue = "default") {
        detail::check_claim(owner, lease_for);
        detail::check_name("queue", queue);
        detail::check_limit(limit);
        return take(owner, lease_for, std::span{&queue, 1}, limit);
    }

#ifdef __cpp_lib_jthread
    /// Waits until there is a job in one of the queues (earlier named ones first; none named: `default`) and takes it.
    /// Nothing: the stop was asked for, or `terms.wait` is over, which runs on the clock's pace. Wakes for a commit by
    /// any thread or process, and at the instant at which a delay or a lease ends; half a second later at most for what
    /// says nothing: a joined commit that was not published, another program's. Not there where the standard library
    /// has no `std::stop_token`.
    std::optional<lease> wait_claim(const std::stop_token& stop, const claim_terms& terms) {
        detail::check_terms(terms);
        detail::check_length("wait", terms.wait);
        std::vector<std::string_view> queues(terms.queues.begin(), terms.queues.end());
        if (queues.empty()) {
            queues.emplace_back("default");
        }
        detail::waiter waiter{clock_, store_, stop, terms.wait};
        for (;;) {
            const std::optional<instant> next = next_vesting(queues);
            const bool has_vested = next && !rules::must_wait(*next, now());
            if (has_vested) {
                std::vector<lease> taken = take(terms.owner, terms.lease_for, queues, 1);
                if (!taken.empty()) {
                    return first_of(std::move(taken));
                }
            }
            if (!waiter.wait(has_vested ? next_to_come(queues) : next)) {
                return std::nullopt;
            }
        }
    }
#endif

    /// Finishes one job and takes the next in one commit, without waiting. Claims whatever the finish answers. Where
    /// `next` names no queue: from the finished job's own; from none where there is no such job.
    finished_and_claimed finish_and_claim(const marker& round, std::string_view result, const claim_terms& next) {
        detail::check_terms(next);
        return in_transaction([&](auto& session) { return session.finish_and_claim(round, result, next); }, 1);
    }

    // ---- What a holder says: counts only while the whole marker equals the row and the lease is live ----------------

    /// The job is done, for good. `result` is any bytes; empty: none.
    settlement finish(const marker& round, std::string_view result = {}) {
        return in_transaction([&](auto& session) { return session.finish(round, result); });
    }

    /// Finishes each of a range of markers or leases, in one transaction; answers in the same order.
    template <detail::range_of_markers Range>
    std::vector<settlement> finish_many(Range&& rounds) {
        return in_transaction([&](auto& session) { return session.finish(detail::pointers_to(rounds), {}); });
    }

    /// The same with a result for each.
    template <detail::range_of_completions Range>
    std::vector<settlement> finish_many(Range&& completions) {
        std::vector<const marker*> rounds;
        std::vector<std::string_view> results;
        for (const completion& each : completions) {
            rounds.push_back(&each.round);
            results.push_back(each.result);
        }
        return in_transaction([&](auto& session) { return session.finish(rounds, results); });
    }

    /// Holds on for `lease_for` from now, or until the deadline if that is earlier; never shortens. On success `round`
    /// holds the new lease end.
    settlement renew(marker& round, millis lease_for) { return only(renew_many(std::array{&round}, lease_for)); }
    /// The same for a lease, which also has its `local_until` moved.
    settlement renew(lease& round, millis lease_for) { return only(renew_many(std::array{&round}, lease_for)); }

    /// Renews each of a range of pointers to markers or leases, in one transaction.
    template <detail::range_of_pointers Range>
    std::vector<settlement> renew_many(Range&& rounds, millis lease_for) {
        detail::check_lease_for(lease_for);
        return prolong(rounds, [&](auto& session, auto pointers) { return session.renew(pointers, lease_for); });
    }

    /// After a renewal whose answer was lost: where the round still lives, `round` takes the row's lease end.
    settlement refresh(marker& round) { return only(refreshed(std::array{&round})); }
    /// The same for a lease, which also has its `local_until` moved.
    settlement refresh(lease& round) { return only(refreshed(std::array{&round})); }

    /// The attempt failed: ready again after `retry_after`, or set aside where it was the last. `error` is any bytes,
    /// kept as text of at most 4 KiB.
    settlement fail(const marker& round, std::string_view error, millis retry_after = {}) {
        detail::check_length("retry_after", retry_after);
        return in_transaction([&](auto& session) { return session.fail(round, error, retry_after); });
    }

    /// Gives the job back with its attempt unspent: ready again after `after`.
    settlement release(const marker& round, millis after = {}) {
        detail::check_length("after", after);
        return in_transaction([&](auto& session) { return session.release(round, after); });
    }

    /// Releases each of a range of markers or leases, in one transaction.
    template <detail::range_of_markers Range>
    std::vector<settlement> release_many(Range&& rounds, millis after = {}) {
        detail::check_length("after", after);
        return in_transaction([&](auto& session) { return session.release(detail::pointers_to(rounds), after); });
    }

    /// Sets the job aside for a person, who reads `why` (any bytes, kept as text of at most 4 KiB).
    settlement quarantine(const marker& round, std::string_view why) {
        return in_transaction([&](auto& session) { return session.quarantine(round, why); });
    }

    /// Leaves bytes for the next holder, in place of earlier ones. The marker stays as it is.
    settlement checkpoint(const marker& round, std::string_view bytes) {
        return in_transaction([&](auto& session) { return session.checkpoint(round, bytes); });
    }

    /// Evidence of an effect, perhaps after the lease. Changes no job, and is refused only where it cannot be true:
    /// `foreign`, `missing`, `impossible_token`.
    settlement leave_receipt(const marker& round, std::string_view note) {
        return in_transaction([&](auto& session) { return session.leave_receipt(round, note); });
    }

    // ---- What an operator says: names the token that was seen; another by now, and nothing is done ------------------

    /// Ends a live lease without its holder; the attempt stays spent.
    amendment revoke(job_id id, claim_token seen) {
        return in_transaction([&](auto& session) { return session.revoke(id, seen); });
    }

    /// Ends a job that has not ended or was set aside, whoever holds it; `seen`: only in that round.
    amendment cancel(job_id id, std::optional<claim_token> seen = {}) {
        return in_transaction([&](auto& session) { return session.cancel(id, seen); });
    }

    /// Sends a job that was set aside or cancelled back to work with all its attempts, and a deadline ahead if any.
    amendment requeue(job_id id, claim_token seen, const requeue_options& options = {}) {
        detail::check_schedule(options);
        return in_transaction([&](auto& session) { return session.requeue(id, seen, options); });
    }

    /// Erases ended jobs, with their bytes and receipts; returns how many.
    std::size_t prune(const prune_options& options) {
        detail::check_length("older_than", options.older_than);
        detail::check_limit(options.limit);
        return in_transaction([&](auto& session) { return session.prune(options); });
    }

    /// For a copy of a store that lives on beside it, such as a restored backup: from here on no marker given out
    /// before fits.
    store_id new_store_id() { return store_.renew_identity(); }

    // ---- Together with the caller's own work ------------------------------------------------------------------------

    /// Calls `work(session)` in one transaction of the queue's own, and commits when it returns. What it throws rolls
    /// all of it back. The session's `native()` is the engine's connection, for the caller's own SQL.
    template <class Work>
    decltype(auto) transact(Work&& work) {
        return transact_in([this] { return store_.begin(clock_); }, work);
    }

    /// The same on a connection of the caller's to the same file: `BEGIN IMMEDIATE`, waited for as the queue's options
    /// say, the work, `COMMIT`. Throws `std::logic_error` where it has a transaction open already.
    template <class Connection, class Work>
        requires adoptable_by<Connection, Store, Clock>
    decltype(auto) transact(Connection& connection, Work&& work) {
        return transact_in([&] { return store_.begin_on(connection, clock_); }, work);
    }

    /// The verbs inside the caller's own open transaction, which must hold the write lock (`BEGIN IMMEDIATE`); else a
    /// `std::logic_error`. They stand when the caller commits, as durably as the caller's connection commits. Give
    /// `events()` to `publish` after that.
    template <adoptable_by<Store, Clock> Connection>
    auto join(Connection& connection) {
        using transaction = decltype(store_.adopt(connection, clock_));
        return basic_session<transaction>{this, [&] { return store_.adopt(connection, clock_); },
                                          transactor_.is_told()};
    }

    /// Tells of what a joined session did, now that it is committed, and wakes who waits for a job.
    void publish(std::span<const event> events) const {
        if constexpr (requires { store_.wake(); }) {
            store_.wake();
        }
        transactor_.tell(events);
    }

    // ---- Reading: never waits for a writer's lock longer than a commit takes ----------------------------------------

    /// The job with its bytes and receipts; nothing where there is none.
    std::optional<record> find(job_id id) const { return view().find(id); }
    /// The job that has this key in its queue.
    std::optional<record> find(std::string_view queue, std::string_view key) const {
        detail::check_name("queue", queue);
        detail::check_name("key", key);
        return view().find(queue, key);
    }

    /// Jobs by ascending id, with the sizes of their bytes but without them: a page at a time.
    page<record> list(const filter& which = {}) const {
        if (which.queue) {
            detail::check_name("queue", *which.queue);
        }
        detail::check_limit(which.limit);
        return view().list(which);
    }

    /// Counts every row: on a large file it takes a while, and in a rollback journal commits wait for it.
    statistics stats() const { return view().counts(); }

    /// What the queue's clock shows, outside any transaction.
    instant now() const { return read_clock(clock_, store_).at; }

    /// The clock, for who waits on its pace.
    const Clock& clock() const noexcept { return clock_; }

    /// What is left of a lease by its holder's own reckoning, on the clock's pace; zero once it is over.
    millis time_left(const lease& held) const { return time_left(held.local_until); }
    /// The same of a point on the pace.
    millis time_left(pace_point local_until) const {
        return rules::time_left(local_until, std::chrono::ceil<std::chrono::milliseconds>(clock_.pace()));
    }

private:
    using transactor = detail::transactor<Store, Clock>;

    /// `takes`: how many jobs the verb may claim.
    template <class Verb>
    auto in_transaction(const Verb& verb, std::size_t takes = 0) {
        detail::session_mark::refuse_plain_verb(this);
        return transactor_.run(verb, takes);
    }

    /// The next instant at which there may be something, after a claim that got nothing: somebody was faster, or all
    /// that had vested was set aside. What has vested all the same cannot be taken yet; only a change can tell when.
    std::optional<instant> next_to_come(std::span<const std::string_view> queues) const {
        const std::optional<instant> next = next_vesting(queues);
        const instant seen = now();
        if (next && !rules::must_wait(*next, seen)) {
            const instant takeable = saturating_add(*next, skew_of<Clock>());
            return rules::must_wait(takeable, seen) ? std::optional{takeable} : std::nullopt;
        }
        return next;
    }

    template <class Open, class Work>
    decltype(auto) transact_in(const Open& open, Work&& work) {
        detail::session_mark::refuse_plain_verb(this);
        std::vector<event> events;
        // Told of after the session is gone, and with it the lock.
        const publisher publishing{transactor_, events};
        basic_session<std::invoke_result_t<const Open&>> session{this, open, transactor_.is_told()};
        if constexpr (std::is_void_v<std::invoke_result_t<Work, decltype(session)&>>) {
            work(session);
            session.commit();
            events = session.events();
        } else {
            decltype(auto) answer = work(session);
            session.commit();
            events = session.events();
            return static_cast<decltype(answer)>(answer);
        }
    }

    std::optional<instant> next_vesting(std::span<const std::string_view> queues) const {
        auto reading = view();
        std::optional<instant> first;
        for (const std::string_view queue : queues) {
            const std::optional<instant> next = reading.next_vesting(queue);
            first = next ? std::min(*next, first.value_or(*next)) : first;
        }
        return first;
    }

    auto view() const {
        detail::session_mark::refuse_plain_verb(this);
        return store_.view();
    }

    /// Publishes when it goes.
    class publisher {
    public:
        publisher(const transactor& by, const std::vector<event>& events) noexcept : by_{by}, events_{events} {}
        publisher(const publisher&) = delete;
        publisher& operator=(const publisher&) = delete;
        ~publisher() { by_.tell(events_); }

    private:
        const transactor& by_;
        const std::vector<event>& events_;
    };

    std::vector<lease> take(std::string_view owner, millis lease_for, std::span<const std::string_view> queues,
                            std::size_t limit) {
        for (;;) {
            detail::claimed taken =
                in_transaction([&](auto& session) { return session.claim(owner, lease_for, queues, limit); }, limit);
            if (!taken.cut_short || !taken.leases.empty()) {
                return std::move(taken.leases);
            }
        }
    }

    /// A verb that moves lease ends: what it came to reaches the caller's markers after the commit.
    template <class Range, class Verb>
    std::vector<settlement> prolong(Range&& rounds, const Verb& verb) {
        using pointer = std::remove_cvref_t<decltype(*std::begin(rounds))>;
        std::vector<pointer> held;
        std::vector<const marker*> presented;
        for (pointer each : rounds) {
            held.push_back(each);
            presented.push_back(each);
        }
        reading now;
        std::vector<settlement> answers = in_transaction([&](auto& session) {
            std::vector<settlement> judged = verb(session, std::span<const marker* const>{presented});
            now = session.now();
            return judged;
        });
        for (std::size_t i = 0; i < answers.size(); ++i) {
            if (answers[i]) {
                held[i]->lease_until = answers[i].current->round.lease_until;
                if constexpr (std::is_base_of_v<lease, std::remove_pointer_t<pointer>>) {
                    held[i]->local_until = rules::local_end(now.pace, now.at, held[i]->lease_until);
                }
            }
        }
        return answers;
    }

    template <class Range>
    std::vector<settlement> refreshed(Range&& rounds) {
        return prolong(rounds, [](auto& session, auto pointers) { return session.refresh(pointers); });
    }

    static std::optional<lease> first_of(std::vector<lease> leases) {
        return leases.empty() ? std::nullopt : std::optional<lease>{std::move(leases.front())};
    }

    static settlement only(std::vector<settlement> answers) { return std::move(answers.front()); }

    Store store_;
    Clock clock_;
    queue_options options_;
    transactor transactor_{store_, clock_, options_};
};

}  // namespace leasehold::inline v0_1_0
