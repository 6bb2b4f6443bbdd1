// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>

/// How long a randomised test runs, and from where.
namespace soaking {

/// What the environment says, or `otherwise` where it says nothing.
inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace soaking

/// The short form's count, times LEASEHOLD_SOAK where that is set: the long form of the same test.
inline std::size_t soak(std::size_t count) {
    return count * static_cast<std::size_t>(soaking::from_environment("LEASEHOLD_SOAK", 1));
}

/// LEASEHOLD_SEED, or another one each time. A test that fails says which it had.
inline std::uint64_t seed() { return soaking::from_environment("LEASEHOLD_SEED", std::random_device{}()); }
