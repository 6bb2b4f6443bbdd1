// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/arguments.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/event.hpp>
#include <leasehold/job.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/session.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/store.hpp>
#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0 {

template <class Clock, class Store>
class basic_lease_queue;

namespace detail {

/// That this thread has a session open on a queue: a plain verb of that queue would wait for the session's own lock.
class session_mark {
public:
    explicit session_mark(const void* queue) noexcept : queue_{queue}, outer_{std::exchange(innermost(), this)} {}
    session_mark(const session_mark&) = delete;
    session_mark& operator=(const session_mark&) = delete;
    ~session_mark() {
        // Mostly the innermost; a session may also go before one that was opened later.
        for (session_mark** at = &innermost(); *at != nullptr; at = &(*at)->outer_) {
            if (*at == this) {
                *at = outer_;
                return;
            }
        }
    }

    static void refuse_plain_verb(const void* queue) {
        for (const session_mark* at = innermost(); at != nullptr; at = at->outer_) {
            if (at->queue_ == queue) {
                throw std::logic_error{"this thread has a session open on the queue: use the session's verbs"};
            }
        }
    }

private:
    static session_mark*& innermost() noexcept {
        thread_local session_mark* mark = nullptr;
        return mark;
    }

    const void* queue_;
    session_mark* outer_;
};

}  // namespace detail

/// The verbs inside an open transaction, beside the caller's own work in it: they stand when that commits, and else
/// have never been. There is no claim and no renew, since a rollback would give the token out twice.
///
/// Each verb is all or nothing by itself. An id means nothing until the commit. Stays on the thread that opened it.
template <row_transaction Transaction>
class basic_session {
public:
    /// `keep_events`: whether anybody wants to know what was done.
    template <class Open>
    basic_session(const void* queue, const Open& open, bool keep_events)
        : mark_{queue}, transaction_{open()}, keep_events_{keep_events} {}
    basic_session(const basic_session&) = delete;
    basic_session& operator=(const basic_session&) = delete;
    ~basic_session() = default;

    /// As the queue's `enqueue`, standing when the transaction commits.
    enqueued enqueue(const job& work) {
        detail::check_job(work);
        return verb([&](auto& session) {
            return session.enqueue(std::span{&work, 1}, on_conflict::keep_others, false).front();
        });
    }
    /// As the queue's `finish`, standing when the transaction commits.
    settlement finish(const marker& round, std::string_view result = {}) {
        return verb([&](auto& session) { return session.finish(round, result); });
    }
    /// As the queue's `fail`, standing when the transaction commits.
    settlement fail(const marker& round, std::string_view error, millis retry_after = {}) {
        detail::check_length("retry_after", retry_after);
        return verb([&](auto& session) { return session.fail(round, error, retry_after); });
    }
    /// As the queue's `release`, standing when the transaction commits.
    settlement release(const marker& round, millis after = {}) {
        detail::check_length("after", after);
        return verb([&](auto& session) { return session.release(round, after); });
    }
    /// As the queue's `quarantine`, standing when the transaction commits.
    settlement quarantine(const marker& round, std::string_view why) {
        return verb([&](auto& session) { return session.quarantine(round, why); });
    }
    /// As the queue's `checkpoint`, standing when the transaction commits.
    settlement checkpoint(const marker& round, std::string_view bytes) {
        return verb([&](auto& session) { return session.checkpoint(round, bytes); });
    }
    /// As the queue's `leave_receipt`, standing when the transaction commits.
    settlement leave_receipt(const marker& round, std::string_view note) {
        return verb([&](auto& session) { return session.leave_receipt(round, note); });
    }
    /// The instant by which the transaction's verbs are judged, as it is now.
    instant now() {
        return verb([](auto& session) { return session.now().at; });
    }

    /// The engine's own connection, for the caller's SQL in the same transaction.
    decltype(auto) native() noexcept { return transaction_.native(); }

    /// What the verbs have done so far, for `publish` after a commit of the caller's own.
    const std::vector<event>& events() const noexcept { return events_; }

private:
    template <class Clock, class Store>
    friend class basic_lease_queue;

    void commit() { transaction_.commit(); }

    template <class Verb>
    auto verb(const Verb& call) {
        if (!transaction_.is_open()) {
            throw store_error{"the session's transaction has ended, and nothing of it stands", 0, true};
        }
        const std::size_t told = events_.size();
        try {
            auto part = transaction_.savepoint();
            detail::session session{transaction_, keep_events_ ? &events_ : nullptr};
            auto answer = call(session);
            part.release();
            return answer;
        } catch (...) {
            events_.resize(told);
            throw;
        }
    }

    detail::session_mark mark_;
    Transaction transaction_;
    bool keep_events_;
    std::vector<event> events_{};
};

}  // namespace leasehold::inline v0_1_0
