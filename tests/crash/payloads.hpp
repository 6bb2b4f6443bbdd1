// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>

namespace crash {

/// Bytes that tell whose they are, of any size: such as fill pages of their own, and such as do not.
inline std::string payload_of(const std::string& key, std::size_t size) {
    std::string text;
    while (text.size() < size) {
        text += key + ' ';
    }
    return text;
}

}  // namespace crash
