// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string_view>

#include <leasehold/errors.hpp>

/// What a fuzzer is told beside which code it has reached.
namespace fuzz {

/// Counters that libFuzzer looks at as if they were code: an engine that was not compiled for it shows itself by its
/// answers.
#ifdef __linux__
__attribute__((section("__libfuzzer_extra_counters")))
#endif
inline std::array<std::uint8_t, 8192>
    counters{};

inline void note(std::size_t what, int answer) noexcept {
    std::uint8_t& counter = counters.at((what * 1031 + static_cast<std::size_t>(answer) * 7) % counters.size());
    counter = static_cast<std::uint8_t>(counter + (counter < UINT8_MAX ? 1U : 0U));
}

/// Not an answer: whatever the input was, it must not come to this.
[[noreturn]] inline void fail(std::string_view what) {
    std::cerr << "broken: " << what << std::endl;
    std::abort();
}

inline void require(bool holds, std::string_view what) {
    if (!holds) {
        fail(what);
    }
}

/// Calls; an argument that is refused and a fault of the store are answers, anything else that is thrown is not.
/// Returns whether nothing was thrown.
template <class Call>
bool try_to(std::size_t what, const Call& call) {
    try {
        call();
        note(what, 0);
        return true;
    } catch (const leasehold::store_error& fault) {
        note(what, fault.code() + 1);
    } catch (const std::invalid_argument&) {
        note(what, 1);
    } catch (const std::exception& other) {
        fail(other.what());
    }
    return false;
}

}  // namespace fuzz
