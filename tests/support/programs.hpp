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

/// A command that gets a signal once so many seconds are over. `timeout` would send a SIGCONT after it; with that, the
/// leak sanitizer's own stop at the program's end can be lost, and then it waits for ever.
inline std::string interrupted(const std::string& command, int seconds, const std::string& signal) {
    return "timeout --foreground -s " + signal + ' ' + std::to_string(seconds) + ' ' + command;
}

}  // namespace programs
