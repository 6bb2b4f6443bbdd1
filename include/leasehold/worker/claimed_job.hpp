// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include <leasehold/lease.hpp>
#include <leasehold/marker.hpp>

namespace leasehold::inline v0_1_0 {

/// A job as its handler sees it: all of the lease but its marker, which the worker alone has, so that no renewal can
/// make a copy of it stale.
struct claimed_job : claimed_content {
    claim_round round{};       ///< for a receiver, beside the key: tells a newer round's word from an older one's
    std::int32_t attempt = 0;  ///< rounds that count against `max_attempts`, this one included
};

}  // namespace leasehold::inline v0_1_0
