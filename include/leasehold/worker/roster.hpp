// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/time.hpp>
#include <leasehold/worker/running_job.hpp>

namespace leasehold::detail {

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

    /// One transaction for all. Throws `store_error`; what was renewed then is not known, or nothing was.
    void renew(Queue& queue, millis lease_for, pace_point now) {
        const std::vector<std::shared_ptr<member>> all = members();
        std::vector<typename member::use> uses;
        std::vector<member*> beaten;
        for (const auto& each : all) {
            if (auto use = each->enter_beat(now)) {
                uses.push_back(std::move(*use));
                beaten.push_back(each.get());
            }
        }
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
    std::vector<std::shared_ptr<member>> members() const {
        const std::lock_guard lock{mutex_};
        return members_;
    }

    mutable std::mutex mutex_{};
    std::vector<std::shared_ptr<member>> members_{};
};

}  // namespace leasehold::detail
