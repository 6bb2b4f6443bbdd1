// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <leasehold/worker/outcome.hpp>

namespace leasehold::inline v0_1_0 {

/// What has become of a worker's jobs so far. Each job that was claimed is counted once more when it is over.
struct worker_counts {
    std::uint64_t claimed = 0;    ///< each round
    std::uint64_t finished = 0;   ///< by `done`, and the queue agreed
    std::uint64_t failed = 0;     ///< by `retry`, or by an exception
    std::uint64_t released = 0;   ///< unspent
    std::uint64_t set_aside = 0;  ///< by the handler
    std::uint64_t settled = 0;    ///< by the handler itself
    std::uint64_t lost = 0;       ///< what they had come to was refused
    std::uint64_t lapsed = 0;     ///< the store did not answer until the end
    friend bool operator==(const worker_counts&, const worker_counts&) noexcept = default;
};

namespace detail {

/// The counts of several threads.
class tally {
public:
    void count_claims(std::size_t many) noexcept { add(&worker_counts::claimed, many); }
    void count_loss() noexcept { add(&worker_counts::lost); }
    void count_lapse() noexcept { add(&worker_counts::lapsed); }
    void count(const outcome& what) noexcept {
        constexpr std::array counters{&worker_counts::finished, &worker_counts::failed, &worker_counts::released,
                                      &worker_counts::set_aside, &worker_counts::settled};
        add(counters[what.index()]);
    }

    worker_counts read() const {
        const std::lock_guard lock{mutex_};
        return counts_;
    }

private:
    void add(std::uint64_t worker_counts::*which, std::uint64_t many = 1) noexcept {
        const std::lock_guard lock{mutex_};
        counts_.*which += many;
    }

    mutable std::mutex mutex_{};
    worker_counts counts_{};
};

}  // namespace detail
}  // namespace leasehold::inline v0_1_0
