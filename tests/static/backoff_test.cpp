// SPDX-License-Identifier: MIT
/// The backoff of failed jobs: doubled, capped, spread, and the same for the same input.
#include <chrono>
#include <cstdint>
#include <limits>

#include <leasehold/worker/backoff.hpp>

namespace {

using namespace leasehold;
using namespace std::chrono_literals;

constexpr backoff plain{.first = 100ms, .most = 1s, .jitter_percent = 0};
static_assert(plain.after(1) == millis{100ms});
static_assert(plain.after(2) == millis{200ms});
static_assert(plain.after(4) == millis{800ms});
static_assert(plain.after(5) == millis{1s});
static_assert(plain.after(std::numeric_limits<std::int32_t>::max()) == millis{1s});
static_assert(plain.after(0) == millis{100ms} && plain.after(-7) == millis{100ms});

constexpr backoff huge{.first = std::chrono::hours::max(), .most = longest, .jitter_percent = 0};
static_assert(huge.after(1) == longest && huge.after(100) == longest);
constexpr backoff shaken{.first = longest, .most = longest, .jitter_percent = 100};
static_assert(shaken.after(1, 1) >= millis{} && shaken.after(1, 1) <= longest);
static_assert(backoff{.first = 0ms, .most = 0ms}.after(3) == millis{});

/// The least and the most of many draws.
constexpr bool stays_within(const backoff& b, std::int32_t attempt, millis least, millis most) {
    bool differs = false;
    for (std::uint64_t job = 0; job < 500; ++job) {
        const millis got = b.after(attempt, job);
        if (got < least || got > most || got != b.after(attempt, job)) {
            return false;
        }
        differs = differs || got != b.after(attempt, 0);
    }
    return differs;
}

constexpr backoff spread{.first = 100ms, .most = 1s, .jitter_percent = 20, .seed = 7};
static_assert(stays_within(spread, 1, 80ms, 100ms));
static_assert(stays_within(spread, 3, 320ms, 400ms));
static_assert(stays_within(spread, 9, 800ms, 1s));
static_assert(stays_within({.first = 100ms, .most = 1s, .jitter_percent = 100}, 1, 0ms, 100ms));

/// Another seed, another draw.
constexpr bool depends_on_seed() {
    for (std::uint64_t job = 0; job < 10; ++job) {
        if (spread.after(9, job) != backoff{.first = 100ms, .most = 1s, .seed = 8}.after(9, job)) {
            return true;
        }
    }
    return false;
}
static_assert(depends_on_seed());

}  // namespace
