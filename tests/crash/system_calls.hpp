// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include <sys/types.h>

/// What a process asks of the kernel about files. The test binary defines these calls itself (system_calls.cpp), so
/// that SQLite's and the library's own come by here alike, in their order: below SQLite's VFS and beside it.
namespace crash {

struct system_call {
    enum class kind : std::uint8_t { open, write, truncate, sync, lock, link, remove, make_folder, remove_folder };

    kind what{};
    int descriptor = -1;  ///< of open: once it has succeeded; of remove, remove_folder: what the path starts from
    const char* path = nullptr;  ///< of open, link (the new one), remove, make_folder, remove_folder
    const char* from = nullptr;  ///< of link
    const void* bytes = nullptr;
    std::size_t size = 0;
    off_t offset = 0;      ///< of truncate: the new length
    bool is_made = false;  ///< of open: whether there was no such file
};

/// Sees all calls while it lives. One at a time.
class onlooker {
public:
    onlooker() {
        if (current() != nullptr) {
            throw std::logic_error{"one onlooker at a time"};
        }
        current() = this;
    }
    onlooker(const onlooker&) = delete;
    onlooker& operator=(const onlooker&) = delete;
    virtual ~onlooker() { current() = nullptr; }

    /// Anything but 0 is the error that is answered in place of the call.
    virtual int before(const system_call&) { return 0; }
    /// How many of the bytes that are to be written are.
    virtual std::size_t taken(const system_call& of) { return of.size; }
    /// The call has succeeded.
    virtual void after(const system_call&) {}

    static onlooker*& current() noexcept {
        static onlooker* living = nullptr;
        return living;
    }
};

}  // namespace crash
