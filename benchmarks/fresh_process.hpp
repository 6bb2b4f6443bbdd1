// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace bench {

/// With this and a file's path, the program is the claiming process that memory.cpp looks at.
inline constexpr std::string_view claim_from_option = "--claim-from";

/// Claims and finishes some jobs of a file, and prints the most memory that this process ever had, in KiB.
int claim_from(const char* path);

}  // namespace bench
