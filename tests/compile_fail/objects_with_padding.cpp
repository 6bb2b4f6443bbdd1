// SPDX-License-Identifier: MIT
// error: Equal values of T may differ in their bytes
#include <cstdint>

#include <leasehold/typed_queue.hpp>

struct with_padding {
    std::int8_t small = 0;
    std::int32_t large = 0;
};

const auto size = sizeof(leasehold::object_codec<with_padding>);
