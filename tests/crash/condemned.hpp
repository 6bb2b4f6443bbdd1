// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <thread>

#include <sys/wait.h>

#include "crash/notes.hpp"
#include "support/processes.hpp"
#include "support/sanitizers.hpp"

namespace crash {

/// Under a sanitizer a fork copies very much, so there are fewer.
constexpr std::size_t share = sanitizers::address || sanitizers::thread ? 8 : 1;

/// How a process is to end: some time after it began to work, or had its first answer; or before a system call, where
/// its work sees to that.
struct sentence {
    std::optional<std::uint64_t> at_call{};
    std::chrono::microseconds after{};
    bool is_answered_first = false;
};

/// What was seen in all.
struct kill_counts {
    std::size_t kills = 0;
    std::size_t acknowledged = 0;  ///< calls that had returned
    std::size_t under_way = 0;     ///< calls that had not

    void add(const notes& told) {
        told.each([this](const noted_call& call) { ++(call.is_open() ? under_way : acknowledged); });
    }
};

std::ostream& operator<<(std::ostream& to, const kill_counts& counts) {
    return to << counts.kills << " kills, " << counts.acknowledged << " calls acknowledged before them, "
              << counts.under_way << " under way, 0 lost or half done\n";
}

/// A process that works, and is killed.
class condemned {
public:
    template <class Work>
    condemned(const sentence& how, notes& on, const Work& work)
        : how_{how}, on_{on}, victim_{[&] {
              on.is_under_way() = true;
              work();
          }} {}

    /// Returns once it has ended: true where it was killed, false where it had done all of its work before.
    bool was_killed() {
        if (!how_.at_call) {
            const auto latest = std::chrono::steady_clock::now() + std::chrono::minutes{1};
            while (!has_begun() && std::chrono::steady_clock::now() < latest) {
                std::this_thread::yield();
            }
            std::this_thread::sleep_for(how_.after);
            victim_.signal(SIGKILL);
        }
        const int status = victim_.wait();
        return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    }

private:
    bool has_begun() const {
        if (!how_.is_answered_first) {
            return on_.is_under_way();
        }
        bool is_answered = false;
        on_.each([&](const noted_call& call) { is_answered = is_answered || call.is_answered(); });
        return is_answered;
    }

    sentence how_;
    notes& on_;
    processes::child victim_;
};

}  // namespace crash
