// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/testing/contract/check_result.hpp>
#include <leasehold/testing/contract/shown.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0::testing::detail {

/// Thrown where a case cannot go on: what failed has been reported.
struct case_over {};

/// The kind of an error, by the name that it has in this library.
inline std::string_view error_name(const std::type_info& kind) {
    struct known {
        const std::type_info* type;
        std::string_view name;
    };
    for (const known& each :
         {known{&typeid(store_error), "store_error"}, known{&typeid(store_busy), "store_busy"},
          known{&typeid(store_unknown), "store_unknown"}, known{&typeid(store_full), "store_full"},
          known{&typeid(store_readonly), "store_readonly"}, known{&typeid(store_corrupt), "store_corrupt"},
          known{&typeid(store_unsupported), "store_unsupported"},
          known{&typeid(std::invalid_argument), "std::invalid_argument"},
          known{&typeid(std::logic_error), "std::logic_error"},
          known{&typeid(std::runtime_error), "std::runtime_error"}}) {
        if (*each.type == kind) {
            return each.name;
        }
    }
    return kind.name();
}

inline std::string described(const std::exception& error) {
    return std::string{error_name(typeid(error))} + ": " + error.what();
}

/// A call, borrowed; what it returns is dropped.
class borrowed_call {
public:
    template <std::invocable Call>
    borrowed_call(const Call& call)  // NOLINT(google-explicit-constructor): any call may be checked
        : call_{&call}, run_{[](const void* what) { (void)(*static_cast<const Call*>(what))(); }} {}

    void operator()() const { run_(call_); }

private:
    const void* call_;
    void (*run_)(const void*);
};

/// What a case checks by: each check is told of, whatever came of it. To be used on the thread of the case. What makes
/// texts and reports is no template, so that many checks are little code.
class checker {
public:
    using report = std::function<void(const check_result&)>;

    checker(std::string_view rule, const report& to) : rule_{rule}, report_{to} {}
    checker(const checker&) = delete;
    checker& operator=(const checker&) = delete;
    ~checker() = default;

    const check_counts& counts() const noexcept { return counts_; }

    /// From here on: which of several rounds of the case it is.
    void context(std::string what) { context_ = std::move(what); }

    bool that(bool holds, std::string_view what, code_line where = code_line::current()) {
        return tell(holds, what, holds ? what : "otherwise", where);
    }

    template <class Seen, class Wanted>
    bool equal(const Seen& seen, const Wanted& wanted, code_line where = code_line::current()) {
        if constexpr (std::integral<Seen> && !std::same_as<Seen, bool>) {
            return tell(std::cmp_equal(seen, wanted), shown(wanted), shown(seen), where);
        } else {
            return tell(seen == wanted, shown(wanted), shown(seen), where);
        }
    }

    bool applied(const settlement& answer, code_line where = code_line::current()) {
        return tell(answer.why == verdict::applied, "applied", to_text(answer), where);
    }
    bool applied(const amendment& answer, code_line where = code_line::current()) {
        return tell(answer.why == verdict::applied, "applied", to_text(answer), where);
    }
    bool refused(const settlement& answer, verdict why, code_line where = code_line::current()) {
        return tell(answer.why == why, to_text(why), to_text(answer), where);
    }
    bool refused(const amendment& answer, verdict why, code_line where = code_line::current()) {
        return tell(answer.why == why, to_text(why), to_text(answer), where);
    }

    /// Of an optional or a container: that there is nothing in it.
    template <class Holder>
    bool nothing(const Holder& holder, code_line where = code_line::current()) {
        if constexpr (requires { holder.empty(); }) {
            return tell(holder.empty(), "nothing", holder.empty() ? "nothing" : "something", where);
        } else {
            return tell(!holder, "nothing", holder ? "something" : "nothing", where);
        }
    }

    bool contains(std::string_view text, std::string_view part, code_line where = code_line::current()) {
        return tell(text.find(part) != std::string_view::npos, "a text with " + shown(part), shown(text), where);
    }
    bool lacks(std::string_view text, std::string_view part, code_line where = code_line::current()) {
        return tell(text.find(part) == std::string_view::npos, "a text without " + shown(part), shown(text), where);
    }

    /// That the call throws an `Error`, in whose text each of the parts stands.
    template <class Error>
    bool throws(borrowed_call call, std::initializer_list<std::string_view> parts = {},
                code_line where = code_line::current()) {
        return throws(call, error_name(typeid(Error)), parts, where,
                      [](const std::exception& error) { return dynamic_cast<const Error*>(&error) != nullptr; });
    }

    // ---- Without which a case cannot go on -------------------------------------------------------------------------

    void require(bool holds, std::string_view what, code_line where = code_line::current()) {
        if (!that(holds, what, where)) {
            throw case_over{};
        }
    }

    /// What is in there.
    template <class T>
    T some(std::optional<T> holder, code_line where = code_line::current()) {
        require(holder.has_value(), "something", where);
        return std::move(*holder);
    }

    /// So many as are needed for what comes next.
    template <class T>
    std::vector<T> exactly(std::size_t count, std::vector<T> all, code_line where = code_line::current()) {
        if (!tell(all.size() == count, shown(count) + " of them", shown(all.size()), where)) {
            throw case_over{};
        }
        return all;
    }

    /// What escaped the case.
    void escaped(std::string_view what) { tell(false, "no exception", what, {}); }

private:
    bool throws(borrowed_call call, std::string_view kind, std::initializer_list<std::string_view> parts,
                code_line where, bool (*is_kind)(const std::exception&)) {
        std::string expected{kind};
        for (const std::string_view part : parts) {
            expected += " with " + shown(part);
        }
        try {
            call();
        } catch (const std::exception& error) {
            bool fits = is_kind(error);
            for (const std::string_view part : parts) {
                fits = fits && std::string_view{error.what()}.find(part) != std::string_view::npos;
            }
            return tell(fits, expected, described(error), where);
        }
        return tell(false, expected, "no exception", where);
    }

    bool tell(bool passed, std::string_view expected, std::string_view seen, code_line where) {
        ++counts_.checks;
        counts_.failed += passed ? 0 : 1;
        report_({rule_, context_, where, expected, seen, passed});
        return passed;
    }

    std::string_view rule_;
    const report& report_;
    std::string context_{};
    check_counts counts_{};
};

}  // namespace leasehold::inline v0_1_0::testing::detail
