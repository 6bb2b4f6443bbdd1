// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <leasehold/bell.hpp>
#include <leasehold/clock.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/rules.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/time.hpp>
#include <leasehold/worker/assignment.hpp>
#include <leasehold/worker/closing_time.hpp>
#include <leasehold/worker/context.hpp>
#include <leasehold/worker/handler.hpp>
#include <leasehold/worker/options.hpp>
#include <leasehold/worker/outcome.hpp>
#include <leasehold/worker/places.hpp>
#include <leasehold/worker/reports.hpp>
#include <leasehold/worker/returns.hpp>
#include <leasehold/worker/roster.hpp>
#include <leasehold/worker/running_job.hpp>

namespace leasehold::inline v0_1_0::detail {

/// All that a worker does, a step at a time and without a thread of its own: jobs are claimed, begun, renewed, settled
/// and given back. Its steps may be called by several threads.
template <class Queue>
class workbench {
public:
    using work = assignment<Queue>;

    /// Who sleeps in between, to do what is due, sleeps no longer than half of this.
    static constexpr std::chrono::milliseconds before_long{200};

    workbench(Queue& queue, worker_options options, handler_ref<Queue> handler)
        : queue_{queue},
          options_{std::move(options)},
          handler_{handler},
          places_{options_.concurrency, options_.claim_ahead},
          closing_{options_.drain_timeout, options_.grace} {}
    workbench(const workbench&) = delete;
    workbench& operator=(const workbench&) = delete;
    ~workbench() = default;

    Queue& queue() const noexcept { return queue_; }
    const worker_options& options() const noexcept { return options_; }
    job_places& jobs() noexcept { return places_; }
    closing_time& closing() noexcept { return closing_; }
    const closing_time& closing() const noexcept { return closing_; }
    /// Rung where something is due before long.
    bell& alarm() const noexcept { return alarm_; }
    pace_point pace() const { return pace_of(queue_.clock()); }
    /// What is said of it all.
    reports& said() noexcept { return reports_; }
    const reports& said() const noexcept { return reports_; }

    /// The stop: no more claims, and whoever waits for one goes.
    void close() noexcept {
        closing_.close();
        places_.wake();
        alarm_.ring();
    }

    /// Whether nothing is in work, or on its way.
    bool is_empty() const { return places_.are_empty() && returns_.are_done(); }

    // ---- Claims -----------------------------------------------------------------------------------------------------

    /// Claims for every place that is free: with `wait_for_first(terms)`, which may wait and gives a lease or nothing,
    /// then without waiting. False where the store did not answer.
    template <class First>
    bool claim(const First& wait_for_first) {
        const job_places::reservation room = places_.reserve_all();
        if (room.size() == 0 || closing_.is_closing()) {
            return true;
        }
        std::vector<lease> got;
        const bool answered = reports_.guarded(worker_error::task::claiming, {}, [&] {
            if (std::optional<lease> first = wait_for_first(terms())) {
                got.push_back(std::move(*first));
                fill(got, room.size());
            }
        });
        accept(std::move(got), 0);
        return answered;
    }

    // ---- One job ----------------------------------------------------------------------------------------------------

    /// From here on the job is renewed.
    work begin(waiting_job next) {
        const pace_point hold_until =
            options_.max_hold ? saturating_add(pace(), *options_.max_hold) : pace_point::max();
        const bool can_be_longer = !rules::is_past(next.held.deadline, next.held.lease_until);
        work begun{{places_, roster_, queue_, std::move(next.held), hold_until}, next.is_ahead};
        // What has waited here may not last until the next beat: less than half of what a lease has beyond one.
        const std::int64_t beyond = options_.lease.count() - options_.renew_every->count();
        const millis enough = std::chrono::milliseconds{options_.renew_every->count() + beyond / 2};
        const millis left = begun.at.job().time_left();
        if (left < enough && can_be_longer) {
            beat_soon_ = true;
            alarm_.ring();
        } else if (std::min(left, options_.max_hold.value_or(left)) < before_long) {
            alarm_.ring();
        }
        return begun;
    }

    /// Runs the handler, unless there is too little time left for that.
    void perform(work& begun) {
        member& job = begun.at.job();
        begun.come_to = too_late(job, begun.is_ahead);
        if (!begun.come_to) {
            begun.come_to = called(job);
            begun.is_handlers_doing = job.is_concluded() || job.is_end_unknown();
        }
    }

    /// Settles the job by what it has come to. False: the store did not answer, and there is time to try again.
    bool conclude(work& begun) {
        const member& job = begun.at.job();
        if (std::holds_alternative<settled>(*begun.come_to) && job.is_end_unknown() && !job.is_concluded()) {
            // It stands, and then this is refused; or it does not.
            begun.come_to = failed("settled, it said, but the store had not answered, nor done it");
        }
        const bool is_to_be_told =
            !job.is_concluded() && !job.refused() && !std::holds_alternative<settled>(*begun.come_to);
        if (is_to_be_told && !tried(begun)) {
            return gives_up(begun);
        }
        if (const auto refused = job.refused() ? job.refused() : job.seen_lost(); refused && !job.is_concluded()) {
            lose(begun, *refused);
        } else {
            const bool is_ours = begun.is_taken || (job.is_end_unknown() && !begun.is_handlers_doing);
            reports_.over(is_ours ? *begun.come_to : outcome{settled{}});
        }
        return true;
    }

    /// To be concluded by a later `conclude_kept`.
    void keep(work begun) {
        const std::lock_guard lock{mutex_};
        kept_.push_back(std::move(begun));
    }

    /// False where the store did not answer.
    bool conclude_kept() {
        std::vector<work> kept;
        {
            const std::lock_guard lock{mutex_};
            kept.swap(kept_);
        }
        bool all = true;
        for (work& begun : kept) {
            if (!conclude(begun)) {
                keep(std::move(begun));
                all = false;
            }
        }
        return all;
    }

    // ---- Beats ------------------------------------------------------------------------------------------------------

    /// Fires the tokens of the handlers whose time is over. Says when it is to be called again.
    pace_point watch() {
        const pace_point now = pace();
        const closing_time::phase phase = closing_.look(now);
        return std::min(roster_.watch(now, phase.is_drained), phase.next_look);
    }

    /// Renews what is held. False where the store did not answer.
    bool renew() {
        return reports_.guarded(worker_error::task::renewing, {}, [&] {
            if (!closing_.is_over()) {
                roster_.renew(queue_, options_.lease, [this] { return pace(); });
            }
        });
    }

    /// Whether a beat is due before its time: for a job that has begun late, or for one that was held off.
    bool must_beat_soon() { return beat_soon_.exchange(false) || roster_.took_missed_beat(); }

    // ---- What has not begun, and goes back --------------------------------------------------------------------------

    /// All of it, because of the stop.
    void give_back() {
        returns_.add(places_.take_out([](const waiting_job&) { return true; }));
    }

    /// What has too little of its lease left, because it was claimed ahead: before it lapses, its attempt spent.
    void give_back_what_waits_too_long() {
        returns_.add(places_.take_out([this](const waiting_job& each) {
            return each.is_ahead && queue_.time_left(each.held) < least_while_waiting();
        }));
    }

    /// When that is to be called again.
    pace_point next_give_back() const { return saturating_subtract(places_.first_end_ahead(), least_while_waiting()); }

    /// Some of what goes back, in one transaction. False where the store did not answer.
    bool send_back() {
        std::vector<job_id> lapsed;
        const bool answered = reports_.guarded(worker_error::task::settling, {}, [&] {
            returns_.send(
                [&](const settlement& answer, bool is_back) {
                    if (is_back) {
                        reports_.over(release_unspent{});
                    } else {
                        reports_.lost(answer);
                    }
                },
                [&](const lease& held) { return closing_.is_over() || queue_.time_left(held) <= millis{}; },
                [&](const lease& held) { lapsed.push_back(held.id); });
        });
        std::for_each(lapsed.begin(), lapsed.end(), [this](job_id id) { reports_.lapsed(id); });
        return answered;
    }
    bool is_sending_back() const noexcept { return !returns_.are_done(); }

    /// All of it, as long as the store answers.
    bool send_all_back() {
        bool answered = true;
        while (answered && is_sending_back()) {
            answered = send_back();
        }
        return answered;
    }

private:
    using member = running_job<Queue>;

    claim_terms terms() const { return {options_.owner, options_.lease, options_.queues}; }
    millis least_while_waiting() const { return std::max(options_.min_start, *options_.renew_every); }

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

    /// Keeps what was claimed for who is free, or soon is; where the stop was faster, gives it back.
    void accept(std::vector<lease> got, std::size_t soon_free) {
        if (got.empty()) {
            return;
        }
        reports_.claimed(got.size());
        reports_.guarded(worker_error::task::giving_up, got.front().id,
                         [&] { places_.put(std::move(got), soon_free); });
        if (closing_.is_closing()) {
            reports_.guarded(worker_error::task::giving_up, {}, [&] { give_back(); });
            alarm_.ring();
        }
    }

    std::optional<outcome> too_late(const member& job, bool is_ahead) const {
        if (closing_.is_closing()) {
            return release_unspent{};
        }
        constexpr std::chrono::milliseconds any{1};
        const millis left = job.time_left();
        if (left >= std::max<millis>(options_.min_start, any)) {
            return std::nullopt;
        }
        const std::optional<instant> deadline = job.job().deadline;
        const millis to_deadline = deadline ? saturating_subtract(*deadline, queue_.now()) : longest;
        if (to_deadline < options_.min_start) {
            // Nobody else has more time for it either: at its deadline a claim sets it aside.
            return release_unspent{.after = std::max(to_deadline, millis{})};
        }
        // A fresh lease is as long as any other would be.
        return is_ahead || left < any ? std::optional<outcome>{release_unspent{}} : std::nullopt;
    }

    outcome called(member& job) noexcept {
        try {
            job_context<Queue> context{job, options_.retry_after};
            outcome said = handler_(job.job(), context);
            return said.valueless_by_exception() ? failed("the outcome holds nothing") : std::move(said);
        } catch (const std::exception& error) {
            return failed(error.what());
        } catch (const std::string& error) {
            return failed(error);
        } catch (const char* error) {
            return failed(error);
        } catch (...) {
            return failed("something was thrown that is no std::exception");
        }
    }

    static outcome failed(const char* error) noexcept {
        return failed(std::string_view{error == nullptr ? "what was thrown has no text" : error});
    }
    static outcome failed(std::string_view error) noexcept {
        retry again;
        try {
            again.error = error;
        } catch (...) {  // NOLINT(bugprone-empty-catch): no memory for the text; the failure counts all the same
        }
        return again;
    }

    /// Whether the queue has answered.
    bool tried(work& begun) {
        try {
            tell(begun);
            return true;
        } catch (const std::invalid_argument& refused) {
            if (!std::exchange(begun.is_outcome_refused, true)) {
                begun.come_to = failed(refused.what());  // the handler's fault, not the store's
                return tried(begun);
            }
            note_failure(begun, refused.what());
        } catch (const std::exception& error) {
            note_failure(begun, error.what());
        }
        return false;
    }

    /// A job that is done makes room for the next, which the same commit claims; but only once, where the answer is
    /// lost, or each repetition would claim one that nobody knows of.
    void tell(work& begun) {
        member& job = begun.at.job();
        const done* const finished = std::get_if<done>(&*begun.come_to);
        const bool goes_on = finished != nullptr && !closing_.is_closing() && !job.is_end_unknown();
        const job_places::reservation room = goes_on ? places_.reserve_all_and_mine() : places_.reserve_none();
        std::vector<lease> next;
        const settlement answer = job.conclude(ending_of(*begun.come_to), [&](const marker& round) -> settlement {
            if (room.size() == 0) {
                return present(queue_, round, *begun.come_to, options_.retry_after);
            }
            finished_and_claimed both = queue_.finish_and_claim(round, finished->result, terms());
            if (both.next) {
                next.push_back(std::move(*both.next));
            }
            return std::move(both.finished);
        });
        begun.is_taken = static_cast<bool>(answer);
        if (!next.empty() && options_.claim_ahead > 0) {
            reports_.guarded(worker_error::task::claiming, {}, [&] { fill(next, room.size()); });
        }
        accept(std::move(next), 1);
    }

    /// Where renewals succeed and this does not, again and again, it is not the store that is in trouble.
    void note_failure(work& begun, const char* why) {
        constexpr std::int32_t enough = 8;
        const std::uint64_t renewals = begun.at.job().renewals();
        reports_.failed(worker_error::task::settling, begun.at.job().job().round.id, why);
        begun.renewals_then = begun.tries++ == 0 ? renewals : begun.renewals_then;
        if (begun.tries >= enough && renewals > begun.renewals_then + 1) {
            begun.come_to = failed(why);
        }
    }

    /// Once there is no time left to try again, or it is known that the job is another's.
    bool gives_up(work& begun) {
        const member& job = begun.at.job();
        if (const auto lost = job.seen_lost()) {
            lose(begun, *lost);
            return true;
        }
        if (!closing_.is_over() && job.time_left() > millis{}) {
            return false;
        }
        reports_.lapsed(job.job().round.id);
        return true;
    }

    void lose(work& begun, const settlement& refused) {
        reports_.lost(refused);
        const done* const said = std::get_if<done>(&*begun.come_to);
        if (said != nullptr && !said->receipt.empty()) {
            reports_.guarded(worker_error::task::leaving_a_receipt, begun.at.job().job().round.id,
                             [&] { (void)!begun.at.job().leave_receipt(said->receipt); });
        }
    }

    Queue& queue_;
    worker_options options_;
    handler_ref<Queue> handler_;
    job_places places_;
    closing_time closing_;
    roster<Queue> roster_{};
    returns<Queue> returns_{queue_};
    reports reports_{options_};
    mutable bell alarm_{};
    std::atomic<bool> beat_soon_ = false;
    std::mutex mutex_{};
    std::vector<work> kept_{};  // what the store did not take yet
};

}  // namespace leasehold::inline v0_1_0::detail
