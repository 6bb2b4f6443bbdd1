// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

/// Waiting in the kernel for a word of a mapped file to change. The kernel alone touches the word: a file that is
/// truncated under it is an error here, and no signal.
namespace leasehold::detail::sqlite {

#ifdef __linux__

enum class woken : std::uint8_t { by_somebody, by_change, by_time, not_possible };

inline woken futex_wait(void* word, std::uint32_t seen, std::chrono::nanoseconds at_most) noexcept {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
    const std::timespec span{seconds.count(), (at_most - seconds).count()};
    if (::syscall(SYS_futex, word, FUTEX_WAIT, seen, &span, nullptr, 0) == 0) {
        return woken::by_somebody;
    }
    return errno == EAGAIN      ? woken::by_change
           : errno == ETIMEDOUT ? woken::by_time
           : errno == EINTR     ? woken::by_somebody
                                : woken::not_possible;
}

/// Wakes all that wait for the word.
inline void futex_wake_all(void* word) noexcept {
    ::syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

/// Adds one to the word, and wakes who has waited longest for it. How many that were: 0 or 1, or below 0 where it could
/// not be done.
inline long futex_step(void* word) noexcept {
    // The call wakes a second one where a comparison holds: with -1, once in a full turn of the word.
    constexpr unsigned add_one = FUTEX_OP(static_cast<unsigned>(FUTEX_OP_ADD), 1U, FUTEX_OP_CMP_EQ, 0xFFFU);
    return ::syscall(SYS_futex, word, FUTEX_WAKE_OP, 1, nullptr, word, add_one);
}

#else

enum class woken : std::uint8_t { by_somebody, by_change, by_time, not_possible };

inline woken futex_wait(void*, std::uint32_t, std::chrono::nanoseconds) noexcept { return woken::not_possible; }
inline void futex_wake_all(void*) noexcept {}
inline long futex_step(void*) noexcept { return -1; }

#endif

}  // namespace leasehold::detail::sqlite
