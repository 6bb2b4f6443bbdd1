// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0 {

/// Which row: 1 or more, given by the store, never used again in it.
struct job_id {
    std::int64_t value = 0;  ///< 0: none
    friend constexpr auto operator<=>(job_id, job_id) noexcept = default;
};

/// Which round of a job: 0 before the first claim, one higher at every claim, never down or back.
struct claim_token {
    std::int64_t value = 0;  ///< 0: no round yet
    friend constexpr auto operator<=>(claim_token, claim_token) noexcept = default;
};

namespace detail {

/// Whether two texts are the same bytes. Asked of the owner by every verb of a holder, so by words: of a length that it
/// does not know a compiler makes a call to the C library, which takes longer than the rest of the decision.
constexpr bool same_bytes(std::string_view a, std::string_view b) noexcept {
    using word = std::uint64_t;
    if (a.size() != b.size()) {
        return false;
    }
    if (std::is_constant_evaluated() || a.size() < sizeof(word)) {
        return a == b;
    }
    const auto differing = [&](std::size_t at) noexcept {
        word left = 0;
        word right = 0;
        std::memcpy(&left, a.data() + at, sizeof(word));
        std::memcpy(&right, b.data() + at, sizeof(word));
        return left ^ right;
    };
    const std::size_t last = a.size() - sizeof(word);  // it may overlap the one before
    word any = differing(last);
    for (std::size_t at = 0; at < last; at += sizeof(word)) {
        any |= differing(at);
    }
    return any == 0;
}

}  // namespace detail

/// Which store: 128 random bits made with it, so that a marker of another file, or of the file before a backup was
/// restored, fits nowhere.
struct store_id {
    std::array<std::uint8_t, 16> bytes{};  ///< in the order in which they print
    friend constexpr auto operator<=>(const store_id&, const store_id&) noexcept = default;
    /// Asked by every verb of a holder, so as two words: compilers make a call to the C library of sixteen bytes.
    friend constexpr bool operator==(const store_id& a, const store_id& b) noexcept {
        using words = std::array<std::uint64_t, 2>;
        const auto left = std::bit_cast<words>(a.bytes);
        const auto right = std::bit_cast<words>(b.bytes);
        return left[0] == right[0] && left[1] == right[1];
    }
};

/// Where a job stands. The numbers are what stores keep.
enum class job_state : std::uint8_t { ready = 0, leased = 1, finished = 2, quarantined = 3, cancelled = 4 };

/// Whether nobody can hold the job any more, unless it is requeued.
constexpr bool has_ended(job_state state) noexcept { return state != job_state::ready && state != job_state::leased; }

/// Who ended a job. The numbers are what stores keep.
enum class ender : std::uint8_t { holder = 0, claim = 1, operator_ = 2 };

/// Why the queue set a job aside on its own. `to_text` of it is the reason that the row then carries.
enum class dead_end : std::uint8_t { deadline_passed, attempts_exhausted, token_exhausted };

/// What became of a verb that names a job. Everything but `applied` means: no column of any row has changed.
enum class verdict : std::uint8_t {
    applied,           ///< the change is made
    foreign,           ///< the marker belongs to another store
    missing,           ///< there is no such job
    finished,          ///< the job has ended: finished
    quarantined,       ///< the job has ended: set aside
    cancelled,         ///< the job has ended: cancelled
    superseded,        ///< the job is in another round than the one named
    not_leased,        ///< the round named is over, and the job is ready again
    altered,           ///< the same round, but owner, attempt or lease end differ from the row
    past_deadline,     ///< the job's deadline is over
    expired,           ///< the lease is over, whether or not anybody took the job since
    impossible_token,  ///< a receipt for a round that has never been
    not_ended,         ///< a requeue of a job that is still open
};

/// Whose axis an instant is on. A store records its clock's when it is made. The names are what stores keep.
enum class clock_axis : std::uint8_t { wall, boot, server, manual, process };

/// How far a clock's answer holds, and how far a store reaches. Ordered: each contains those before it.
enum class reach : std::uint8_t { process, machine, network };

/// A marker without memory of its own, so that the rules work on literal values.
struct marker_view {
    store_id store{};          ///< where the job is
    job_id id{};               ///< the job
    std::string_view owner{};  ///< who runs it
    claim_token token{};       ///< which time
    std::int32_t attempt = 0;  ///< rounds that count, this one included
    instant lease_until{};     ///< the end of the lease
    friend constexpr bool operator==(const marker_view&, const marker_view&) noexcept = default;
};

namespace detail {

template <class Enum, std::size_t Size>
constexpr std::string_view name_of(Enum value, const std::array<std::string_view, Size>& names) noexcept {
    const auto index = static_cast<std::size_t>(value);
    return index < Size ? names[index] : std::string_view{"unknown"};
}

inline constexpr std::array<std::string_view, 5> state_names{"ready", "leased", "finished", "quarantined", "cancelled"};
inline constexpr std::array<std::string_view, 3> ender_names{"holder", "claim", "operator"};
inline constexpr std::array<std::string_view, 3> dead_end_names{"deadline_passed", "attempts_exhausted",
                                                                "token_exhausted"};
inline constexpr std::array<std::string_view, 13> verdict_names{
    "applied",    "foreign", "missing",       "finished", "quarantined",      "cancelled", "superseded",
    "not_leased", "altered", "past_deadline", "expired",  "impossible_token", "not_ended"};
inline constexpr std::array<std::string_view, 5> axis_names{"wall", "boot", "server", "manual", "process"};

}  // namespace detail

constexpr std::string_view to_text(job_state state) noexcept { return detail::name_of(state, detail::state_names); }
constexpr std::string_view to_text(ender who) noexcept { return detail::name_of(who, detail::ender_names); }
constexpr std::string_view to_text(dead_end why) noexcept { return detail::name_of(why, detail::dead_end_names); }
constexpr std::string_view to_text(verdict why) noexcept { return detail::name_of(why, detail::verdict_names); }
constexpr std::string_view to_text(clock_axis axis) noexcept { return detail::name_of(axis, detail::axis_names); }

inline std::string to_text(job_id id) { return std::to_string(id.value); }
inline std::string to_text(claim_token token) { return std::to_string(token.value); }

/// 32 hexadecimal digits.
inline std::string to_text(const store_id& id) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * id.bytes.size());
    for (const std::uint8_t byte : id.bytes) {
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
    }
    return text;
}

/// Milliseconds of the epoch, in decimal.
inline std::string to_text(instant at) { return std::to_string(at.time_since_epoch().count()); }

/// What prints: everything of this library that has a `to_text`. Instants are the standard's, which prints them itself
/// from some version on.
template <class T>
concept printable_value = !std::same_as<T, instant> && requires(const T& value) {
    { to_text(value) } -> std::convertible_to<std::string_view>;
};

/// Prints any value of this library to a standard stream.
template <class Traits, printable_value T>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out, const T& value) {
    return out << std::basic_string_view<char, Traits>{to_text(value)};
}

}  // namespace leasehold::inline v0_1_0
