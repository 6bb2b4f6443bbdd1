// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include <leasehold/text.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0 {

/// Which round of which job: what a receiver needs to tell a newer round's word from an older one's. It settles
/// nothing.
struct claim_round {
    store_id store{};     ///< where the job is
    job_id id{};          ///< the job
    claim_token token{};  ///< which time

    friend bool operator==(const claim_round&, const claim_round&) noexcept = default;

    /// The round that `text`, made by `to_text`, stands for; nothing for any other text.
    static std::optional<claim_round> from_text(std::string_view text);
};

/// What must equal the row for a holder's call to count. A small value: copy it, send it, keep it; it proves which
/// round was held, not who presents it.
struct marker {
    store_id store{};          ///< where the job is
    job_id id{};               ///< the job
    std::string owner{};       ///< who runs it: 1 to 255 bytes of UTF-8; proves nothing
    claim_token token{};       ///< which time
    std::int32_t attempt = 0;  ///< rounds that count against `max_attempts`, this one included
    instant lease_until{};     ///< the lease covers [granted, lease_until)

    friend bool operator==(const marker&, const marker&) noexcept = default;

    /// A marker says, among other things, which round it is of.
    operator claim_round() const noexcept { return {store, id, token}; }  // NOLINT(google-explicit-constructor)

    /// For the rules; valid as long as the marker lives.
    marker_view view() const noexcept { return {store, id, owner, token, attempt, lease_until}; }

    /// The marker that `text`, made by `to_text`, stands for; nothing for any other text.
    static std::optional<marker> from_text(std::string_view text);
};

namespace detail {

/// What stands before the next `/`, which is taken off `text` with it; nothing where there is none.
constexpr std::optional<std::string_view> next_field(std::string_view& text) noexcept {
    const std::size_t end = text.find('/');
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view field = text.substr(0, end);
    text.remove_prefix(end + 1);
    return field;
}

template <class Number>
bool parse(std::optional<std::string_view> field, Number& number, int base = 10) noexcept {
    if (!field) {
        return false;
    }
    const char* const end = field->data() + field->size();
    const auto [stopped, error] = std::from_chars(field->data(), end, number, base);
    return error == std::errc{} && stopped == end;
}

/// Takes the percent-encoding off; false where it is none, or far too long for a name.
inline bool percent_decode(std::string_view text, std::string& name) {
    if (text.size() > 3 * longest_name) {
        return false;
    }
    name.clear();
    while (!text.empty()) {
        std::uint8_t byte = static_cast<std::uint8_t>(text.front());
        std::size_t length = 1;
        if (text.front() == '%') {
            length = 3;
            if (text.size() < length || !parse(text.substr(1, 2), byte, 16)) {
                return false;
            }
        }
        name += static_cast<char>(byte);
        text.remove_prefix(length);
    }
    return true;
}

inline bool parse(std::optional<std::string_view> field, store_id& id) noexcept {
    if (!field || field->size() != 2 * id.bytes.size()) {
        return false;
    }
    for (std::size_t i = 0; i < id.bytes.size(); ++i) {
        if (!parse(field->substr(2 * i, 2), id.bytes[i], 16)) {
            return false;
        }
    }
    return true;
}

}  // namespace detail

/// `store/id/token`: 32 hexadecimal digits and two decimal numbers.
inline std::string to_text(const claim_round& round) {
    return to_text(round.store) + '/' + to_text(round.id) + '/' + to_text(round.token);
}

inline std::optional<claim_round> claim_round::from_text(std::string_view text) {
    claim_round round;
    std::string_view rest = text;
    if (!detail::parse(detail::next_field(rest), round.store) ||
        !detail::parse(detail::next_field(rest), round.id.value) || !detail::parse(rest, round.token.value)) {
        return std::nullopt;
    }
    return to_text(round) == text ? std::optional{round} : std::nullopt;  // one round, one text
}

/// `store/id/token/attempt/lease_until/owner`: 32 hexadecimal digits, four decimal numbers, and the name, in which `%`
/// and what is unprintable stand as `%` and two hexadecimal digits a byte.
inline std::string to_text(const marker& m) {
    return to_text(m.store) + '/' + to_text(m.id) + '/' + to_text(m.token) + '/' + std::to_string(m.attempt) + '/' +
           to_text(m.lease_until) + '/' + detail::percent_encoded(m.owner);
}

inline std::optional<marker> marker::from_text(std::string_view text) {
    marker m;
    std::string_view rest = text;
    std::int64_t lease_until = 0;
    const bool parsed =
        detail::parse(detail::next_field(rest), m.store) && detail::parse(detail::next_field(rest), m.id.value) &&
        detail::parse(detail::next_field(rest), m.token.value) && detail::parse(detail::next_field(rest), m.attempt) &&
        detail::parse(detail::next_field(rest), lease_until);
    if (!parsed || !detail::percent_decode(rest, m.owner) || !detail::is_name(m.owner)) {
        return std::nullopt;
    }
    m.lease_until = instant{std::chrono::milliseconds{lease_until}};
    // One marker, one text: leading zeros, capitals and the like stand for nothing.
    return to_text(m) == text ? std::optional{m} : std::nullopt;
}

}  // namespace leasehold::inline v0_1_0
