// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include <leasehold/testing/store_contract.hpp>

#include "catch.hpp"

namespace places {

/// Makes a Catch2 test of each rule of the contract, for the stores of one kind of place.
template <class Place>
bool hold_to_the_contract(const std::string& store) {
    using leasehold::testing::check_result;
    const auto contract = std::make_shared<const leasehold::testing::store_contract<Place>>();
    for (const auto& rule : contract->cases()) {
        add_test(std::string{rule.name} + " - " + store, "[" + std::string{rule.group} + "]", [contract, &rule] {
            contract->run(rule, [](const check_result& check) {
                if (check.passed) {
                    SUCCEED();
                } else {
                    FAIL_CHECK(to_text(check));
                }
            });
        });
    }
    add_test("what is skipped, by name - " + store, "[skipped]", [contract, store] {
        for (const auto& group : contract->skipped()) {
            WARN(store << " has no " << group.name << ": " << group.why);
        }
    });
    return true;
}

}  // namespace places
