// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>
#include <unistd.h>

#include "processes.hpp"

namespace processes {

/// Another process, with a connection of its own to a file, that says what it sees. To be made before anything in this
/// process has the file open: a child inherits what the engine knows of its parent's locks.
class neighbour {
public:
    explicit neighbour(const std::string& path)
        : child_{[this, &path] {
              for (char question = 0; ::read(questions_.reading(), &question, 1) == 1;) {
                  answers_.write(std::string{answered(path)});
              }
          }} {}

    /// Whether the file's write lock is to be had at once.
    bool can_write() const {
        questions_.write("?");
        char answer = 0;
        if (::read(answers_.reading(), &answer, 1) != 1 || answer == 'e') {
            throw std::runtime_error{"the neighbour does not answer"};
        }
        return answer == 'y';
    }

private:
    static char answered(const std::string& path) {
        SQLite::Database file{path, SQLite::OPEN_READWRITE};
        const int answer = file.tryExec("BEGIN IMMEDIATE");
        return answer == SQLITE_OK ? 'y' : answer == SQLITE_BUSY ? 'n' : 'e';
    }

    pipe_ends questions_{};
    pipe_ends answers_{};
    child child_;
};

}  // namespace processes
