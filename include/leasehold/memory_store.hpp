// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <leasehold/clock.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/memory/state.hpp>
#include <leasehold/memory/transaction.hpp>
#include <leasehold/memory/view.hpp>
#include <leasehold/process_of.hpp>
#include <leasehold/random_store_id.hpp>
#include <leasehold/store.hpp>

namespace leasehold::inline v0_1_0 {

/// Keeps jobs in the memory of one process. A handle: copies share their rows, which last as long as the last of them.
/// A child of a fork has no part in it: every use there throws `store_unsupported`.
class memory_store {
public:
    static constexpr reach reaches = reach::process;

    memory_store() : state_{new detail::memory::state, detail::delete_where_made{}} {}

    /// Records the clock's axis at the first call; throws `store_unsupported` for another one.
    void attach(clock_axis axis) {
        const auto lock = state_->locked();
        if (state_->axis.value_or(axis) != axis) {
            throw store_unsupported{"this store's instants are of a " + std::string{to_text(*state_->axis)} +
                                    " clock, not of a " + std::string{to_text(axis)} + " clock"};
        }
        state_->axis = axis;
    }

    /// A write transaction: waits until it has the store to itself.
    template <local_clock Clock>
    detail::memory::transaction begin(const Clock& clock) {
        return detail::memory::transaction{*state_, single_reading::of(clock)};
    }

    /// A snapshot: waits for the transaction that is open, and lets no other begin.
    detail::memory::view view() const { return detail::memory::view{*state_}; }

    /// A number that is another after every commit that may have made a job ready.
    std::uint32_t changes() const {
        state_->process.refuse_another();
        return state_->changes.read();
    }
    /// Waits until the number is another than `seen`, or for `at_most`.
    void await(std::uint32_t seen, millis at_most) const { state_->changes.wait(seen, at_most.to_chrono()); }
    /// Changes the number, so that who waits looks again.
    void wake() const noexcept {
        if (state_->process.is_this()) {
            state_->changes.ring();
        }
    }

    /// Another identity, so that no marker given out before fits.
    store_id renew_identity() {
        const auto lock = state_->locked();
        return state_->identity = detail::random_store_id();
    }

private:
    std::shared_ptr<detail::memory::state> state_;
};

static_assert(lease_store<memory_store>);
static_assert(clock_for<process_clock, memory_store> && clock_for<manual_clock, memory_store>);

}  // namespace leasehold::inline v0_1_0
