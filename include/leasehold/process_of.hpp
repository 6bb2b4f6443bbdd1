// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

#include <pthread.h>

#include <leasehold/errors.hpp>

namespace leasehold::inline v0_1_0::detail {

/// How often this process was forked, counted from the first that it comes from: another number in every child. (A
/// process's id is none: it can be the same in a namespace of its own, and costs a call of the system each time.)
inline std::atomic<std::uint32_t> forks{0};

/// The process that something was made in. A child of a fork has a copy of all that its parent had, but not its locks,
/// not its threads, and no right to what it has open. Noticed is what `fork` tells of: not a bare system call.
class process_of {
public:
    process_of() : made_in_{this_one()} {}

    bool is_this() const noexcept { return made_in_ == forks.load(std::memory_order_relaxed); }

    /// Throws `store_unsupported` in any other process. To be asked before any lock: the thread that holds it may not
    /// be in this process at all.
    void refuse_another() const {
        if (!is_this()) {
            refuse();
        }
    }

private:
    static std::uint32_t this_one() {
        static const bool is_counted = ::pthread_atfork(nullptr, nullptr, [] { ++forks; }) == 0;
        if (!is_counted) {
            throw std::bad_alloc{};
        }
        return forks.load(std::memory_order_relaxed);
    }

    [[noreturn]] static void refuse() {
        throw store_unsupported{
            "this was opened before the process was forked, and is its parent's: each process opens its own"};
    }

    std::uint32_t made_in_;
};

/// Deletes what was made in this process. In a child of a fork it is left alone for good: to close the engine's files
/// there would take back the parent's transaction, or its log away; to end a lock would wait for its threads.
class delete_where_made {
public:
    template <class T>
    void operator()(T* object) const noexcept {
        if (made_in_.is_this()) {
            delete object;
        }
    }

private:
    process_of made_in_{};
};

template <class T>
using bound_to_process = std::unique_ptr<T, delete_where_made>;

}  // namespace leasehold::inline v0_1_0::detail
