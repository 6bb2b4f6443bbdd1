// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <deque>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/worker/running_job.hpp>

namespace leasehold::inline v0_1_0::detail {

/// Jobs that were claimed and go back without having begun, a transaction for many of them.
template <class Queue>
class returns {
public:
    explicit returns(Queue& queue) noexcept : queue_{queue} {}

    void add(std::vector<lease> jobs) {
        const std::lock_guard lock{mutex_};
        for (lease& each : jobs) {
            jobs_.push_back(returning{std::move(each)});
            ++count_;
        }
    }

    /// Whether none is on its way.
    bool are_done() const noexcept { return count_ == 0; }

    /// Releases some, in one transaction, and calls `told(settlement, is_back)` for each. Where the queue throws, those
    /// stay of which `is_over(lease)` is false, `lapsed(lease)` is called for the others, and so is what was thrown.
    template <class Told, class Over, class Lapsed>
    void send(const Told& told, const Over& is_over, const Lapsed& lapsed) {
        std::vector<returning> some = take();
        if (some.empty()) {
            return;
        }
        try {
            const std::vector<settlement> answers = queue_.release_many(some);
            for (std::size_t i = 0; i < some.size(); ++i) {
                told(answers[i], answers[i] || shows_it_stood(answers[i], some[i].unknown));
            }
            count_ -= some.size();
        } catch (const store_unknown&) {
            std::for_each(some.begin(), some.end(), [](returning& each) { each.unknown = ending::gives_it_back; });
            put_back(some, is_over, lapsed);
            throw;
        } catch (...) {
            put_back(some, is_over, lapsed);
            throw;
        }
    }

private:
    struct returning : lease {
        explicit returning(lease held) : lease{std::move(held)} {}
        std::optional<ending> unknown{};  ///< it was said once, and the answer lost
    };

    /// So many in one transaction: it is short, and beats come in between.
    static constexpr std::size_t most_at_once = 100;

    std::vector<returning> take() {
        const std::lock_guard lock{mutex_};
        const auto end = jobs_.begin() + static_cast<std::ptrdiff_t>(std::min(jobs_.size(), most_at_once));
        std::vector<returning> some{std::make_move_iterator(jobs_.begin()), std::make_move_iterator(end)};
        jobs_.erase(jobs_.begin(), end);
        return some;
    }

    template <class Over, class Lapsed>
    void put_back(std::vector<returning>& some, const Over& is_over, const Lapsed& lapsed) {
        for (returning& each : some) {
            if (is_over(std::as_const(each))) {
                lapsed(std::as_const(each));
                --count_;
            } else {
                const std::lock_guard lock{mutex_};
                jobs_.push_back(std::move(each));
            }
        }
    }

    Queue& queue_;
    std::mutex mutex_{};
    std::deque<returning> jobs_{};
    std::atomic<std::size_t> count_ = 0;
};

}  // namespace leasehold::inline v0_1_0::detail
