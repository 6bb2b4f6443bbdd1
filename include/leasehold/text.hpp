// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

/// Text from outside: names must be valid, messages are made valid, and what is printed stays on its line.
namespace leasehold::inline v0_1_0::detail {

/// The longest name of an owner, a queue or a key, in bytes.
inline constexpr std::size_t longest_name = 255;
/// Where error texts, reasons and receipts are cut, in bytes.
inline constexpr std::size_t longest_message = 4096;

/// U+FFFD, which stands for what is not text.
inline constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// The length of the UTF-8 sequence that `text` begins with: 0 where it is none, and for NUL. Overlong forms,
/// surrogates and values above U+10FFFF are none. Source: RFC 3629, section 4.
constexpr std::size_t sequence_length(std::string_view text) noexcept {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(text[at]); };
    const auto follows = [&](std::size_t at, std::uint8_t lowest, std::uint8_t highest) {
        return at < text.size() && lowest <= byte(at) && byte(at) <= highest;
    };
    const std::uint8_t first = text.empty() ? std::uint8_t{0} : byte(0);
    if (first < 0x80) {
        return first == 0 ? 0 : 1;
    }
    if (0xC2 <= first && first <= 0xDF) {
        return follows(1, 0x80, 0xBF) ? 2 : 0;
    }
    if (0xE0 <= first && first <= 0xEF) {
        const std::uint8_t lowest = first == 0xE0 ? 0xA0 : 0x80;
        const std::uint8_t highest = first == 0xED ? 0x9F : 0xBF;
        return follows(1, lowest, highest) && follows(2, 0x80, 0xBF) ? 3 : 0;
    }
    if (0xF0 <= first && first <= 0xF4) {
        const std::uint8_t lowest = first == 0xF0 ? 0x90 : 0x80;
        const std::uint8_t highest = first == 0xF4 ? 0x8F : 0xBF;
        return follows(1, lowest, highest) && follows(2, 0x80, 0xBF) && follows(3, 0x80, 0xBF) ? 4 : 0;
    }
    return 0;
}

/// Whether `text` is UTF-8 without NUL. Empty is.
constexpr bool is_text(std::string_view text) noexcept {
    while (!text.empty()) {
        const auto first = static_cast<std::uint8_t>(text.front());
        const bool is_ascii = 0 < first && first < 0x80;
        const std::size_t length = is_ascii ? 1 : sequence_length(text);
        if (length == 0) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

/// Whether `text` may name an owner or a queue.
constexpr bool is_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= longest_name && is_text(text);
}

/// `bytes` as text: U+FFFD for each byte that is none, cut between characters at `longest` bytes.
inline std::string made_valid(std::string_view bytes, std::size_t longest = longest_message) {
    std::string text;
    while (!bytes.empty()) {
        const std::size_t length = sequence_length(bytes);
        const std::string_view next = length == 0 ? replacement : bytes.substr(0, length);
        if (text.size() + next.size() > longest) {
            break;
        }
        text += next;
        bytes.remove_prefix(length == 0 ? 1 : length);
    }
    return text;
}

/// Whether a character could break or turn the line that it is printed in: ASCII and C1 controls, the space that
/// is none, the separators of lines, and the marks and overrides of direction.
constexpr bool is_unprintable(std::string_view character) noexcept {
    const auto byte = [&](std::size_t at) { return static_cast<std::uint8_t>(character[at]); };
    switch (character.size()) {
        case 1: return byte(0) < 0x20 || byte(0) == 0x7F;
        case 2: return (byte(0) == 0xC2 && byte(1) <= 0xA0) || (byte(0) == 0xD8 && byte(1) == 0x9C);
        case 3:
            return byte(0) == 0xE2 &&
                   ((byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F || (0xA8 <= byte(2) && byte(2) <= 0xAE))) ||
                    (byte(1) == 0x81 && 0xA6 <= byte(2) && byte(2) <= 0xA9));
        default: return false;
    }
}

inline constexpr std::string_view hex_digits = "0123456789abcdef";

/// Adds each byte of `character` as `before` and two hexadecimal digits.
inline void add_escaped(std::string& text, std::string_view before, std::string_view character) {
    for (const char byte : character) {
        text += before;
        text += hex_digits[static_cast<std::uint8_t>(byte) >> 4U];
        text += hex_digits[static_cast<std::uint8_t>(byte) & 15U];
    }
}

/// `name` with `%` and what is unprintable as `%` and two hexadecimal digits a byte.
inline std::string percent_encoded(std::string_view name) {
    std::string text;
    while (!name.empty()) {
        const std::size_t length = std::max<std::size_t>(sequence_length(name), 1);
        const std::string_view character = name.substr(0, length);
        if (sequence_length(name) == 0 || character == "%" || is_unprintable(character)) {
            add_escaped(text, "%", character);
        } else {
            text += character;
        }
        name.remove_prefix(length);
    }
    return text;
}

/// `name` for a line that a person reads: as it is, or in quotes with escapes where it could be mistaken for something
/// else (empty, the word `none`, spaces, quotes, separators, what is unprintable, bytes that are no text).
inline std::string readable(std::string_view name) {
    std::string text;
    bool plain = !name.empty() && name != "none";
    while (!name.empty()) {
        const std::size_t length = std::max<std::size_t>(sequence_length(name), 1);
        const std::string_view character = name.substr(0, length);
        if (sequence_length(name) == 0 || is_unprintable(character)) {
            plain = false;
            add_escaped(text, "\\x", character);
        } else {
            plain = plain && std::string_view{" \"\\;="}.find(name.front()) == std::string_view::npos;
            if (name.front() == '"' || name.front() == '\\') {
                text += '\\';
            }
            text += character;
        }
        name.remove_prefix(length);
    }
    return plain ? text : '"' + text + '"';
}

/// What a call of the caller's returns, where that is a text or nothing.
template <class Call, class Argument>
std::string text_returned_by(Call&& call, Argument& argument) {
    if constexpr (std::is_void_v<std::invoke_result_t<Call, Argument&>>) {
        call(argument);
        return {};
    } else {
        return std::string{call(argument)};
    }
}

}  // namespace leasehold::inline v0_1_0::detail
