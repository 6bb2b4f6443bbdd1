// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <random>

#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0::detail {

/// 128 bits from the system's own source: a generator that is seeded once would repeat itself after a fork.
inline store_id random_store_id() {
    std::random_device source;
    store_id id;
    for (std::uint8_t& byte : id.bytes) {
        byte = static_cast<std::uint8_t>(source());
    }
    return id;
}

}  // namespace leasehold::inline v0_1_0::detail
