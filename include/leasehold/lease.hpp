// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/job.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0 {

/// What a claim hands over of a job.
struct claimed_content {
    std::string key{};                  ///< the business ID; empty: none
    std::string queue{};                ///< its name
    std::string payload{};              ///< as it was enqueued
    std::optional<instant> deadline{};  ///< from then on it must not be worked on; unset: none
    std::string checkpoint{};           ///< what an earlier holder left for the next
    std::vector<receipt> receipts{};    ///< evidence of earlier rounds, oldest first: ask before you send again
    instant granted{};                  ///< the clock's reading in the transaction that granted it
};

/// One successful claim, as its holder has it: the right to hold the job during [granted, lease_until). Move-only; its
/// marker may be copied.
struct lease : marker, claimed_content {
    pace_point local_until{};  ///< the holder's own reckoning of `lease_until`

    lease() = default;
    /// Of a round, without content.
    explicit lease(marker round) : marker{std::move(round)} {}
    lease(lease&&) noexcept = default;
    lease& operator=(lease&&) noexcept = default;
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;
    ~lease() = default;
};

/// What a claim asks for.
struct claim_terms {
    std::string owner{};                ///< who runs it: 1 to 255 bytes of UTF-8; proves nothing
    millis lease_for{};                 ///< above zero
    std::vector<std::string> queues{};  ///< earlier ones first
    millis wait = longest;              ///< only `wait_claim` waits
};

/// What `finish_and_claim` came to: each of the two by itself.
struct finished_and_claimed {
    settlement finished{};        ///< of the round that was to be finished
    std::optional<lease> next{};  ///< the next job; nothing where there was none
    bool more =
        false;  ///< nothing came of `next` only because the commit set aside as many dead rows as one may: claim
};

/// One of `finish_many`: the round that is over, and its result.
struct completion {
    marker round{};        ///< as it was claimed or renewed last
    std::string result{};  ///< any bytes; empty: none
};

}  // namespace leasehold::inline v0_1_0
