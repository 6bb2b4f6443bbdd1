// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/job.hpp>
#include <leasehold/testing/contract/check_result.hpp>
#include <leasehold/text.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

/// What a check expected and saw, as text.
namespace leasehold::inline v0_1_0::testing::detail {

/// On one line; of long ones the beginning.
inline std::string shown(std::string_view bytes) {
    constexpr std::size_t most = 120;
    return leasehold::detail::readable(bytes.substr(0, most)) +
           (bytes.size() > most ? " and so on, " + std::to_string(bytes.size()) + " bytes" : "");
}

template <std::integral T>
std::string shown(T value) {
    if constexpr (std::same_as<T, bool>) {
        return value ? "true" : "false";
    } else {
        return std::to_string(value);
    }
}

inline std::string shown(instant at) { return to_text(at); }
inline std::string shown(pace_point at) { return std::to_string(at.time_since_epoch().count()); }
inline std::string shown(millis length) { return std::to_string(length.count()) + " ms"; }

template <printable_value T>
std::string shown(const T& value) {
    return std::string{to_text(value)};
}

template <class T>
std::string shown(const std::optional<T>& value) {
    return value ? shown(*value) : "nothing";
}

inline std::string shown(const receipt& note) {
    return "receipt{token " + to_text(note.token) + " owner " + shown(note.owner) + " at " + to_text(note.at) +
           " note " + shown(note.note) + "}";
}

inline std::string shown(const row& job);
inline std::string shown(const record& job);
inline std::string shown(const queue_statistics& counted);

template <class T>
std::string shown(const std::vector<T>& values) {
    std::string text = "{";
    for (const T& value : values) {
        text += (text.size() > 1 ? ", " : "") + shown(value);
    }
    return text + "}";
}

inline std::string shown(const row& job) {
    return "row{id " + to_text(job.id) + " queue " + shown(job.queue) + " key " + shown(job.key) + " priority " +
           shown(job.priority) + " enqueued_at " + shown(job.enqueued_at) + " state " + shown(job.state) + " owner " +
           shown(job.owner) + " token " + shown(job.token) + " attempt " + shown(job.attempt) + " of " +
           shown(job.max_attempts) + " lease_until " + shown(job.lease_until) + " deadline " + shown(job.deadline) +
           " waits " + shown(job.waits) + " vests_at " + shown(job.vests_at) + " failures " + shown(job.failures) +
           " lapses " + shown(job.lapses) + " ended_by " + shown(job.ended_by) + " ended_at " + shown(job.ended_at) +
           " reason " + shown(job.reason) + " last_error " + shown(job.last_error) + "}";
}

inline std::string shown(const record& job) {
    return shown(static_cast<const row&>(job)) + " of store " + to_text(job.store) + " payload " + shown(job.payload) +
           " of " + shown(job.payload_size) + " result " + shown(job.result) + " of " + shown(job.result_size) +
           " checkpoint " + shown(job.checkpoint) + " of " + shown(job.checkpoint_size) + " receipts " +
           shown(job.receipts);
}

inline std::string shown(const queue_statistics& counted) {
    return "queue " + shown(counted.queue) + ": ready " + shown(counted.ready) + " delayed " + shown(counted.delayed) +
           " leased " + shown(counted.leased) + " finished " + shown(counted.finished) + " quarantined " +
           shown(counted.quarantined) + " cancelled " + shown(counted.cancelled) + " oldest_ready " +
           shown(counted.oldest_ready);
}

}  // namespace leasehold::inline v0_1_0::testing::detail
