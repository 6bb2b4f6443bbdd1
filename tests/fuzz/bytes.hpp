// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>
#include <string_view>

/// What a fuzzer gives, read as values. Once the bytes are over, every number is 0 and every text is empty: a reader
/// comes to an end. (libFuzzer's own reader comes with clang alone; what was found must be found by every compiler.)
class bytes {
public:
    bytes(const std::uint8_t* data, std::size_t size) noexcept
        : left_{reinterpret_cast<const char*>(data), size} {}  // NOLINT: bytes as bytes

    bool are_over() const noexcept { return left_.empty(); }

    template <std::integral Number>
    Number number() noexcept {
        Number value{};
        const std::string_view read = text(sizeof value);
        std::memcpy(&value, read.data(), read.size());
        return value;
    }

    bool flag() noexcept { return (number<std::uint8_t>() & 1U) != 0; }

    /// Below `end`.
    std::size_t below(std::size_t end) noexcept {
        return end > UINT8_MAX ? number<std::uint32_t>() % end : number<std::uint8_t>() % end;
    }

    template <class Range>
    const auto& one_of(const Range& all) noexcept {
        return *std::next(std::begin(all), static_cast<std::ptrdiff_t>(below(std::size(all))));
    }

    /// Up to so many bytes.
    std::string_view text(std::size_t longest) noexcept {
        const std::string_view read = left_.substr(0, longest);
        left_.remove_prefix(read.size());
        return read;
    }

    /// A text that says itself how long it is.
    std::string_view some_text() noexcept { return text(number<std::uint8_t>()); }

    std::string_view rest() noexcept { return text(left_.size()); }

private:
    std::string_view left_;
};
