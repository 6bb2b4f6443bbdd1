// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0 {

/// How long to wait after an attempt that failed: twice as long after each, up to `most`, less a part that differs, so
/// that what failed together does not come back together.
struct backoff {
    millis first = std::chrono::seconds{1};  ///< after the first attempt
    millis most = std::chrono::minutes{10};  ///< however many attempts there were
    std::int32_t jitter_percent = 20;        ///< up to so much is taken off, 0 to 100
    std::uint64_t seed = 0;                  ///< of what is taken off

    /// A pure function of the attempt (1 or more) and of what it was an attempt at.
    constexpr millis after(std::int32_t attempt, std::uint64_t at_what = 0) const noexcept {
        constexpr std::int32_t doublings = 62;  // 2^62 is the greatest power of two that 64 bits hold
        const std::int64_t factor = std::int64_t{1} << std::clamp(attempt - 1, 0, doublings);
        const std::int64_t whole = std::min(saturating_multiply(first.count(), factor), most.count());
        const auto spread =
            static_cast<std::uint64_t>(whole / 100 * jitter_percent + whole % 100 * jitter_percent / 100);
        const std::uint64_t mixed = mix(mix(seed ^ at_what) + static_cast<std::uint64_t>(attempt));
        return std::chrono::milliseconds{whole - static_cast<std::int64_t>(mixed % (spread + 1))};
    }

private:
    /// SplitMix64's output function (Steele, Lea and Flood, 2014): every bit of the input moves half of those put out.
    static constexpr std::uint64_t mix(std::uint64_t x) noexcept {
        x += 0x9E3779B97F4A7C15U;
        x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
        x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
        return x ^ (x >> 31U);
    }
};

}  // namespace leasehold::inline v0_1_0
