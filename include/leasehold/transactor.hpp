// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/event.hpp>
#include <leasehold/group_commit.hpp>
#include <leasehold/session.hpp>
#include <leasehold/store.hpp>

namespace leasehold::inline v0_1_0::detail {

/// The one way into a store for every verb that writes: in a transaction of its own, or, where threads meet, in one
/// with what others do at the moment. All that it is made of outlives it.
template <class Store, class Clock>
class transactor {
public:
    transactor(Store& store, const Clock& clock, const queue_options& options)
        : store_{store}, clock_{clock}, options_{options}, group_{options.group_limit} {}
    transactor(const transactor&) = delete;
    transactor& operator=(const transactor&) = delete;
    ~transactor() = default;

    /// Runs `verb(session)`, commits, and tells of it once the lock is gone. `takes`: how many jobs the verb may claim.
    template <class Verb>
    auto run(const Verb& verb, std::size_t takes) {
        std::vector<event> events;
        auto answer = until_no_conflict([&] {
            if constexpr (grouping_store<Store, Clock>) {
                if (options_.group_limit > 1) {
                    return in_group(verb, events, takes);
                }
            }
            return alone(verb, events);
        });  // the lock is gone from here on
        tell(events);
        return answer;
    }

    /// Tells whoever asked to be told.
    void tell(std::span<const event> events) const {
        for (const event& what : events) {
            if (is_told()) {
                told_later::tell(options_.on_event, what);
            }
        }
    }

    /// Whether somebody asked to be told.
    bool is_told() const noexcept { return static_cast<bool>(options_.on_event); }

private:
    using transaction = transaction_of<Store, Clock>;

    /// A transaction that the engine took back because it met another's runs again, as long as the store has patience.
    template <class Run>
    auto until_no_conflict(const Run& run) {
        if constexpr (conflicting_store<Store>) {
            const auto since = std::chrono::steady_clock::now();
            for (;;) {
                try {
                    return run();
                } catch (const store_conflict&) {
                    if (!store_.may_try_again(since)) {
                        throw;
                    }
                }
            }
        } else {
            return run();
        }
    }

    template <class Verb>
    auto alone(const Verb& verb, std::vector<event>& events) {
        transaction in = store_.begin(clock_);
        auto answer = answered(verb, in, is_told() ? &events : nullptr);
        in.commit();
        return answer;
    }

    /// The same, together with what other threads do at the moment. May run the verb more than once.
    template <class Verb>
    auto in_group(const Verb& verb, std::vector<event>& events, std::size_t takes) {
        struct call final : group_commit<transaction>::call {
            call(const Verb& what, std::vector<event>* told, std::size_t takes) noexcept
                : group_commit<transaction>::call{takes}, verb{what}, events{told} {}
            void run(transaction& in) override { answer.emplace(answered(verb, in, events)); }
            const Verb& verb;
            std::vector<event>* events;
            std::optional<decltype(answered(verb, std::declval<transaction&>(), events))> answer{};
        };
        call mine{verb, is_told() ? &events : nullptr, takes};
        group_.run(mine, [this](std::chrono::steady_clock::time_point since) { return store_.begin(clock_, since); });
        return std::move(*mine.answer);
    }

    /// `into`: what is done is noted there, in place of what an earlier try did. May be null.
    template <class Verb>
    static auto answered(const Verb& verb, transaction& in, std::vector<event>* into) {
        if (into != nullptr) {
            into->clear();
        }
        session in_it{in, into};
        return verb(in_it);
    }

    Store& store_;
    const Clock& clock_;
    const queue_options& options_;
    group_commit<transaction> group_;
};

}  // namespace leasehold::inline v0_1_0::detail
