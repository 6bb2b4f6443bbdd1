// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/job.hpp>
#include <leasehold/postgres/connection.hpp>
#include <leasehold/postgres/rows.hpp>
#include <leasehold/store.hpp>

namespace leasehold::inline v0_1_0::detail::postgres {

/// Jobs on their way in, within a transaction: those with a new key, or none, get a row each; of the others is asked
/// what is there.
class intake_of {
public:
    intake_of(connection& on, std::span<const insertion> jobs) : on_{on}, jobs_{jobs}, answers_(jobs.size()) {}

    std::vector<enqueued> run() {
        std::vector<std::size_t> open(jobs_.size());
        std::iota(open.begin(), open.end(), std::size_t{0});
        // What was there may be gone when it is looked at: then there is room for it again.
        for (int tries = 0; !open.empty() && tries < most_tries; ++tries) {
            open = look_at(insert(open));
        }
        if (!open.empty()) {
            throw store_conflict{"a key comes and goes while a job with it is enqueued", 0, false};
        }
        return std::move(answers_);
    }

    job_id first_new() const noexcept { return first_new_; }
    bool has_made_some() const noexcept { return first_new_.value != std::numeric_limits<std::int64_t>::max(); }

private:
    static constexpr int most_tries = 10;
    static constexpr std::size_t enough_rows = 10'000;

    const job& work(std::size_t at) const noexcept { return *jobs_[at].content; }

    /// Returns those that made no row.
    std::vector<std::size_t> insert(const std::vector<std::size_t>& which) {
        std::size_t batches = 0;
        for (auto next = which.begin(); next != which.end(); ++batches) {
            new_rows some;
            for (std::size_t count = 0; next != which.end() && count < enough_rows && some.bytes() < enough_bytes;
                 ++count) {
                some.push(jobs_[*next++]);
            }
            on_.gather(on_.says().insert, some.all());
        }
        const std::vector<answer> answers = on_.flush();
        return match(which, std::span{answers}.last(batches));
    }

    /// By id, each new row is the next job that has its queue and key; what lies between has made none.
    std::vector<std::size_t> match(const std::vector<std::size_t>& which, std::span<const answer> made) {
        std::vector<std::size_t> without;
        auto next = which.begin();
        for (const answer& batch : made) {
            for (const int at : by_id(batch)) {
                while (next != which.end() &&
                       (work(*next).key != batch.view(at, 2) || work(*next).queue != batch.view(at, 1))) {
                    without.push_back(*next++);
                }
                if (next == which.end()) {
                    throw store_corrupt{"the server made a row that was not asked for"};
                }
                const job_id id{batch.integer(at, 0)};
                first_new_ = std::min(first_new_, id);
                answers_[*next] = {id, intake::accepted, jobs_[*next].columns.state};
                ++next;
            }
        }
        without.insert(without.end(), next, which.end());
        return without;
    }

    static std::vector<int> by_id(const answer& batch) {
        std::vector<int> order(static_cast<std::size_t>(batch.rows()));
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [&](int a, int b) { return batch.integer(a, 0) < batch.integer(b, 0); });
        return order;
    }

    /// Returns those whose key is not there any more.
    std::vector<std::size_t> look_at(std::vector<std::size_t> which) {
        if (which.empty()) {
            return which;
        }
        std::vector<std::pair<std::size_t, std::size_t>> parts;  // from where, how many
        for (std::size_t from = 0; from < which.size();) {
            array<std::string_view> queues;
            array<std::string_view> keys;
            array<blob> payloads;
            std::size_t to = from;
            while (to < which.size() && payloads.bytes() < enough_bytes) {
                const job& each = work(which[to++]);
                queues.push(each.queue);
                keys.push(each.key);
                payloads.push(blob{each.payload});
            }
            on_.gather(on_.says().same_keys, with(queues, keys, payloads));
            parts.emplace_back(from, to);
            from = to;
        }
        const std::vector<answer> answers = on_.flush();
        std::vector<bool> is_found(which.size());
        for (std::size_t part = 0; part < parts.size(); ++part) {
            const answer& found = answers[part];
            for (int at = 0; at < found.rows(); ++at) {
                const std::size_t place = parts[part].first + static_cast<std::size_t>(found.integer(at, 0)) - 1;
                is_found.at(place) = true;
                answers_[which[place]] = {job_id{found.integer(at, 1)},
                                          found.truth(at, 3) ? intake::duplicate : intake::conflict,
                                          static_cast<job_state>(found.integer(at, 2))};
            }
        }
        std::vector<std::size_t> gone;
        for (std::size_t i = 0; i < which.size(); ++i) {
            if (!is_found[i]) {
                gone.push_back(which[i]);
            }
        }
        return gone;
    }

    connection& on_;
    std::span<const insertion> jobs_;
    std::vector<enqueued> answers_;
    job_id first_new_{std::numeric_limits<std::int64_t>::max()};
};

}  // namespace leasehold::inline v0_1_0::detail::postgres
