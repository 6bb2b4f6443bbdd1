// SPDX-License-Identifier: MIT
#pragma once

/// Which of the sanitizers the tests are compiled with.
namespace sanitizers {

#if defined(__has_feature)  // clang
inline constexpr bool address = __has_feature(address_sanitizer);
inline constexpr bool thread = __has_feature(thread_sanitizer);
#else
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool address = true;
#else
inline constexpr bool address = false;
#endif
#ifdef __SANITIZE_THREAD__
inline constexpr bool thread = true;
#else
inline constexpr bool thread = false;
#endif
#endif

}  // namespace sanitizers
