// SPDX-License-Identifier: MIT
#pragma once

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
namespace leasehold::inline v0_1_0::detail::sqlite {

#ifdef __linux__

/// Waits until the word is another than `seen`, or for `at_most`; may come back sooner. False where that cannot be
/// waited for.
inline bool futex_wait(void* word, std::uint32_t seen, std::chrono::nanoseconds at_most) noexcept {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
    const std::timespec span{seconds.count(), (at_most - seconds).count()};
    return ::syscall(SYS_futex, word, FUTEX_WAIT, seen, &span, nullptr, 0) == 0 || errno == EAGAIN ||
           errno == ETIMEDOUT || errno == EINTR;
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

inline bool futex_wait(void*, std::uint32_t, std::chrono::nanoseconds) noexcept { return false; }
inline void futex_wake_all(void*) noexcept {}
inline long futex_step(void*) noexcept { return -1; }

#endif

}  // namespace leasehold::inline v0_1_0::detail::sqlite
