// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

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

}  // namespace leasehold::inline v0_1_0
