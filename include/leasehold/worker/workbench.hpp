// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <leasehold/clock.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/time.hpp>
#include <leasehold/worker/closing_time.hpp>
#include <leasehold/worker/context.hpp>
#include <leasehold/worker/counts.hpp>
#include <leasehold/worker/options.hpp>
#include <leasehold/worker/outcome.hpp>
#include <leasehold/worker/places.hpp>
#include <leasehold/worker/roster.hpp>
#include <leasehold/worker/running_job.hpp>

namespace leasehold::detail {

/// All that a worker does, a step at a time and without a thread of its own: jobs are claimed, begun, renewed, settled
/// and given back. Its steps may be called by several threads.
template <class Queue, class Handler>
class workbench {
public:
    using member = running_job<Queue>;

    /// A job that has begun, and what it has come to so far.
    struct assignment {
        std::shared_ptr<member> job{};
        bool is_urgent = false;  ///< something is due for it before long
        std::optional<outcome> come_to{};
        bool is_outcome_refused = false;
        bool is_handlers_doing = false;  ///< the handler has settled the job, or tried to, and the answer was lost
        bool is_taken = false;           ///< the queue took what it has come to
    };

    /// Who sleeps in between, to do what is due, sleeps no longer than half of this.
    static constexpr std::chrono::milliseconds before_long{200};

    workbench(Queue& queue, worker_options options, Handler handler)
        : queue_{queue},
          options_{std::move(options)},
          handler_{std::move(handler)},
          places_{options_.concurrency + options_.claim_ahead},
          closing_{options_.drain_timeout, options_.grace} {}
    workbench(const workbench&) = delete;
    workbench& operator=(const workbench&) = delete;
    ~workbench() = default;

    Queue& queue() const noexcept { return queue_; }
    const worker_options& options() const noexcept { return options_; }
    places& jobs() noexcept { return places_; }
    closing_time& closing() noexcept { return closing_; }
    const closing_time& closing() const noexcept { return closing_; }
    pace_point pace() const { return pace_of(queue_.clock()); }
    worker_counts counts() const { return tally_.read(); }

    /// Whether a job has begun since the last time this was asked that may not last until the next beat.
    bool must_beat_soon() noexcept { return beat_soon_.exchange(false); }

    // ---- Claims -----------------------------------------------------------------------------------------------------

    /// Claims for every place that is free: with `wait_for_first(terms)`, which may wait and gives a lease or nothing,
    /// then without waiting. False where the store did not answer.
    template <class First>
    bool claim(const First& wait_for_first) {
        const places::reservation room = places_.reserve_all();
        if (room.size() == 0 || closing_.is_closing()) {
            return true;
        }
        std::vector<lease> got;
        const bool answered = guarded(worker_error::task::claiming, {}, [&] {
            if (std::optional<lease> first = wait_for_first(terms())) {
                got.push_back(std::move(*first));
                fill(got, room.size());
            }
        });
        accept(std::move(got));
        return answered;
    }

    // ---- One job ----------------------------------------------------------------------------------------------------

    /// From here on the job is renewed. Where there is no memory for that, its place is free again.
    assignment begin(lease held) {
        const pace_point hold_until =
            options_.max_hold ? saturating_add(pace(), *options_.max_hold) : pace_point::max();
        assignment work;
        try {
            work.job = std::make_shared<member>(queue_, std::move(held), hold_until);
            roster_.add(work.job);
        } catch (...) {
            places_.leave();
            throw;
        }
        // What has waited here may not last until the next beat: less than half of what a lease has beyond one.
        const std::int64_t beyond = options_.lease.count() - options_.renew_every->count();
        const millis enough = std::chrono::milliseconds{options_.renew_every->count() + beyond / 2};
        const millis left = work.job->time_left();
        const bool beat_soon = left < enough && work.job->can_be_longer();
        if (beat_soon) {
            beat_soon_ = true;
        }
        work.is_urgent = beat_soon || std::min(left, options_.max_hold.value_or(left)) < before_long;
        return work;
    }

    /// Runs the handler, unless there is too little time left for that.
    void perform(assignment& work) {
        work.come_to = too_late(*work.job);
        if (!work.come_to) {
            work.come_to = called(*work.job);
            work.is_handlers_doing = work.job->is_concluded() || work.job->is_end_unknown();
        }
    }

    /// Settles the job by what it has come to. False: the store did not answer, and there is time to try again.
    bool conclude(assignment& work) {
        const member& job = *work.job;
        const bool is_to_be_told =
            !job.is_concluded() && !job.refused() && !std::holds_alternative<settled>(*work.come_to);
        if (is_to_be_told && !tried(work)) {
            return gives_up(work);
        }
        if (job.refused()) {
            lose(work);
        } else if (work.is_handlers_doing && !work.is_taken) {
            tally_.count(settled{});
        } else {
            tally_.count(*work.come_to);
        }
        leave(work);
        return true;
    }

    /// To be concluded later.
    void keep(assignment work) {
        const std::lock_guard lock{mutex_};
        left_.push_back(std::move(work));
    }

    // ---- Beats ------------------------------------------------------------------------------------------------------

    /// Fires the tokens of the handlers whose time is over. Says when it is to be called again.
    pace_point watch() {
        const pace_point now = pace();
        const closing_time::phase phase = closing_.look(now);
        return std::min(roster_.watch(now, phase.is_drained), phase.next_look);
    }

    /// Renews what is held, and tries again what could not be settled. False where the store did not answer.
    bool beat() {
        watch();
        const bool renewed = guarded(worker_error::task::renewing, {}, [&] {
            if (!closing_.is_over()) {
                roster_.renew(queue_, options_.lease, pace());
            }
        });
        watch();
        return conclude_kept() && renewed;
    }

    /// Releases what was claimed and has not begun.
    void give_back() {
        while (std::optional<lease> next = places_.take()) {
            assignment work = begin(std::move(*next));
            work.come_to = release_unspent{};
            if (!conclude(work)) {
                keep(std::move(work));
            }
        }
    }

    /// Whether `call` came to its end; what it throws is reported.
    template <class Call>
    bool guarded(worker_error::task doing, job_id id, const Call& call) const {
        try {
            call();
            return true;
        } catch (const std::exception& error) {
            report(doing, id, error.what());
            return false;
        }
    }

private:
    claim_terms terms() const { return {options_.owner, options_.lease, options_.queues}; }

    /// Claims until there are so many, earlier named queues first.
    void fill(std::vector<lease>& got, std::size_t most) {
        for (const std::string& queue : options_.queues) {
            if (got.size() >= most) {
                return;
            }
            const std::size_t limit = std::min(most - got.size(), largest_limit);
            std::vector<lease> more = queue_.claim_many(options_.owner, options_.lease, limit, queue);
            got.insert(got.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
        }
    }

    /// Keeps what was claimed for who is free; where the stop was faster, gives it back.
    void accept(std::vector<lease> got) {
        if (got.empty()) {
            return;
        }
        tally_.count_claims(got.size());
        guarded(worker_error::task::giving_up, got.front().id, [&] { places_.put(std::move(got)); });
        if (closing_.is_closing()) {
            give_back();
        }
    }

    std::optional<outcome> too_late(const member& job) const {
        constexpr std::chrono::milliseconds any{1};
        if (closing_.is_closing()) {
            return release_unspent{};
        }
        if (job.time_left() >= std::max<millis>(options_.min_start, any)) {
            return std::nullopt;
        }
        const std::optional<instant> deadline = job.job().deadline;
        const millis to_deadline = deadline ? saturating_subtract(*deadline, queue_.now()) : longest;
        if (to_deadline < options_.min_start) {
            // Nobody else has more time for it either: at its deadline a claim sets it aside.
            return release_unspent{.after = std::max(to_deadline, millis{})};
        }
        return release_unspent{};
    }

    outcome called(member& job) noexcept {
        using returned = std::invoke_result_t<Handler&, const claimed_job&, job_context<Queue>&>;
        try {
            job_context<Queue> context{job, options_.retry_after};
            if constexpr (std::is_void_v<returned>) {
                handler_(job.job(), context);
                return done{};
            } else {
                return outcome{handler_(job.job(), context)};
            }
        } catch (const std::exception& error) {
            return failed(error.what());
        } catch (const std::string& error) {
            return failed(error.c_str());
        } catch (const char* error) {
            return failed(error);
        } catch (...) {
            return failed("something was thrown that is no std::exception");
        }
    }

    static outcome failed(const char* error) noexcept {
        retry again;
        try {
            again.error = error;
        } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for the text; the failure counts all the same
        }
        return again;
    }

    /// Whether the queue has answered. A job that is done makes room for the next, which the same commit claims.
    bool tried(assignment& work) {
        const job_id id = work.job->job().round.id;
        const done* const finished = std::get_if<done>(&*work.come_to);
        const places::reservation room =
            finished != nullptr && !closing_.is_closing() ? places_.reserve_one_more() : places_.reserve_none();
        std::vector<lease> next;
        try {
            const settlement answer = work.job->conclude([&](const marker& round) -> settlement {
                if (room.size() == 0) {
                    return present(queue_, round, *work.come_to, options_.retry_after);
                }
                finished_and_claimed both = queue_.finish_and_claim(round, finished->result, terms());
                if (both.next) {
                    next.push_back(std::move(*both.next));
                }
                return std::move(both.finished);
            });
            work.is_taken = static_cast<bool>(answer);
            accept(std::move(next));
            return true;
        } catch (const std::invalid_argument& refused) {
            if (!std::exchange(work.is_outcome_refused, true)) {
                work.come_to = failed(refused.what());  // the handler's fault, not the store's
                return tried(work);
            }
            report(worker_error::task::settling, id, refused.what());
        } catch (const std::exception& error) {
            report(worker_error::task::settling, id, error.what());
        }
        return false;
    }

    /// Once there is no time left to try again.
    bool gives_up(assignment& work) {
        if (!closing_.is_over() && work.job->time_left() > millis{}) {
            return false;
        }
        tally_.count_lapse();
        report(worker_error::task::giving_up, work.job->job().round.id,
               "the store took no answer: the lease runs out by itself, and its attempt stays spent");
        leave(work);
        return true;
    }

    void lose(assignment& work) {
        tally_.count_loss();
        options_.on_loss(*work.job->refused());
        const done* const said = std::get_if<done>(&*work.come_to);
        if (said != nullptr && !said->receipt.empty()) {
            guarded(worker_error::task::leaving_a_receipt, work.job->job().round.id,
                    [&] { (void)!work.job->leave_receipt(said->receipt); });
        }
    }

    void leave(const assignment& work) noexcept {
        roster_.remove(work.job);
        places_.leave();
    }

    bool conclude_kept() {
        std::vector<assignment> kept;
        {
            const std::lock_guard lock{mutex_};
            kept.swap(left_);
        }
        bool all = true;
        for (assignment& work : kept) {
            if (!conclude(work)) {
                keep(std::move(work));
                all = false;
            }
        }
        return all;
    }

    void report(worker_error::task doing, job_id id, const char* what) const noexcept {
        try {
            options_.on_error({doing, id, what, std::current_exception()});
        } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for the telling
        }
    }

    Queue& queue_;
    worker_options options_;
    Handler handler_;
    places places_;
    closing_time closing_;
    roster<Queue> roster_{};
    tally tally_{};
    std::atomic<bool> beat_soon_ = false;
    std::mutex mutex_{};
    std::vector<assignment> left_{};  // what the store did not take yet
};

}  // namespace leasehold::detail
