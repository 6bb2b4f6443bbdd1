// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <memory>
#include <mutex>
#include <vector>

#include <leasehold/clock.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0 {

namespace detail {

/// Who is to be called when something happens. Small and seldom changed.
class listener_list {
public:
    struct entry {
        void (*call)(const void*) = nullptr;
        const void* to = nullptr;
        friend bool operator==(const entry&, const entry&) = default;
    };

    void add(const entry& who) {
        const std::lock_guard lock{mutex_};
        entries_.push_back(who);
    }
    /// Not called any more after that.
    void remove(const entry& who) noexcept {
        const std::lock_guard lock{mutex_};
        entries_.erase(std::find(entries_.begin(), entries_.end(), who));
    }
    void call() const noexcept {
        const std::lock_guard lock{mutex_};
        for (const entry& who : entries_) {
            who.call(who.to);
        }
    }

private:
    mutable std::mutex mutex_{};
    std::vector<entry> entries_{};
};

}  // namespace detail

/// A clock for tests: stands still until it is set, and may step back. A handle: copies share one time, which starts
/// at 0. Usable from several threads.
class manual_clock {
public:
    static constexpr clock_axis axis = clock_axis::manual;
    static constexpr reach holds = reach::network;

    manual_clock() : manual_clock{instant{}} {}
    /// One that shows `start`.
    explicit manual_clock(instant start) : shared_{std::make_shared<shared>()} { shared_->now = start; }

    /// What it was set to.
    instant now() const noexcept { return shared_->now.load(); }
    /// Its own time: a test that advances the clock lets that much time pass.
    pace_point pace() const noexcept { return pace_point{now().time_since_epoch()}; }

    /// Shows `to` from here on, whichever way that is; wakes who waits.
    void set(instant to) noexcept {
        shared_->now.store(to);
        shared_->listeners.call();
    }
    /// Held at the ends of the range; a negative length steps back.
    void advance(millis by) noexcept {
        instant seen = now();
        while (!shared_->now.compare_exchange_weak(seen, saturating_add(seen, by))) {
        }
        shared_->listeners.call();
    }

private:
    struct shared {
        std::atomic<instant> now{};
        detail::listener_list listeners{};
    };

public:
    /// Calls `told()`, which outlives it, whenever the clock has been set or advanced, on the thread that did it, as
    /// long as it lives. `told` must neither throw nor listen to the clock.
    class step_listener {
    public:
        /// Listens to the clock from here on.
        template <std::invocable Told>
        step_listener(const manual_clock& clock, const Told& told)
            : shared_{clock.shared_}, entry_{[](const void* to) { (*static_cast<const Told*>(to))(); }, &told} {
            shared_->listeners.add(entry_);
        }
        step_listener(const step_listener&) = delete;
        step_listener& operator=(const step_listener&) = delete;
        ~step_listener() { shared_->listeners.remove(entry_); }

    private:
        std::shared_ptr<shared> shared_;
        detail::listener_list::entry entry_;
    };

private:
    std::shared_ptr<shared> shared_;
};

static_assert(local_clock<manual_clock>);

}  // namespace leasehold::inline v0_1_0
