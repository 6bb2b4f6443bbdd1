// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/job.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0::detail {

/// Candidates of one queue that a transaction has read before they were asked for: the claims of a group look once.
/// What the transaction itself writes keeps it true; nobody else writes meanwhile.
class read_ahead {
public:
    /// Whether the first `limit` candidates of the queue are known, or all there are.
    bool knows(std::string_view queue, std::size_t limit) const noexcept {
        return is_kept_ && queue == queue_ && (is_all_ || rows_.size() - from_ >= limit);
    }

    std::vector<row> first(std::size_t limit) const {
        const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(from_);
        return {begin, begin + static_cast<std::ptrdiff_t>(std::min(limit, rows_.size() - from_))};
    }

    /// `is_all`: there are no more.
    void keep(std::string_view queue, std::vector<row> rows, bool is_all) {
        is_kept_ = false;
        queue_ = queue;
        rows_ = std::move(rows);
        from_ = 0;
        is_all_ = is_all;
        is_kept_ = true;
    }

    /// A row that was written is no candidate as it was. One that has become ready may be anywhere in the line.
    void written(const row& job) noexcept {
        if (!is_kept_) {
            return;
        }
        if (job.state == job_state::ready) {
            forget();
            return;
        }
        const auto begin = rows_.begin() + static_cast<std::ptrdiff_t>(from_);
        const auto found = std::find_if(begin, rows_.end(), [&](const row& known) { return known.id == job.id; });
        if (found == begin && found != rows_.end()) {
            ++from_;
        } else if (found != rows_.end()) {
            rows_.erase(found);
        }
    }

    void forget() noexcept { is_kept_ = false; }

private:
    std::string queue_{};
    std::vector<row> rows_{};
    std::size_t from_ = 0;
    bool is_all_ = false;
    bool is_kept_ = false;
};

}  // namespace leasehold::inline v0_1_0::detail
