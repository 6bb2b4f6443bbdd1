// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Text from outside: names must be valid, messages are made valid, and what is printed stays on its line.
namespace leasehold::detail {

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
        const std::size_t length = sequence_length(text);
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

/// `bytes` as text: U+FFFD for each byte that is none, cut between characters at `longest_message`.
inline std::string made_valid(std::string_view bytes) {
    std::string text;
    while (!bytes.empty()) {
        const std::size_t length = sequence_length(bytes);
        const std::string_view next = length == 0 ? replacement : bytes.substr(0, length);
        if (text.size() + next.size() > longest_message) {
            break;
        }
        text += next;
        bytes.remove_prefix(length == 0 ? 1 : length);
    }
    return text;
}

/// `name` for a line that a person reads: as it is, or in quotes with escapes where it could be mistaken for something
/// else (empty, spaces, quotes, separators, control characters, bytes that are no text).
inline std::string readable(std::string_view name) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    std::string text;
    bool plain = !name.empty();
    while (!name.empty()) {
        const std::size_t length = sequence_length(name);
        const auto first = static_cast<unsigned char>(name.front());
        if (length == 0 || is_control(name.front())) {
            plain = false;
            text += "\\x";
            text += digits[first >> 4U];
            text += digits[first & 15U];
            name.remove_prefix(1);
            continue;
        }
        plain = plain && std::string_view{" \"\\;="}.find(name.front()) == std::string_view::npos;
        if (name.front() == '"' || name.front() == '\\') {
            text += '\\';
        }
        text += name.substr(0, length);
        name.remove_prefix(length);
    }
    return plain ? text : '"' + text + '"';
}

}  // namespace leasehold::detail
