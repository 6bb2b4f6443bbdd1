// SPDX-License-Identifier: MIT
/// The contract notices a store that is broken: for each fault there is a rule that fails, by name.
#include <algorithm>
#include <cstddef>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/testing/store_contract.hpp>

#include "support/broken_store.hpp"
#include "support/catch.hpp"

namespace {

using broken::fault;
using leasehold::testing::check_result;
using leasehold::testing::store_contract;

struct broken_store {
    fault what;
    std::string_view name;
    std::string_view noticed_by;  ///< the rule that must fail
};

constexpr broken_store broken_stores[] = {
    {fault::priority_ignored, "vested rows come whatever their priority",
     "higher priority first, then the earlier instant, then the lower id"},
    {fault::order_by_id, "vested rows come by id alone",
     "higher priority first, then the earlier instant, then the lower id"},
    {fault::latest_first, "vested rows come latest first", "vested rows come in claim order, as many as are asked for"},
    {fault::leases_given_early, "leased rows are given before their end",
     "a leased row has vested at the instant its lease ends, and not before"},
    {fault::lapsed_leases_never_given, "lapsed leases are never given",
     "at and after the expiry instant somebody else may take the job, and not before"},
    {fault::delayed_given_early, "delayed rows are given early",
     "vested rows come in claim order, as many as are asked for"},
    {fault::limit_of_vested_ignored, "more vested rows than asked for",
     "vested rows come in claim order, as many as are asked for"},
    {fault::rows_of_any_queue, "vested rows of any queue",
     "an empty queue gives nothing, and a queue knows only its own jobs"},
    {fault::stopped_by_a_step_back, "a clock that steps back stops the queue",
     "a clock that steps back an hour holds up nothing that asked for no delay"},
    {fault::held_in_another_order, "rows are held in another order than asked",
     "rows are held by ascending id, and those that are not there are left out"},
    {fault::a_column_dropped, "a write drops one column",
     "what is written to a row comes back column by column, and no other row changes"},
    {fault::payload_touched, "a write touches the payload", "bytes that are not named stay, and empty ones mean none"},
    {fault::unnamed_bytes_dropped, "a write drops the bytes that it does not name",
     "bytes that are not named stay, and empty ones mean none"},
    {fault::whole_seconds, "instants are kept in whole seconds", "a lease never outlives the deadline"},
    {fault::erase_keeps_the_row, "an erased row stays",
     "an erased row is gone with its key and its bytes, and no other one"},
    {fault::erase_keeps_the_key, "an erased row's key stays",
     "the same key again gives the first id and its state, and changes nothing"},
    {fault::rollback_keeps_the_rows, "a rollback keeps the rows", "what is not committed has never been"},
    {fault::commit_forgets, "a commit forgets", "what is committed is there for whoever opens the store later"},
    {fault::savepoint_ignored, "a savepoint takes nothing back",
     "a savepoint that is not released takes back what was done since, and nothing else"},
    {fault::savepoint_never_released, "a released savepoint is taken back all the same",
     "a savepoint that is released stands, and goes with the one around it"},
    {fault::key_unique_across_queues, "keys are unique across queues",
     "a key is unique in its queue, as long as the row exists"},
    {fault::keys_without_case, "keys are compared without case", "keys are compared byte by byte"},
    {fault::payloads_not_compared, "the payloads of equal keys are not compared",
     "the same key again gives the first id and its state, and changes nothing"},
    {fault::withholds_nothing, "a conflict withholds nothing",
     "where a conflict shall withhold all, nothing is written"},
    {fault::ids_reused, "ids are used again", "an id is never used again"},
    {fault::bytes_cut_at_nul, "bytes are cut at NUL", "bytes come back exactly, whatever they are"},
    {fault::bytes_in_order_of_id, "bytes come by id, not as asked for",
     "the bytes of several rows come in the order asked for"},
    {fault::every_round_the_first, "the next holder gets no checkpoint and no receipts",
     "a receipt may come late, changes no job, and reaches the next holder"},
    {fault::receipts_newest_first, "receipts come newest first",
     "receipts come oldest first, as they were left, with the row that they are of"},
    {fault::tail_unknown, "the end of the line is not known",
     "a clock that steps back an hour holds up nothing that asked for no delay"},
    {fault::tail_of_those_that_wait, "the end of the line is one of those that wait",
     "the tail is the greatest instant of the rows that do not wait, by queue and priority"},
    {fault::limit_of_ended_ignored, "more ended rows than asked for",
     "ended rows come oldest first, up to an instant and a limit, those set aside only when asked"},
    {fault::ended_at_any_time, "ended rows whenever they ended",
     "ended rows come oldest first, up to an instant and a limit, those set aside only when asked"},
    {fault::quarantined_always_ended, "rows set aside are pruned unasked",
     "ended rows come oldest first, up to an instant and a limit, those set aside only when asked"},
    {fault::ended_newest_first, "ended rows come newest first",
     "pruning goes by the instant of the end, whatever the end was"},
    {fault::identity_never_renewed, "the identity is never renewed",
     "a marker of another store, or of the one before a backup was restored, is foreign"},
    {fault::identity_known_from_the_start, "a store knows only the identity that it was opened with",
     "whoever has the store open knows its new identity at once"},
    {fault::any_axis, "clocks of any axis are taken", "a store keeps to the axis of the clock that it was made with"},
    {fault::clock_read_before_the_lock, "the clock is read before the lock is had",
     "the clock is read after the lock is held: a lease is measured from there"},
    {fault::clock_read_twice, "the clock is read more than once",
     "the clock is read once for every verb that writes, and only while the write lock is held"},
    {fault::view_of_what_is_not_committed, "a view shows what is not committed",
     "a view never shows what is not committed"},
    {fault::view_of_many_moments, "a view shows what is committed while it lives",
     "a view is one moment: what is committed while it lives, it does not show"},
    {fault::pages_that_end_early, "a page does not say that there is another", "a list shows what fits, page by page"},
    {fault::next_vesting_unknown, "a view does not know what comes next",
     "a view knows when the next job of a queue may be taken"},
    {fault::silent_commits, "commits change nothing that could be waited for",
     "every commit that makes a job ready changes what is waited for, for whoever has the store open"},
};

store_contract<broken::place> contract_of(fault what) {
    return store_contract<broken::place>{[what] { return broken::place{what}; }};
}

TEST_CASE("the contract notices each broken store, by the rule that it breaks, and passes the same one unbroken",
          "[broken]") {
    std::string failures;
    const auto sound = contract_of(fault::none);
    const auto counts = sound.run_all([&](const check_result& check) {
        if (!check.passed) {
            failures += to_text(check) + '\n';
        }
    });
    INFO(failures);
    CHECK(counts.failed == 0);
    CHECK(counts.checks > 0);

    std::size_t caught = 0;
    for (const broken_store& each : broken_stores) {
        INFO(each.name);
        const auto contract = contract_of(each.what);
        const auto cases = contract.cases();
        const auto rule =
            std::find_if(cases.begin(), cases.end(), [&](const auto& one) { return one.name == each.noticed_by; });
        REQUIRE(rule != cases.end());
        std::vector<std::string> failed;
        contract.run(*rule, [&](const check_result& check) {
            if (!check.passed) {
                CHECK(check.rule == each.noticed_by);
                failed.push_back(to_text(check));
            }
        });
        CHECK_FALSE(failed.empty());
        if (!failed.empty()) {
            ++caught;
        }
    }
    CHECK(std::size(broken_stores) == caught);
    std::cout << "figure: contract: " << sound.cases().size() << " cases, " << counts.checks << " checks per store; "
              << std::size(broken_stores) << " broken stores, " << caught << " caught\n";
}

TEST_CASE("an exception that escapes a rule is a check that failed, and names it", "[broken]") {
    const store_contract<broken::place> nowhere{[]() -> broken::place { throw std::runtime_error{"no place"}; }};
    std::vector<std::string> told;
    const auto counts = nowhere.run(nowhere.cases().front(), [&](const check_result& check) {
        CHECK_FALSE(check.passed);
        told.push_back(std::string{check.rule} + ": " + std::string{check.seen});
    });
    CHECK(counts.checks == 1);
    CHECK(counts.failed == 1);
    CHECK(told == std::vector{std::string{nowhere.cases().front().name} + ": std::runtime_error: no place"});
}

TEST_CASE("what a store does not offer is skipped by name", "[broken]") {
    std::vector<std::string_view> skipped;
    const auto contract = contract_of(fault::none);
    for (const auto& group : contract.skipped()) {
        CHECK_FALSE(group.why.empty());
        skipped.push_back(group.name);
    }
    CHECK(skipped == std::vector<std::string_view>{"grouping", "adoption"});
}

TEST_CASE("no two rules of the contract have the same name", "[broken]") {
    std::vector<std::string_view> names;
    const auto contract = contract_of(fault::none);
    for (const auto& rule : contract.cases()) {
        CHECK_FALSE(rule.group.empty());
        names.push_back(rule.name);
    }
    std::sort(names.begin(), names.end());
    CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

}  // namespace
