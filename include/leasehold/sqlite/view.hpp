// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <leasehold/job.hpp>
#include <leasehold/sqlite/connection.hpp>
#include <leasehold/sqlite/line.hpp>
#include <leasehold/sqlite/open_transaction.hpp>
#include <leasehold/sqlite/rows.hpp>
#include <leasehold/sqlite/schema.hpp>
#include <leasehold/sqlite/sql.hpp>
#include <leasehold/sqlite/transaction_clock.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// A snapshot, on a connection that only reads. In a rollback journal it keeps commits waiting: it ends with the call.
class view {
public:
    explicit view(line::place at)
        : way_{std::move(at.way)}, on_{at.on}, open_{on_, begin_read}, identity_{read_meta(on_).identity} {}

    store_id identity() const noexcept { return identity_; }

    /// What a clock that the file anchors shows; nothing where the file has no anchor of this boot yet.
    template <anchored_clock Clock>
    std::optional<reading> read(const Clock& clock) {
        return clock.look_in(on_);
    }

    std::optional<record> find(job_id id) {
        std::optional<record> found = without_bytes(id);
        if (found) {
            found->payload = bytes_of(on_, select_payload, id);
            found->result = bytes_of(on_, select_result, id);
            found->checkpoint = bytes_of(on_, select_checkpoint, id);
        }
        return found;
    }

    std::optional<record> find(std::string_view queue, std::string_view key) {
        running query = on_.prepared(select_id_of_key);
        return query.bind(queue, key).step() ? find(job_id{query.integer(0)}) : std::nullopt;
    }

    page<record> list(const filter& which) {
        std::optional<std::int64_t> state;
        if (which.state) {
            state = number(*which.state);
        }
        page<record> answer;
        running query = on_.prepared(list_rows);
        query.bind(which.after.value, which.queue, state, static_cast<std::int64_t>(which.limit) + 1);
        while (query.step()) {
            if (answer.items.size() == which.limit) {
                answer.next = answer.items.back().id;
                break;
            }
            answer.items.push_back(with_sizes(read_row(query)));
        }
        return answer;
    }

    statistics counts() {
        statistics answer;
        running query = on_.prepared(count_rows);
        while (query.step()) {
            std::string queue = query.text(0);
            if (answer.queues.empty() || answer.queues.back().queue != queue) {
                answer.queues.push_back({.queue = std::move(queue)});
            }
            answer.queues.back().add(bounded<job_state>(query, 1, {}, "state", 0, 4), query.integer(2) != 0,
                                     static_cast<std::uint64_t>(query.integer(3)), instant_at(query, 4));
        }
        return answer;
    }

    /// From when on a job of the queue may be taken: the earliest instant there is, where one need not wait at all.
    std::optional<instant> next_vesting(std::string_view queue) {
        std::optional<instant> first;
        std::int64_t above = std::numeric_limits<std::int64_t>::max();
        while (const std::optional<std::int64_t> priority = priority_below(on_, queue, above)) {
            if (asked(tail, queue, *priority)) {
                return instant::min();
            }
            if (const auto waiting = asked(first_waiting, queue, *priority)) {
                const instant at{std::chrono::milliseconds{*waiting}};
                first = std::min(at, first.value_or(at));
            }
            above = *priority;
        }
        return first;
    }

private:
    /// The one integer that a query gives, or none.
    template <std::size_t Size>
    std::optional<std::int64_t> asked(const sql<Size>& question, std::string_view queue, std::int64_t priority) {
        running query = on_.prepared(question);
        query.bind(queue, priority).step();
        return query.optional_integer(0);
    }

    std::optional<record> without_bytes(job_id id) {
        running query = on_.prepared(select_row);
        return query.bind(id.value).step() ? std::optional{with_sizes(read_row(query))} : std::nullopt;
    }

    record with_sizes(row job) {
        record shown{{std::move(job)}};
        shown.store = identity_;
        running query = on_.prepared(select_sizes);
        query.bind(shown.id.value).step();
        shown.payload_size = static_cast<std::size_t>(query.integer(0));
        shown.result_size = static_cast<std::size_t>(query.integer(1));
        shown.checkpoint_size = static_cast<std::size_t>(query.integer(2));
        shown.receipts = receipts_of(on_, shown.id);
        return shown;
    }

    passage way_;
    connection& on_;
    open_transaction open_;
    store_id identity_;
};

}  // namespace leasehold::inline v0_1_0::detail::sqlite
