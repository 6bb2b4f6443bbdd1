// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include <sys/ioctl.h>
#include <unistd.h>

#include <leasehold/time.hpp>

#include "table.hpp"

/// The terminal that standard output may be.
namespace inspect {

struct size {
    std::size_t columns = unlimited;
    std::size_t rows = unlimited;
};

inline bool is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

inline size terminal_size() {
    winsize said{};
    if (!is_terminal() || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &said) != 0 || said.ws_col == 0 || said.ws_row == 0) {
        return {};
    }
    return {said.ws_col, said.ws_row};
}

inline void print(const std::vector<std::string>& lines) {
    const std::size_t columns = terminal_size().columns;
    for (const std::string& line : lines) {
        std::cout << cut(line, columns) << '\n';
    }
}

/// Signals that end a watch, or call for another frame. Made before any thread is, so that all leave them to it.
class watched_signals {
public:
    watched_signals() {
        ::sigemptyset(&which_);
        for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) {
            ::sigaddset(&which_, each);
        }
        ::sigprocmask(SIG_BLOCK, &which_, nullptr);
    }

    /// Waits so long, or until the terminal has another size. False: somebody asked for the end.
    bool pause(millis length) const {
        const std::timespec time{length.count() / 1000, static_cast<long>(length.count() % 1000 * 1'000'000)};
        const int signal = ::sigtimedwait(&which_, nullptr, &time);
        return signal <= 0 || signal == SIGWINCH;
    }

private:
    sigset_t which_{};
};

/// Frames that take each other's place, on a screen of their own that goes with the object. Where standard output is no
/// terminal they follow each other.
class screen {
public:
    screen() {
        if (is_on_) {
            std::cout << "\033[?1049h\033[?25l" << std::flush;
        }
    }
    screen(const screen&) = delete;
    screen& operator=(const screen&) = delete;
    ~screen() {
        if (is_on_) {
            std::cout << "\033[?25h\033[?1049l" << std::flush;
        }
    }

    void draw(const std::vector<std::string>& lines) const {
        if (!is_on_) {
            print(lines);
            std::cout << std::endl;
            return;
        }
        const size room = terminal_size();
        const bool fits = lines.size() <= room.rows;
        const std::size_t count = fits ? lines.size() : room.rows - 1;
        std::string frame = "\033[H";
        for (std::size_t i = 0; i < count; ++i) {
            frame += (i > 0 ? "\r\n" : "") + cut(lines[i], room.columns) + "\033[K";
        }
        if (!fits) {
            frame += (count > 0 ? "\r\n" : "") +
                     cut("… " + std::to_string(lines.size() - count) + " more lines", room.columns) + "\033[K";
        }
        std::cout << frame << "\033[J" << std::flush;
    }

private:
    bool is_on_ = is_terminal();
};

}  // namespace inspect
