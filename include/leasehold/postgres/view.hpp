// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/job.hpp>
#include <leasehold/postgres/low_water.hpp>
#include <leasehold/postgres/pool.hpp>
#include <leasehold/postgres/rows.hpp>
#include <leasehold/postgres/transaction_clock.hpp>
#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0::detail::postgres {

/// A snapshot to read: one transaction, which begins with the first question. It locks nothing.
class view {
public:
    view(pool::place at, const low_water& lows) : at_{std::move(at)}, lows_{&lows} {}
    view(view&&) noexcept = default;
    view& operator=(view&&) = delete;
    ~view() {
        if (is_begun_) {
            on().roll_back();
        }
    }

    std::optional<record> find(job_id id) { return one(says().find, with(id.value)); }
    std::optional<record> find(std::string_view queue, std::string_view key) {
        return one(says().find_key, with(queue, key));
    }

    page<record> list(const filter& which) {
        std::optional<std::int64_t> state;
        if (which.state) {
            state = number(*which.state);
        }
        const answer found =
            ask(says().list, with(which.after.value, which.queue, state, static_cast<std::int64_t>(which.limit) + 1));
        page<record> answer;
        for (row& each : rows_of(found)) {
            record& shown = answer.items.emplace_back(record{{std::move(each)}});
            const int at = static_cast<int>(answer.items.size()) - 1;
            shown.store = store_;
            shown.payload_size = static_cast<std::size_t>(found.integer(at, row_width));
            shown.result_size = static_cast<std::size_t>(found.integer(at, row_width + 1));
            shown.checkpoint_size = static_cast<std::size_t>(found.integer(at, row_width + 2));
        }
        if (answer.items.size() > which.limit) {
            answer.items.pop_back();
            answer.next = answer.items.back().id;
        }
        add_receipts(answer.items);
        return answer;
    }

    statistics counts() {
        const answer found = ask(says().counts, {});
        statistics all;
        for (int at = 0; at < found.rows(); ++at) {
            if (all.queues.empty() || all.queues.back().queue != found.view(at, 0)) {
                all.queues.emplace_back().queue = found.text(at, 0);
            }
            all.queues.back().add(static_cast<job_state>(found.integer(at, 1)), found.truth(at, 2),
                                  static_cast<std::uint64_t>(found.integer(at, 3)), instant_at(found, at, 4));
        }
        return all;
    }

    /// From when on a job of the queue may be taken: the earliest instant there is, where one need not wait at all.
    std::optional<instant> next_vesting(std::string_view queue) {
        const written_marks from{lows_->marks(queue)};
        const answer found = ask(says().next_vesting, with(queue, from.priorities, from.lows, from.ids));
        return found.truth(0, 0) ? std::optional{instant::min()} : optional_instant_at(found, 0, 1);
    }

private:
    connection& on() const noexcept { return at_.on(); }
    const statements& says() const noexcept { return on().says(); }

    answer ask(const statement& what, parameters values) {
        const bool is_first = !std::exchange(is_begun_, true);
        if (is_first) {
            on().gather(says().begin_view);
            on().gather(says().meta);
        }
        on().gather(what, std::move(values));
        std::vector<answer> answers = on().flush();
        if (is_first) {
            store_ = meta_of(answers[answers.size() - 2]).identity;
        }
        return std::move(answers.back());
    }

    std::optional<record> one(const statement& what, parameters values) {
        const answer found = ask(what, std::move(values));
        if (found.rows() == 0) {
            return std::nullopt;
        }
        std::vector<record> shown{record{{row_reader{found, 0}.read()}}};
        record& only = shown.front();
        only.store = store_;
        only.payload = found.text(0, row_width);
        only.result = found.text(0, row_width + 1);
        only.checkpoint = found.text(0, row_width + 2);
        only.payload_size = only.payload.size();
        only.result_size = only.result.size();
        only.checkpoint_size = only.checkpoint.size();
        add_receipts(shown);
        return std::move(only);
    }

    /// Records by ascending id.
    void add_receipts(std::vector<record>& to) {
        array<std::int64_t> ids;
        for (const record& each : to) {
            ids.push(each.id.value);
        }
        if (to.empty()) {
            return;
        }
        const answer notes = ask(says().receipts, with(ids));
        for (int at = 0; at < notes.rows(); ++at) {
            const job_id id{notes.integer(at, 0)};
            const auto of = std::lower_bound(to.begin(), to.end(), id,
                                             [](const record& each, job_id sought) { return each.id < sought; });
            of->receipts.push_back(
                {claim_token{notes.integer(at, 1)}, notes.text(at, 2), instant_at(notes, at, 3), notes.text(at, 4)});
        }
    }

    pool::place at_;
    const low_water* lows_;
    bool is_begun_ = false;
    store_id store_{};
};

}  // namespace leasehold::inline v0_1_0::detail::postgres
