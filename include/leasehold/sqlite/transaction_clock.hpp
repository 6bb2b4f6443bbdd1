// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <optional>

#include <leasehold/clock.hpp>
#include <leasehold/sqlite/connection.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// A clock that is read in the file, since what it shows hangs on what is kept there.
template <class Clock>
concept anchored_clock = clock_policy<Clock> && requires(const Clock& clock, connection& on, const reading& now) {
    { clock.read_in(on) } -> std::same_as<reading>;                 // in a write transaction
    { clock.look_in(on) } -> std::same_as<std::optional<reading>>;  // only reads; nothing: there has to be a write
    clock.note_in(on, now);                                         // with a write that happens anyway
};

/// What a file's queue can judge by.
template <class Clock>
concept file_clock = local_clock<Clock> || anchored_clock<Clock>;

/// A transaction's reading of its clock, whatever the clock's type: taken when first asked for, and only once.
class transaction_clock {
public:
    /// Of a clock that outlives it.
    template <local_clock Clock>
    static transaction_clock of(const Clock& clock) noexcept {
        return {&clock,
                [](const void* source, connection&) { return take_reading(*static_cast<const Clock*>(source)); },
                nullptr};
    }
    template <anchored_clock Clock>
    static transaction_clock of(const Clock& clock) noexcept {
        return {&clock,
                [](const void* source, connection& on) { return static_cast<const Clock*>(source)->read_in(on); },
                [](const void* source, connection& on, const reading& now) {
                    static_cast<const Clock*>(source)->note_in(on, now);
                }};
    }

    const reading& get(connection& on) {
        if (!taken_) {
            taken_ = take_(clock_, on);
        }
        return *taken_;
    }

    /// To be told when rows are written: what was seen of an anchored clock is kept with them.
    void written(connection& on) {
        if (note_ != nullptr && taken_) {
            note_(clock_, on, *taken_);
            note_ = nullptr;  // once is enough
        }
    }

private:
    using take = reading (*)(const void*, connection&);
    using note = void (*)(const void*, connection&, const reading&);
    transaction_clock(const void* clock, take how, note keep) noexcept : clock_{clock}, take_{how}, note_{keep} {}

    const void* clock_;
    take take_;
    note note_;
    std::optional<reading> taken_{};
};

}  // namespace leasehold::inline v0_1_0::detail::sqlite
