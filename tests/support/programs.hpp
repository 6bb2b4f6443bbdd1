// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>
#include <string>

#include <sys/wait.h>

#include "support/catch.hpp"

/// Programs, run by a shell as a person would run them.
namespace programs {

struct outcome {
    int status = -1;
    std::string text{};  ///< what it wrote to its standard output
};

/// Returns when the last child that has its output is gone.
inline outcome run(const std::string& command) {
    FILE* const pipe = ::popen(command.c_str(), "r");
    REQUIRE(pipe != nullptr);
    outcome seen;
    for (int c = 0; (c = ::fgetc(pipe)) != EOF;) {
        seen.text += static_cast<char>(c);
    }
    const int status = ::pclose(pipe);
    seen.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return seen;
}

}  // namespace programs
