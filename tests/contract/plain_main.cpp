// SPDX-License-Identifier: MIT
/// The contract without any test framework, as somebody with a store of their own would run it.
#include <iostream>

#include <leasehold/memory_store.hpp>
#include <leasehold/testing/store_contract.hpp>

namespace {

/// Where a store lives. Copies of a `memory_store` share their rows: so each call opens the same ones.
struct place {
    leasehold::memory_store store() const { return rows; }
    leasehold::memory_store rows{};
};

}  // namespace

int main() {
    const leasehold::testing::store_contract<place> contract;
    const leasehold::testing::check_counts counts = contract.run_all([](const leasehold::testing::check_result& check) {
        if (!check.passed) {
            std::cerr << to_text(check) << '\n';
        }
    });
    for (const leasehold::testing::skipped_group& group : contract.skipped()) {
        std::cout << "skipped: " << group.name << ", since " << group.why << '\n';
    }
    std::cout << contract.cases().size() << " rules, " << counts.checks << " checks, " << counts.failed << " failed\n";
    return counts.failed == 0 && counts.checks > 0 ? 0 : 1;
}
