// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <leasehold/store.hpp>
#include <leasehold/testing/contract/adoption.hpp>
#include <leasehold/testing/contract/batches.hpp>
#include <leasehold/testing/contract/bench.hpp>
#include <leasehold/testing/contract/bytes.hpp>
#include <leasehold/testing/contract/check_result.hpp>
#include <leasehold/testing/contract/checker.hpp>
#include <leasehold/testing/contract/claim_order.hpp>
#include <leasehold/testing/contract/claims.hpp>
#include <leasehold/testing/contract/clocks.hpp>
#include <leasehold/testing/contract/grouping.hpp>
#include <leasehold/testing/contract/intake.hpp>
#include <leasehold/testing/contract/keeping.hpp>
#include <leasehold/testing/contract/misfits.hpp>
#include <leasehold/testing/contract/operators.hpp>
#include <leasehold/testing/contract/place.hpp>
#include <leasehold/testing/contract/rows.hpp>
#include <leasehold/testing/contract/settling.hpp>
#include <leasehold/testing/contract/transactions.hpp>
#include <leasehold/testing/contract/views.hpp>
#include <leasehold/testing/contract/waiting.hpp>

namespace leasehold::inline v0_1_0::testing {

/// A group of rules that was left out, and why.
struct skipped_group {
    std::string_view name{};  ///< of the group, as in the cases
    std::string_view why{};   ///< what the store or the place does not have
};

/// Every rule that a store takes part in, for anybody's store, under any harness.
///
///     struct my_place {  // where a store lives: fresh and empty, and gone with the object
///         my_store store() { return my_store{folder.path()}; }  // opens it; called more than once
///         temporary_folder folder{};
///     };
///
///     int main() {
///         const leasehold::testing::store_contract<my_place> contract;
///         const auto counts = contract.run_all([](const leasehold::testing::check_result& check) {
///             if (!check.passed) {
///                 std::cerr << to_text(check) << '\n';
///             }
///         });
///         for (const auto& group : contract.skipped()) {
///             std::cerr << "skipped: " << group.name << ", since " << group.why << '\n';
///         }
///         return counts.failed == 0 ? 0 : 1;
///     }
///
/// A harness that has tests of its own makes one of each of `cases()`, by its name, and calls `run` there; each works
/// in fresh places of its own. See `store_place` for what a place may offer beside `store()`. The clocks are manual
/// ones; a few cases look for some tens of milliseconds whether something happens that must not.
template <store_place Place>
class store_contract {
public:
    /// What the place opens.
    using store_type = detail::store_in<Place>;
    /// One rule.
    using case_type = detail::contract_case<store_type>;

    store_contract() requires std::default_initializable<Place> : store_contract{[] { return Place{}; }} {}

    /// `make()` gives a fresh place whenever it is called.
    template <std::invocable Make>
        requires std::same_as<std::invoke_result_t<const Make&>, Place>
    explicit store_contract(Make make)
        : fresh_{[make = std::move(make)] { return std::make_unique<detail::known_place<Place>>(make); }} {
        add_what_verbs_promise();
        add_what_primitives_promise();
        add_what_is_optional();
    }

    /// The rules, each with a group and a name that is a sentence; no two have the same name.
    std::span<const case_type> cases() const noexcept { return cases_; }

    /// What this store, or this place, does not offer.
    std::span<const skipped_group> skipped() const noexcept { return skipped_; }

    /// Checks one rule, and tells `report` of each check on the calling thread. An exception that escapes is a check
    /// that failed.
    template <std::invocable<const check_result&> Report>
    check_counts run(const case_type& rule, const Report& report) const {
        return run_case(rule, std::cref(report));
    }

    /// Checks every rule, in order.
    template <std::invocable<const check_result&> Report>
    check_counts run_all(const Report& report) const {
        check_counts all;
        for (const case_type& rule : cases_) {
            all += run(rule, report);
        }
        return all;
    }

private:
    check_counts run_case(const case_type& rule, const detail::checker::report& report) const {
        detail::checker check{rule.name, report};
        try {
            rule.run({check, fresh_}, check);
        } catch (const detail::case_over&) {  // NOLINT(bugprone-empty-catch): it has been reported
        } catch (const std::exception& error) {
            check.escaped(detail::described(error));
        } catch (...) {
            check.escaped("something that is no std::exception");
        }
        return check.counts();
    }

    detail::case_list<store_type> group(std::string_view name) { return {name, cases_}; }

    void add_what_verbs_promise() {
        detail::add_claim_cases(group("claim"));
        detail::add_setting_aside_cases(group("claim"));
        detail::add_order_cases(group("order"));
        detail::add_settling_cases(group("settling"));
        detail::add_effect_cases(group("settling"));
        detail::add_misfit_cases(group("settling"));
        detail::add_batch_cases(group("settling"));
        detail::add_lost_answer_cases(group("settling"));
        detail::add_relay_cases(group("settling"));
        detail::add_receipt_cases(group("settling"));
        detail::add_key_cases(group("intake"));
        detail::add_name_cases(group("intake"));
        detail::add_bounds_cases(group("intake"));
        detail::add_operator_cases(group("operator"));
        detail::add_requeue_cases(group("operator"));
        detail::add_pruning_cases(group("operator"));
        detail::add_reading_cases(group("operator"));
        detail::add_clock_cases(group("clock"));
        detail::add_lock_cases(group("clock"));
        detail::add_session_cases(group("session"));
    }

    void add_what_primitives_promise() {
        detail::add_vested_cases(group("rows"));
        detail::add_line_cases(group("rows"));
        detail::add_column_cases(group("rows"));
        detail::add_insert_cases(group("rows"));
        detail::add_ending_cases(group("rows"));
        detail::add_byte_cases(group("bytes"));
        detail::add_receipt_row_cases(group("bytes"));
        detail::add_rollback_cases(group("transaction"));
        detail::add_meeting_cases(group("transaction"));
        detail::add_view_cases(group("view"));
        detail::add_identity_cases(group("identity"));
    }

    void add_what_is_optional() {
        if constexpr (waitable_store<store_type>) {
            detail::add_waiting_cases(group("waiting"));
        } else {
            skipped_.push_back({"waiting", "the store has no changes, await and wake"});
        }
        if constexpr (grouping_store<store_type, detail::watched_clock>) {
            detail::add_grouping_cases(group("grouping"));
        } else {
            skipped_.push_back({"grouping", "the store has no begin(clock, since)"});
        }
        if constexpr (detail::place_of_adoption<Place>) {
            detail::add_joining_cases<Place>(group("adoption"));
            detail::add_lending_cases<Place>(group("adoption"));
        } else if constexpr (detail::place_with_caller<Place>) {
            skipped_.push_back({"adoption", "the store cannot adopt the caller's connection"});
        } else {
            skipped_.push_back({"adoption", "the place has no caller"});
        }
    }

    detail::place_maker<store_type> fresh_;
    std::vector<case_type> cases_{};
    std::vector<skipped_group> skipped_{};
};

}  // namespace leasehold::inline v0_1_0::testing
