// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include <leasehold/leasehold.hpp>

/// A store that counts its transactions, and fails when it is told to.
namespace troubled {

using namespace leasehold;

enum class trouble : std::uint8_t {
    none,
    busy,         ///< no transaction begins
    lost_before,  ///< the commit's answer is lost, and nothing stands
    lost_after,   ///< the commit's answer is lost, and it stands
    no_results,   ///< there is room for everything but a result
};

/// What a test sees of the store, and what it asks of it.
struct control {
    std::atomic<int> begun = 0;  ///< write transactions, those that failed included

    /// From now on, for so many transactions.
    void set(trouble what, int times = 1'000'000) {
        const std::lock_guard lock{mutex_};
        what_ = what;
        times_ = times;
    }
    trouble next() {
        const std::lock_guard lock{mutex_};
        ++begun;
        return times_ > 0 && times_-- > 0 ? what_ : trouble::none;
    }

private:
    std::mutex mutex_{};
    trouble what_ = trouble::none;
    int times_ = 0;
};

template <class Inner>
class transaction {
public:
    template <class Open>
    transaction(const Open& open, trouble what) : what_{what}, inner_{open()} {}

    auto identity() const { return inner_.identity(); }
    decltype(auto) now() { return inner_.now(); }
    auto vested(std::string_view queue, std::size_t limit) { return inner_.vested(queue, limit); }
    auto hold(std::span<const job_id> ids) { return inner_.hold(ids); }
    auto bytes(std::span<const granted_row> rows) { return inner_.bytes(rows); }
    auto insert(std::span<const insertion> jobs, on_conflict policy) { return inner_.insert(jobs, policy); }
    auto tail(std::string_view queue, std::int32_t priority) { return inner_.tail(queue, priority); }
    auto ended(instant before, std::size_t limit, bool quarantined) { return inner_.ended(before, limit, quarantined); }
    void write(std::span<const change> changes) {
        const auto has_result = [](const change& each) { return each.result.has_value(); };
        if (what_ == trouble::no_results && std::any_of(changes.begin(), changes.end(), has_result)) {
            throw store_full{"writing a result: no room"};
        }
        inner_.write(changes);
    }
    void erase(std::span<const job_id> ids) { inner_.erase(ids); }
    void add_receipt(job_id id, const receipt& note) { inner_.add_receipt(id, note); }
    auto savepoint() { return inner_.savepoint(); }
    bool is_open() const { return inner_.is_open(); }

    void commit() {
        if (what_ == trouble::lost_before) {
            throw store_unknown{"committing: the answer was lost"};
        }
        inner_.commit();
        if (what_ == trouble::lost_after) {
            throw store_unknown{"committing: the answer was lost"};
        }
    }

private:
    trouble what_;
    Inner inner_;
};

class store : public memory_store {
public:
    explicit store(control& by) : by_{&by} {}

    template <local_clock Clock>
    auto begin(const Clock& clock) {
        const trouble what = by_->next();
        if (what == trouble::busy) {
            throw store_busy{"taking the write lock: it is another's"};
        }
        const auto open = [&] { return memory_store::begin(clock); };
        return transaction<decltype(open())>{open, what};
    }

private:
    control* by_;
};

static_assert(lease_store<store>);

}  // namespace troubled
