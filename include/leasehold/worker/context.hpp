// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <leasehold/arguments.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/text.hpp>
#include <leasehold/time.hpp>
#include <leasehold/worker/backoff.hpp>
#include <leasehold/worker/claimed_job.hpp>
#include <leasehold/worker/outcome.hpp>
#include <leasehold/worker/running_job.hpp>

namespace leasehold::inline v0_1_0 {

namespace detail {

/// What a repetition shows of an outcome whose answer was lost.
inline ending ending_of(const outcome& what) noexcept {
    const bool gives_back = std::holds_alternative<retry>(what) || std::holds_alternative<release_unspent>(what);
    return gives_back ? ending::gives_it_back : ending::ends_the_job;
}

/// Says to the queue what a job has come to.
template <class Queue>
settlement present(Queue& queue, const marker& round, const outcome& what, const backoff& retry_after) {
    return std::visit(
        [&]<class What>(const What& said) -> settlement {
            if constexpr (std::is_same_v<What, done>) {
                return queue.finish(round, said.result);
            } else if constexpr (std::is_same_v<What, retry>) {
                const auto job = static_cast<std::uint64_t>(round.id.value);
                return queue.fail(round, said.error, said.after ? *said.after : retry_after.after(round.attempt, job));
            } else if constexpr (std::is_same_v<What, release_unspent>) {
                return queue.release(round, said.after);
            } else if constexpr (std::is_same_v<What, set_aside>) {
                return queue.quarantine(round, said.why);
            } else {
                refuse("outcome", "settled says nothing that the queue could be told");
            }
        },
        what);
}

}  // namespace detail

/// What a handler may ask and say while it runs. Its verbs throw `store_error` as the queue's do. Where a checkpoint or
/// a settlement is refused that the handler has not made needless itself, the lease is lost, and `stop_token` has
/// fired. A verb inside another (in `commit_in`'s work), or inside a session of the queue's, is a `std::logic_error`.
template <class Queue>
class job_context {
public:
    /// Made by the worker, for one run of the handler.
    job_context(detail::running_job<Queue>& job, const backoff& retry_after) noexcept
        : job_{job}, retry_after_{retry_after} {}
    job_context(const job_context&) = delete;
    job_context& operator=(const job_context&) = delete;
    ~job_context() = default;

    /// Fires when the lease is lost, when `max_hold` is over, and when the drain ends.
    std::stop_token stop_token() const noexcept { return job_.stop_token(); }

    /// What is left of the lease by the holder's own reckoning; renewals make it more. Zero once it is over.
    millis time_left() const { return job_.time_left(); }

    /// Leaves bytes for the next holder, in place of earlier ones.
    settlement checkpoint(std::string_view bytes) {
        return job_.say([&](const marker& round) { return queue().checkpoint(round, bytes); });
    }

    /// Evidence of an effect, also after the lease.
    settlement leave_receipt(std::string_view note) { return job_.leave_receipt(note); }

    /// Settles the job now; what the handler returns is not looked at after that. Not `settled`, which would say
    /// nothing: `std::invalid_argument`.
    settlement settle(const outcome& what) {
        const settlement answer = job_.conclude(detail::ending_of(what), [&](const marker& round) {
            return detail::present(queue(), round, what, retry_after_);
        });
        const done* const finished = std::get_if<done>(&what);
        if (!job_.is_concluded() && finished != nullptr && !finished->receipt.empty()) {
            (void)!job_.leave_receipt(finished->receipt);
        }
        return answer;
    }

    /// An effect in the queue's own file and the job's `finish`, together or not at all: on `database`, a connection of
    /// the caller's to that file, begins with `BEGIN IMMEDIATE`, calls `work(session)`, finishes with what it returns
    /// (a text or nothing), and commits. Where the finish is refused, or `work` throws, all of it is rolled back.
    ///
    /// The job's beats are held off from the beginning on: nothing may wait for a lease while it holds the write lock.
    /// While `work` runs no lease on the file can be renewed, this worker's or another's: keep it far shorter than the
    /// leases.
    template <class Connection, class Work>
    settlement commit_in(Connection& database, const Work& work) {
        const typename detail::running_job<Queue>::beats_held_off hold{job_};
        bool is_done = false;
        const auto in_one = [&](const marker& round) {
            settlement answer;
            try {
                queue().transact(database, [&](auto& session) {
                    const std::string result = detail::text_returned_by(work, session);
                    answer = session.finish(round, result);
                    if (!answer) {
                        throw refused{};
                    }
                    is_done = true;
                });
            } catch (const refused&) {  // NOLINT(bugprone-empty-catch): rolled back, and the answer says why
            }
            return answer;
        };
        return job_.conclude(detail::ending::ends_the_job, in_one, [&] { return is_done; });
    }

private:
    struct refused {};

    Queue& queue() const noexcept { return job_.queue(); }

    detail::running_job<Queue>& job_;
    const backoff& retry_after_;
};

}  // namespace leasehold::inline v0_1_0
