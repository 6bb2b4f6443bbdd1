// SPDX-License-Identifier: MIT
#pragma once

#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <string_view>

/// Files as bytes; one that is not there has none.
namespace files {

inline std::string read(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

inline void write(const std::string& path, std::string_view bytes) {
    std::ofstream{path, std::ios::binary}.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace files
