// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0::testing {

using leasehold::to_text;  // an instant is a type of the standard's

/// Where a check stands in the source. (`std::source_location`, which clang has from version 16 on.)
struct code_line {
    const char* file = "";
    unsigned line = 0;

    static constexpr code_line current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) noexcept {
        return {file, line};
    }
};

/// One check, as a harness hears of it. The texts live as long as the call.
struct check_result {
    std::string_view rule{};     ///< as a sentence
    std::string_view context{};  ///< in which of several rounds; mostly empty
    code_line where{};
    std::string_view expected{};
    std::string_view seen{};
    bool passed = false;
};

/// `rules.hpp:7: failed: a rule as a sentence (in which round): expected 1, seen 2`
inline std::string to_text(const check_result& check) {
    std::string text;
    if (check.where.line != 0) {  // an exception that escaped was thrown somewhere
        text = std::string{check.where.file} + ":" + std::to_string(check.where.line) + ": ";
    }
    text += (check.passed ? "passed: " : "failed: ") + std::string{check.rule};
    if (!check.context.empty()) {
        text += " (" + std::string{check.context} + ")";
    }
    return text + ": expected " + std::string{check.expected} + ", seen " + std::string{check.seen};
}

/// What a case, or all of them, came to.
struct check_counts {
    std::size_t checks = 0;
    std::size_t failed = 0;

    check_counts& operator+=(const check_counts& more) noexcept {
        checks += more.checks;
        failed += more.failed;
        return *this;
    }
};

}  // namespace leasehold::inline v0_1_0::testing
