// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

/// Catch2, version 2 or 3.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
inline auto contains(const std::string& part) { return Catch::Matchers::ContainsSubstring(part); }
using test_handle = Catch::Detail::unique_ptr<Catch::ITestInvoker>;
#else
#include <catch2/catch.hpp>
inline auto contains(const std::string& part) { return Catch::Matchers::Contains(part); }
using test_handle = Catch::ITestInvoker*;
#endif

/// Makes a test at run time, before `main`: as TEST_CASE does.
inline void add_test(const std::string& name, const std::string& tags, std::function<void()> body) {
    struct test final : Catch::ITestInvoker {
        explicit test(std::function<void()> what) : body{std::move(what)} {}
        void invoke() const override { body(); }
        std::function<void()> body;
    };
    const Catch::AutoReg registered{test_handle{new test{std::move(body)}}, CATCH_INTERNAL_LINEINFO, "",
                                    Catch::NameAndTags{name, tags}};
}
