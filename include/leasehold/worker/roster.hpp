// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/event.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/time.hpp>
#include <leasehold/worker/running_job.hpp>

namespace leasehold::inline v0_1_0::detail {

/// The jobs that a worker holds. Renews them all together, and tells the handlers whose time is over.
template <class Queue>
class roster {
public:
    using member = running_job<Queue>;

    void add(std::shared_ptr<member> job) {
        const std::lock_guard lock{mutex_};
        members_.push_back(std::move(job));
    }
    void remove(const std::shared_ptr<member>& job) noexcept {
        const std::lock_guard lock{mutex_};
        members_.erase(std::find(members_.begin(), members_.end(), job));
    }

    /// One transaction for all. Throws `store_error`; what was renewed then is not known, or nothing was. `pace()` is
    /// asked again once the markers are had.
    template <class Pace>
    void renew(Queue& queue, millis lease_for, const Pace& pace) {
        const told_later events;
        std::vector<std::shared_ptr<member>> all = members();
        std::vector<typename member::use> uses;
        std::vector<member*> beaten;
        uses.reserve(all.size());
        beaten.reserve(all.size());
        // All are told before any is waited for: nobody begins another verb meanwhile.
        std::erase_if(all, [now = pace()](const auto& each) { return !each->announce_beat(now); });
        for (const auto& each : all) {
            if (auto use = each->enter_beat(pace())) {
                uses.push_back(std::move(*use));
                beaten.push_back(each.get());
            }
        }
        renew(queue, lease_for, beaten);
    }

    /// Whether a beat has to be made up for, which was held off.
    bool took_missed_beat() const {
        bool any = false;
        for (const auto& each : members()) {
            any = each->took_missed_beat() || any;
        }
        return any;
    }

    /// Fires the tokens of those whose time is over; `all`: of everybody. Says when it is to be asked again.
    pace_point watch(pace_point now, bool all) {
        pace_point next = pace_point::max();
        for (const auto& each : members()) {
            if (all) {
                each->tell();
            } else {
                next = std::min(next, each->tell_if_over(now));
            }
        }
        return next;
    }

private:
    /// Of those whose use the caller has.
    static void renew(Queue& queue, millis lease_for, std::vector<member*>& beaten) {
        for (member* const each : beaten) {
            each->make_sure();
        }
        std::erase_if(beaten, [](const member* each) { return each->is_lost() || each->is_concluded(); });
        if (beaten.empty()) {
            return;
        }
        std::vector<lease*> leases(beaten.size());
        std::transform(beaten.begin(), beaten.end(), leases.begin(), [](member* each) { return &each->held(); });
        try {
            const std::vector<settlement> answers = queue.renew_many(leases, lease_for);
            for (std::size_t i = 0; i < answers.size(); ++i) {
                beaten[i]->note_beat(answers[i]);
            }
        } catch (const store_unknown&) {
            for (member* const each : beaten) {
                each->note_unknown_renewal();
            }
            throw;
        }
    }

    std::vector<std::shared_ptr<member>> members() const {
        const std::lock_guard lock{mutex_};
        return members_;
    }

    mutable std::mutex mutex_{};
    std::vector<std::shared_ptr<member>> members_{};
};

}  // namespace leasehold::inline v0_1_0::detail
