// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/leasehold.hpp>

#include "broken_transaction.hpp"

/// A store in memory with one fault, or none.
namespace broken {

/// A view, with the fault that the store has.
class view {
    template <class Question>
    auto ask(const Question& question) {
        return whole_ ? question(*whole_) : question(detail::memory::view{all_.rows});
    }

public:
    view(contents& all, fault what) : all_{all}, fault_{what} {
        if (fault_ == fault::view_of_what_is_not_committed) {
            const std::lock_guard lock{all.mutex};
            uncommitted_ = all.uncommitted;
        }
        if (!uncommitted_ && fault_ != fault::view_of_many_moments) {
            whole_.emplace(all.rows);
        }
    }

    std::optional<record> find(job_id id) {
        return ask([&](const auto& rows) { return rows.find(id); });
    }
    std::optional<record> find(std::string_view queue, std::string_view key) {
        return ask([&](const auto& rows) { return rows.find(queue, key); });
    }
    page<record> list(const filter& which) {
        if (uncommitted_) {
            return {*uncommitted_, {}};
        }
        page<record> answer = ask([&](const auto& rows) { return rows.list(which); });
        if (fault_ == fault::pages_that_end_early) {
            answer.next.reset();
        }
        return answer;
    }
    statistics counts() {
        return ask([&](const auto& rows) { return rows.counts(); });
    }
    std::optional<instant> next_vesting(std::string_view queue) {
        const auto next = ask([&](const auto& rows) { return rows.next_vesting(queue); });
        return fault_ == fault::next_vesting_unknown ? std::nullopt : next;
    }

private:
    contents& all_;
    fault fault_;
    std::optional<detail::memory::view> whole_{};
    std::optional<std::vector<record>> uncommitted_{};
};

class store {
public:
    static constexpr reach reaches = reach::process;

    store(std::shared_ptr<contents> all, fault what) : all_{std::move(all)}, fault_{what} {}

    void attach(clock_axis axis) {
        const std::lock_guard lock{all_->rows.mutex};
        if (fault_ != fault::any_axis && all_->rows.axis.value_or(axis) != axis) {
            throw store_unsupported{"made with a " + std::string{to_text(*all_->rows.axis)} + " clock, opened with a " +
                                    std::string{to_text(axis)} + " clock"};
        }
        all_->rows.axis = axis;
        known_as_ = all_->rows.identity;
    }

    template <local_clock Clock>
    transaction begin(const Clock& clock) {
        std::optional<reading> early;
        if (fault_ == fault::clock_read_before_the_lock) {
            early = take_reading(clock);
        }
        return transaction{
            *all_, single_reading::of(clock), fault_, known_as_, early, [clock] { return take_reading(clock); }};
    }

    broken::view view() const { return broken::view{*all_, fault_}; }

    std::uint32_t changes() const { return fault_ == fault::silent_commits ? 0 : all_->rows.changes.read(); }
    void await(std::uint32_t seen, millis at_most) const { all_->rows.changes.wait(seen, at_most.to_chrono()); }
    void wake() const noexcept { all_->rows.changes.ring(); }

    store_id renew_identity() {
        const std::lock_guard lock{all_->rows.mutex};
        if (fault_ != fault::identity_never_renewed) {
            all_->rows.identity = detail::random_store_id();
        }
        return all_->rows.identity;
    }

private:
    std::shared_ptr<contents> all_;
    fault fault_;
    store_id known_as_{};
};

static_assert(lease_store<store>);

/// Where such a store lives.
struct place {
    broken::store store() const { return {all, what}; }

    fault what = fault::none;
    std::shared_ptr<contents> all = std::make_shared<contents>();
};

}  // namespace broken
