// SPDX-License-Identifier: MIT
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <libpq-fe.h>

#include <leasehold/errors.hpp>
#include <leasehold/time.hpp>

/// Values as the server sends and takes them in binary: whole numbers highest byte first, bytes and texts as they are.
namespace leasehold::inline v0_1_0::detail::postgres {

/// Bytes, which are not text.
struct blob {
    std::string_view bytes{};
};

/// The server's own numbers of the types that arrays are made of. Source: pg_type.dat.
enum class element : std::uint32_t { boolean = 16, bytes = 17, number = 20, text = 25 };

template <std::size_t Bytes>
void append_number(std::string& to, std::uint64_t value) {
    for (std::size_t i = Bytes; i-- > 0;) {
        to += static_cast<char>(value >> (8 * i));
    }
}

inline std::uint64_t number_in(std::string_view bytes) noexcept {
    std::uint64_t value = 0;
    for (const char byte : bytes) {
        value = value << 8U | static_cast<std::uint8_t>(byte);
    }
    return value;
}

inline std::int64_t signed_number_in(std::string_view bytes) noexcept {
    const std::uint64_t value = number_in(bytes);
    const std::size_t unused = 64 - 8 * bytes.size();
    return unused >= 64 ? 0 : std::bit_cast<std::int64_t>(value << unused) >> unused;
}

inline std::string encoded(std::int64_t value) {
    std::string bytes;
    append_number<8>(bytes, std::bit_cast<std::uint64_t>(value));
    return bytes;
}
inline std::string encoded(bool value) { return std::string(1, value ? '\1' : '\0'); }
inline std::string encoded(std::string_view text) { return std::string{text}; }
inline std::string encoded(blob value) { return std::string{value.bytes}; }
inline std::string encoded(instant at) { return encoded(std::int64_t{at.time_since_epoch().count()}); }

constexpr element element_of(std::int64_t) noexcept { return element::number; }
constexpr element element_of(bool) noexcept { return element::boolean; }
constexpr element element_of(std::string_view) noexcept { return element::text; }
constexpr element element_of(blob) noexcept { return element::bytes; }
constexpr element element_of(instant) noexcept { return element::number; }

/// A value, or none: an empty optional is the server's NULL.
template <class T>
std::optional<std::string> encoded_or_null(const std::optional<T>& value) {
    return value ? std::optional{encoded(*value)} : std::nullopt;
}

/// An array of one dimension, made value by value. Source: array_send in the server.
template <class T>
class array {
public:
    void reserve(std::size_t count) { values_.reserve(12 * count); }
    void push(const std::optional<T>& value) {
        if (value) {
            const std::string bytes = encoded(*value);
            append_number<4>(values_, bytes.size());
            values_ += bytes;
        } else {
            append_number<4>(values_, 0xFFFFFFFF);
            has_null_ = true;
        }
        ++count_;
    }
    std::size_t bytes() const noexcept { return values_.size(); }

    friend std::string encoded(const array& all) {
        std::string bytes;
        append_number<4>(bytes, all.count_ == 0 ? 0 : 1);
        append_number<4>(bytes, all.has_null_ ? 1 : 0);
        append_number<4>(bytes, static_cast<std::uint32_t>(element_of(T{})));
        if (all.count_ > 0) {
            append_number<4>(bytes, all.count_);
            append_number<4>(bytes, 1);
        }
        return bytes += all.values_;
    }

private:
    std::string values_{};
    std::size_t count_ = 0;
    bool has_null_ = false;
};

/// The values that go with a statement.
using parameters = std::vector<std::optional<std::string>>;

template <class T>
std::optional<std::string> parameter(const T& value) {
    return encoded(value);
}
template <class T>
std::optional<std::string> parameter(const std::optional<T>& value) {
    return encoded_or_null(value);
}

template <class... Values>
parameters with(const Values&... values) {
    parameters all;
    all.reserve(sizeof...(values));
    (all.push_back(parameter(values)), ...);
    return all;
}

/// What the server answered to one statement.
class answer {
public:
    struct clear {
        void operator()(PGresult* result) const noexcept { ::PQclear(result); }
    };

    explicit answer(PGresult* result) noexcept : result_{result} {}

    const PGresult* result() const noexcept { return result_.get(); }
    ExecStatusType status() const noexcept { return ::PQresultStatus(result_.get()); }
    int rows() const noexcept { return ::PQntuples(result_.get()); }
    int columns() const noexcept { return ::PQnfields(result_.get()); }
    bool is_null(int row, int column) const noexcept { return ::PQgetisnull(result_.get(), row, column) != 0; }
    /// The value as it came; valid as long as the answer.
    std::string_view view(int row, int column) const noexcept {
        return {::PQgetvalue(result_.get(), row, column),
                static_cast<std::size_t>(::PQgetlength(result_.get(), row, column))};
    }
    std::string text(int row, int column) const { return std::string{view(row, column)}; }
    std::int64_t integer(int row, int column) const noexcept { return signed_number_in(view(row, column)); }
    bool truth(int row, int column) const noexcept { return integer(row, column) != 0; }
    /// What the statement was, as its end says.
    std::string_view tag() const noexcept { return ::PQcmdStatus(result_.get()); }

    /// The values of an array without NULLs, of any number of dimensions, one after the other.
    std::vector<std::string_view> elements(int row, int column) const {
        std::string_view rest = view(row, column);
        const auto take = [&](std::size_t count) {
            if (count > rest.size()) {
                throw store_corrupt{"the server sent an array that is cut short"};
            }
            const std::string_view part = rest.substr(0, count);
            rest.remove_prefix(count);
            return part;
        };
        std::vector<std::string_view> all;
        const std::uint64_t dimensions = number_in(take(4));
        take(8);
        std::uint64_t count = dimensions == 0 ? 0 : 1;
        for (std::uint64_t i = 0; i < dimensions; ++i) {
            count *= number_in(take(4));
            take(4);
        }
        for (std::uint64_t i = 0; i < count; ++i) {
            all.push_back(take(number_in(take(4))));
        }
        return all;
    }

private:
    std::unique_ptr<PGresult, clear> result_;
};

}  // namespace leasehold::inline v0_1_0::detail::postgres
