// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <leasehold/clock.hpp>
#include <leasehold/manual_clock.hpp>
#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0::testing::detail {

/// A manual clock that counts how often it was read; a handle, as that is.
class watched_clock : public manual_clock {
public:
    instant now() const {
        ++watch_->readings;
        if (watch_->is_free && watch_->is_free().value_or(false)) {
            ++watch_->too_early;
        }
        return manual_clock::now();
    }

    int readings() const noexcept { return watch_->readings; }
    /// How many of them were taken while `is_free` said so, from `watch` on.
    int too_early() const noexcept { return watch_->too_early; }
    void watch(std::function<std::optional<bool>()> is_free) { watch_->is_free = std::move(is_free); }

private:
    struct state {
        std::atomic<int> readings = 0;
        std::atomic<int> too_early = 0;
        std::function<std::optional<bool>()> is_free{};
    };
    std::shared_ptr<state> watch_ = std::make_shared<state>();
};

static_assert(local_clock<watched_clock>);

}  // namespace leasehold::inline v0_1_0::testing::detail
