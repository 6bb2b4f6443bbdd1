// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/job.hpp>
#include <leasehold/postgres/binary.hpp>
#include <leasehold/postgres/sql.hpp>
#include <leasehold/store.hpp>
#include <leasehold/text.hpp>

/// Rows between the server and the library. A value that cannot be is `store_corrupt`.
namespace leasehold::inline v0_1_0::detail::postgres {

[[noreturn]] inline void raise_impossible(std::int64_t id, std::string_view column, const std::string& value) {
    throw store_corrupt{"job " + std::to_string(id) + " has " + std::string{column} + " " + value};
}

inline instant instant_at(const answer& from, int row, int column) {
    return instant{std::chrono::milliseconds{from.integer(row, column)}};
}

inline std::optional<instant> optional_instant_at(const answer& from, int row, int column) {
    return from.is_null(row, column) ? std::nullopt : std::optional{instant_at(from, row, column)};
}

/// Reads the columns of one row, in the order of `row_columns`.
class row_reader {
public:
    row_reader(const answer& from, int at) noexcept : from_{from}, at_{at}, id_{from.integer(at, 0)} {}

    row read() const {
        constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
        row job;
        job.id = job_id{id_};
        job.queue = name(1, "queue", false);
        job.key = name(2, "key");
        job.priority = bounded<std::int32_t>(3, "priority", -most - 1, most);
        job.enqueued_at = instant_at(from_, at_, 4);
        job.state = bounded<job_state>(5, "state", 0, 4);
        job.owner = name(6, "owner");
        job.token = claim_token{count(7, "token")};
        job.attempt = bounded<std::int32_t>(8, "attempt", 0, most);
        job.max_attempts = bounded<std::int32_t>(9, "max_attempts", 1, most);
        job.lease_until = optional_instant_at(from_, at_, 10);
        job.deadline = optional_instant_at(from_, at_, 11);
        job.waits = from_.truth(at_, 12);
        job.vests_at = instant_at(from_, at_, 13);
        job.failures = count(14, "failures");
        job.lapses = count(15, "lapses");
        if (!from_.is_null(at_, 16)) {
            job.ended_by = bounded<ender>(16, "ended_by", 0, 2);
        }
        job.ended_at = optional_instant_at(from_, at_, 17);
        job.reason = from_.text(at_, 18);
        job.last_error = from_.text(at_, 19);
        const bool is_lease = job.lease_until == job.vests_at && job.waits && !job.owner.empty();
        if (job.state == job_state::leased && !is_lease) {
            raise_impossible(id_, "a lease", "without its owner, end or place in line");
        }
        if (has_ended(job.state) && !job.ended_at) {
            raise_impossible(id_, "an end", "without its instant");
        }
        return job;
    }

private:
    template <class T>
    T bounded(int column, std::string_view what, std::int64_t lowest, std::int64_t highest) const {
        const std::int64_t value = from_.integer(at_, column);
        if (value < lowest || value > highest) {
            raise_impossible(id_, what, std::to_string(value));
        }
        return static_cast<T>(value);
    }
    std::int64_t count(int column, std::string_view what) const {
        return bounded<std::int64_t>(column, what, 0, std::numeric_limits<std::int64_t>::max());
    }
    /// Empty only where there may be none.
    std::string name(int column, std::string_view what, bool may_be_none = true) const {
        std::string found = from_.text(at_, column);
        if (!(is_name(found) || (found.empty() && may_be_none))) {
            raise_impossible(id_, what, readable(std::string_view{found}.substr(0, longest_name)));
        }
        return found;
    }

    const answer& from_;
    int at_;
    std::int64_t id_;
};

inline std::vector<row> rows_of(const answer& from) {
    std::vector<row> rows;
    rows.reserve(static_cast<std::size_t>(from.rows()));
    for (int at = 0; at < from.rows(); ++at) {
        rows.push_back(row_reader{from, at}.read());
    }
    return rows;
}

/// A number that came as text.
inline std::int64_t number_of(std::string_view text) {
    std::int64_t value = 0;
    if (std::from_chars(text.data(), text.data() + text.size(), value).ptr != text.data() + text.size()) {
        throw store_corrupt{"the server sent a number that is none"};
    }
    return value;
}

/// The receipts that came with a row, each four texts; none where there is NULL.
inline std::vector<receipt> receipts_in(const answer& from, int row, int column) {
    std::vector<receipt> all;
    if (from.is_null(row, column)) {
        return all;
    }
    const std::vector<std::string_view> parts = from.elements(row, column);
    for (std::size_t i = 0; i + 3 < parts.size(); i += 4) {
        all.push_back({claim_token{number_of(parts[i])}, std::string{parts[i + 1]},
                       instant{std::chrono::milliseconds{number_of(parts[i + 2])}}, std::string{parts[i + 3]}});
    }
    return all;
}

inline std::int64_t number(job_state state) noexcept { return static_cast<std::int64_t>(state); }

inline std::optional<std::int64_t> number(const std::optional<ender>& who) noexcept {
    return who ? std::optional{static_cast<std::int64_t>(*who)} : std::nullopt;
}

inline std::optional<blob> bytes_or_null(const std::optional<std::string_view>& bytes) noexcept {
    return bytes ? std::optional{blob{*bytes}} : std::nullopt;
}

inline array<std::int64_t> numbers_of(std::span<const job_id> ids) {
    array<std::int64_t> all;
    for (const job_id id : ids) {
        all.push(id.value);
    }
    return all;
}

/// The longest value that is sent to the server, which takes messages below a gibibyte.
inline constexpr std::size_t longest_value = std::size_t{512} << 20U;

inline void check_size(std::string_view bytes) {
    if (bytes.size() > longest_value) {
        throw std::invalid_argument{std::to_string(bytes.size()) + " bytes; the store takes at most " +
                                    std::to_string(longest_value) + " in one value"};
    }
}

inline parameters parameters_of(const change& each) {
    const row& to = *each.to;
    check_size(each.result.value_or(""));
    check_size(each.checkpoint.value_or(""));
    return with(to.id.value, number(to.state), to.owner, to.token.value, std::int64_t{to.attempt}, to.lease_until,
                to.deadline, to.waits, to.vests_at, to.failures, to.lapses, number(to.ended_by), to.ended_at, to.reason,
                to.last_error, bytes_or_null(each.result), bytes_or_null(each.checkpoint),
                std::int64_t{to.max_attempts});
}

/// The same of several rows, each parameter an array.
class written_rows {
public:
    void push(const change& each) {
        const row& to = *each.to;
        check_size(each.result.value_or(""));
        check_size(each.checkpoint.value_or(""));
        ids_.push(to.id.value);
        states_.push(number(to.state));
        owners_.push(to.owner);
        tokens_.push(to.token.value);
        attempts_.push(to.attempt);
        lease_untils_.push(to.lease_until);
        deadlines_.push(to.deadline);
        waits_.push(to.waits);
        vests_at_.push(to.vests_at);
        failures_.push(to.failures);
        lapses_.push(to.lapses);
        ended_by_.push(number(to.ended_by));
        ended_at_.push(to.ended_at);
        reasons_.push(to.reason);
        last_errors_.push(to.last_error);
        results_.push(bytes_or_null(each.result));
        checkpoints_.push(bytes_or_null(each.checkpoint));
        max_attempts_.push(to.max_attempts);
    }
    std::size_t bytes() const noexcept { return results_.bytes() + checkpoints_.bytes(); }
    parameters all() const {
        return with(ids_, states_, owners_, tokens_, attempts_, lease_untils_, deadlines_, waits_, vests_at_, failures_,
                    lapses_, ended_by_, ended_at_, reasons_, last_errors_, results_, checkpoints_, max_attempts_);
    }

private:
    using numbers = array<std::int64_t>;
    using texts = array<std::string_view>;
    using instants = array<instant>;
    numbers ids_{}, states_{}, tokens_{}, attempts_{}, failures_{}, lapses_{}, ended_by_{}, max_attempts_{};
    texts owners_{}, reasons_{}, last_errors_{};
    instants lease_untils_{}, deadlines_{}, vests_at_{}, ended_at_{};
    array<bool> waits_{};
    array<blob> results_{}, checkpoints_{};
};

/// Rows to make, each parameter an array.
class new_rows {
public:
    void push(const insertion& made) {
        const job& work = *made.content;
        check_size(work.payload);
        queues_.push(work.queue);
        keys_.push(work.key.empty() ? std::nullopt : std::optional<std::string_view>{work.key});
        priorities_.push(work.priority);
        enqueued_at_.push(made.enqueued_at);
        states_.push(number(made.columns.state));
        max_attempts_.push(made.columns.max_attempts);
        deadlines_.push(made.columns.deadline);
        waits_.push(made.columns.waits);
        vests_at_.push(made.columns.vests_at);
        payloads_.push(blob{work.payload});
    }
    std::size_t bytes() const noexcept { return payloads_.bytes(); }
    parameters all() const {
        return with(queues_, keys_, priorities_, enqueued_at_, states_, max_attempts_, deadlines_, waits_, vests_at_,
                    payloads_);
    }

private:
    array<std::string_view> queues_{}, keys_{};
    array<std::int64_t> priorities_{}, states_{}, max_attempts_{};
    array<instant> enqueued_at_{}, deadlines_{}, vests_at_{};
    array<bool> waits_{};
    array<blob> payloads_{};
};

/// Values of one message: more go in several.
inline constexpr std::size_t enough_bytes = std::size_t{16} << 20U;

}  // namespace leasehold::inline v0_1_0::detail::postgres
