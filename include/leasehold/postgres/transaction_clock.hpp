// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <leasehold/clock.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/postgres/binary.hpp>
#include <leasehold/postgres/connection.hpp>
#include <leasehold/postgres/server_clock.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0::detail::postgres {

/// What a store says of itself.
struct meta {
    store_id identity{};
    std::string axis{};
    std::int64_t microseconds = 0;  ///< the server's clock when it was asked
};

/// Reads and checks `leasehold_meta`; throws where the schema is not one that this library works on.
inline meta meta_of(const answer& from) {
    if (from.rows() != 1) {
        throw store_corrupt{"leasehold_meta has " + std::to_string(from.rows()) + " rows, not one"};
    }
    if (from.integer(0, 0) != schema_version) {
        throw store_unsupported{"the database has leasehold's schema " + std::to_string(from.integer(0, 0)) +
                                "; this library knows schema " + std::to_string(schema_version)};
    }
    const std::string_view id = from.view(0, 1);
    meta found;
    if (id.size() != found.identity.bytes.size()) {
        throw store_corrupt{"leasehold_meta.store_id has " + std::to_string(id.size()) + " bytes, not 16"};
    }
    std::copy(id.begin(), id.end(), found.identity.bytes.begin());
    found.axis = from.text(0, 2);
    found.microseconds = from.integer(0, 3);
    return found;
}

/// A reading of the server's clock, for which was asked at `pace`. What is floored off the clock comes off the pace as
/// well, as with a clock that is read here.
inline reading server_reading(std::int64_t microseconds,
                              std::chrono::time_point<pace_axis, std::chrono::nanoseconds> pace) {
    const std::chrono::microseconds since_epoch{microseconds};
    const instant at{std::chrono::floor<std::chrono::milliseconds>(since_epoch)};
    if (!rules::is_readable(at)) {
        throw store_unsupported{"the server's clock shows " + to_text(at) + ", an end of the range of instants"};
    }
    const auto rest = since_epoch - at.time_since_epoch();
    return {at, at, std::chrono::floor<std::chrono::milliseconds>(pace - rest)};
}

/// A transaction's clock: read here after the last lock, or by the server in the request that takes it.
class transaction_clock {
public:
    template <local_clock Clock>
    static transaction_clock of(const Clock& clock) noexcept {
        return transaction_clock{single_reading::of(clock)};
    }
    static transaction_clock of(const server_clock&) noexcept { return transaction_clock{std::nullopt}; }

    bool is_servers() const noexcept { return !unread_; }

    /// To be called before the request that takes a lock, and that asks the server's clock after it.
    void ask() noexcept {
        taken_.reset();
        pace_ = detail::machine_pace();
    }
    void answered(std::int64_t microseconds) {
        if (is_servers()) {
            taken_ = server_reading(microseconds, pace_);
        }
    }
    bool is_taken() const noexcept { return taken_.has_value(); }
    /// Of a clock that is read here, or of one that has been answered.
    const reading& get() {
        if (!taken_) {
            single_reading fresh = *unread_;
            taken_ = fresh.get();
        }
        return *taken_;
    }
    /// A glance to search by, before any lock; nothing where the server looks itself.
    std::optional<reading> glance() const {
        if (is_servers()) {
            return std::nullopt;
        }
        single_reading fresh = *unread_;
        return fresh.get();
    }

private:
    explicit transaction_clock(std::optional<single_reading> unread) noexcept : unread_{unread} {}

    std::optional<single_reading> unread_;
    std::optional<reading> taken_{};
    std::chrono::time_point<pace_axis, std::chrono::nanoseconds> pace_{};
};

}  // namespace leasehold::inline v0_1_0::detail::postgres
