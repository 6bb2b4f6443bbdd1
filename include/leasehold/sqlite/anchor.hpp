// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include <leasehold/clock.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/sqlite/connection.hpp>
#include <leasehold/sqlite/rows.hpp>
#include <leasehold/sqlite/sql.hpp>
#include <leasehold/sqlite/this_machine.hpp>
#include <leasehold/text.hpp>
#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// Where a boot clock's axis lies, as the file keeps it.
struct anchor {
    boot_identity boot{};  ///< by which it was set
    instant booted_at{};   ///< what the axis showed when that boot began
    instant high_water{};  ///< nothing later was seen, but for about a second

    friend bool operator==(const anchor&, const anchor&) = default;
};

inline std::optional<anchor> read_anchor(connection& on) {
    running row = on.prepared(select_anchor);
    if (!row.step()) {
        return std::nullopt;
    }
    return anchor{{row.text(0), row.text(1)}, instant_at(row, 2), instant_at(row, 3)};
}

inline void keep_anchor(connection& on, const anchor& made) {
    on.prepared(set_anchor).bind(made.boot.boot_id, made.boot.time_namespace, made.booted_at, made.high_water).run();
}

inline void check_identity(const boot_identity& here) {
    if (here.boot_id.empty()) {
        throw store_unsupported{
            "boot_clock: the system does not say which start of the machine this is (on Linux: "
            "/proc/sys/kernel/random/boot_id), so what was counted before cannot be told from what is counted now; "
            "use wall_clock"};
    }
}

/// Whether the axis is anchored in this boot. Throws `store_unsupported` where that was by a reckoning that this
/// process cannot share.
inline bool is_of(const anchor& kept, const boot_identity& here) {
    check_identity(here);
    if (kept.boot.boot_id != here.boot_id) {
        return false;
    }
    if (kept.boot.time_namespace != here.time_namespace) {
        throw store_unsupported{"boot_clock: the file is used in the time namespace " +
                                readable(kept.boot.time_namespace) + ", and this process is in " +
                                readable(here.time_namespace) + ", where the time since the start is another"};
    }
    return true;
}

/// An axis that shows `start` now.
inline anchor anchored_at(instant start, const boot_identity& here, std::chrono::nanoseconds since_boot) {
    check_identity(here);
    const auto passed = std::chrono::floor<std::chrono::milliseconds>(since_boot);
    return {here, saturating_subtract(start, millis{passed}), start};
}

/// The axis of a boot in which the file has not been used yet. It goes on from the wall clock, and never from before
/// what was seen already; but a wall clock that is far behind that, or was far ahead, is for a person to judge.
inline instant start_of_axis(const std::optional<anchor>& before, instant wall, millis max_drift) {
    if (!before) {
        return wall;
    }
    if (before->high_water > saturating_add(wall, max_drift)) {
        throw store_unsupported{"boot_clock: the wall clock shows " + to_text(wall) +
                                ", but the queue's clock has been at " + to_text(before->high_water) +
                                " before the machine was started, more than " + std::to_string(max_drift.count()) +
                                " ms later; set the wall clock, or see re_anchor()"};
    }
    return std::max(wall, before->high_water);
}

/// What the axis shows. The pace of a boot clock is what it counts: one reading of the machine is enough for both.
inline reading read_axis(const anchor& by, std::chrono::nanoseconds since_boot) {
    const auto passed = std::chrono::floor<std::chrono::milliseconds>(since_boot);
    const instant at = saturating_add(by.booted_at, millis{passed});
    if (!rules::is_readable(at)) {
        throw store_unsupported{"the clock shows " + to_text(at) + ", an end of the range of instants"};
    }
    return {at, at, pace_point{passed}};
}

}  // namespace leasehold::inline v0_1_0::detail::sqlite
