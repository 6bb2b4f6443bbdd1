// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <leasehold/leasehold.hpp>
#include <leasehold/sqlite/anchor.hpp>
#include <leasehold/sqlite/line.hpp>
#include <leasehold/sqlite/schema.hpp>
#include <leasehold/sqlite/store.hpp>
#include <leasehold/sqlite/this_machine.hpp>
#include <leasehold/sqlite/transaction_clock.hpp>
#include <leasehold/sqlite/write_lock.hpp>

namespace leasehold::inline v0_1_0 {

/// How a boot clock goes on after a start of the machine.
struct boot_clock_options {
    /// After a start of the machine: how far the wall clock may be behind what the queue's clock has shown already.
    /// Further, and every call is refused until the wall clock is right, or `re_anchor` was called.
    millis max_drift = std::chrono::hours{1};
};

/// The time since the machine was started, put on the axis of the wall clock once a start, in the file: all processes
/// of the machine share it, no step of the wall clock moves it, and time asleep counts. After a start it goes on from
/// the wall clock, or from what was seen before where that is later. Deadlines are on this axis too: see `from_wall`.
///
/// Throws `store_unsupported` where the system does not say which start this is, and in a process whose time namespace
/// is another than the one of who used the file first since then.
template <class Machine>
class basic_boot_clock {
public:
    static constexpr clock_axis axis = clock_axis::boot;
    static constexpr reach holds = reach::machine;

    /// `machine` is asked for the start, the time since it and the wall clock: another one in tests.
    basic_boot_clock(boot_clock_options options = {}, Machine machine = {})  // NOLINT: options are a clock in {{}}
        : options_{options}, machine_{std::move(machine)} {}

    /// The time since the start, which counts time asleep.
    auto pace() const { return std::chrono::time_point<pace_axis, std::chrono::nanoseconds>{machine_.since_boot()}; }
    /// What the wall clock shows, floored.
    instant wall() const { return std::chrono::floor<std::chrono::milliseconds>(machine_.wall()); }

    // ---- For the store: in a transaction on its connection ----------------------------------------------------------

    /// Anchors the axis where that is still to be done since the start; the write lock is held.
    reading read_in(detail::sqlite::connection& on) const {
        if (const std::optional<reading> seen = look_in(on)) {
            return *seen;
        }
        return set_in(on, start_of_axis(detail::sqlite::read_anchor(on), wall(), options_.max_drift));
    }

    /// Nothing where the axis has no anchor since the start.
    std::optional<reading> look_in(detail::sqlite::connection& on) const {
        const std::optional<detail::sqlite::anchor> kept = detail::sqlite::read_anchor(on);
        return kept && is_of(*kept, machine_.boot()) ? std::optional{read_axis(*kept, machine_.since_boot())}
                                                     : std::nullopt;
    }

    /// Keeps what was seen, at most once a second.
    void note_in(detail::sqlite::connection& on, const reading& now) const {
        constexpr std::chrono::seconds between_notes{1};
        on.prepared(detail::sqlite::raise_high_water).bind(now.at, saturating_subtract(now.at, between_notes)).run();
    }

    /// Has the axis show `start` now, whatever it has shown before.
    reading set_in(detail::sqlite::connection& on, instant start) const {
        const std::chrono::nanoseconds since_boot = machine_.since_boot();
        const detail::sqlite::anchor made = detail::sqlite::anchored_at(start, machine_.boot(), since_boot);
        const reading now = read_axis(made, since_boot);
        keep_anchor(on, made);
        return now;
    }

private:
    boot_clock_options options_;
    Machine machine_;
};

/// The boot clock of this machine.
using boot_clock = basic_boot_clock<detail::sqlite::this_machine>;

static_assert(clock_for<boot_clock, sqlite_store> && !local_clock<boot_clock>);

/// What the queue's clock will show when the wall clock shows `t`, if nobody steps that until then: for a deadline, or
/// an instant not to begin before.
template <class Machine>
instant from_wall(const basic_lease_queue<basic_boot_clock<Machine>, sqlite_store>& queue,
                  std::chrono::system_clock::time_point t) {
    const millis ahead = saturating_subtract(queue.now(), queue.clock().wall());
    return saturating_add(instant{std::chrono::floor<std::chrono::milliseconds>(t)}, ahead);
}

/// The way out after one wrong year: the clock of the queue in the file goes on from the wall clock, whatever it has
/// shown before. To its leases and delays that is a step of their clock: `revoke` those that it made too long. Returns
/// what the clock shows.
template <class Machine = detail::sqlite::this_machine>
instant re_anchor(const std::string& path, const basic_boot_clock<Machine>& clock = {},
                  millis busy_timeout = std::chrono::seconds{5}) {
    detail::sqlite::line alone{path, {.busy_timeout = busy_timeout}, detail::sqlite::line::purpose::writing};
    detail::sqlite::write_lock writing{alone.take()};
    check_axis(detail::sqlite::read_meta(writing.file()), clock_axis::boot);
    const reading now = clock.set_in(writing.file(), clock.wall());
    writing.commit();
    return now.at;
}

}  // namespace leasehold::inline v0_1_0
