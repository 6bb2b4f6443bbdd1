// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <leasehold/job.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/time.hpp>

namespace leasehold {

/// A job as its handler sees it: all of the lease but its marker, which the worker alone has, so that no renewal can
/// make a copy of it stale.
struct claimed_job {
    claim_round round{};  ///< for a receiver, beside the key: tells a newer round's word from an older one's
    std::int32_t attempt = 0;
    std::string key{};
    std::string queue{};
    std::string payload{};
    std::optional<instant> deadline{};
    std::string checkpoint{};         ///< what an earlier holder left for the next
    std::vector<receipt> receipts{};  ///< evidence of earlier rounds, oldest first: ask before you send again
    instant granted{};
};

}  // namespace leasehold
