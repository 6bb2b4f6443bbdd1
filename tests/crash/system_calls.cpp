// SPDX-License-Identifier: MIT
#include "system_calls.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using crash::onlooker;
using crash::system_call;
using kind = crash::system_call::kind;

/// The call, unless the onlooker answers in its place.
template <class Call>
long watched(system_call& what, const Call& call) {
    onlooker* const on = onlooker::current();
    if (on == nullptr) {
        return call();
    }
    if (const int refused = on->before(what); refused != 0) {
        errno = refused;
        return -1;
    }
    const long answer = call();
    if (answer >= 0) {
        if (what.what == kind::open) {
            what.descriptor = static_cast<int>(answer);
        }
        const int before = errno;
        on->after(what);
        errno = before;
    }
    return answer;
}

int opened(const char* path, int flags, mode_t mode) {
    struct stat found {};
    const int before = errno;
    const bool is_made = (flags & O_CREAT) != 0 && ::lstat(path, &found) != 0;
    errno = before;
    system_call what{.what = kind::open, .path = path, .is_made = is_made};
    return static_cast<int>(watched(what, [&] { return ::syscall(SYS_openat, AT_FDCWD, path, flags, mode); }));
}

ssize_t written(int descriptor, const void* bytes, std::size_t size, off_t offset) {
    system_call what{.what = kind::write, .descriptor = descriptor, .bytes = bytes, .size = size, .offset = offset};
    return watched(what, [&] {
        onlooker* const on = onlooker::current();
        what.size = on == nullptr ? size : on->taken(what);
        return ::syscall(SYS_pwrite64, descriptor, bytes, what.size, offset);
    });
}

int truncated(int descriptor, off_t length) {
    system_call what{.what = kind::truncate, .descriptor = descriptor, .offset = length};
    return static_cast<int>(watched(what, [&] { return ::syscall(SYS_ftruncate, descriptor, length); }));
}

int synced(int descriptor, long number) {
    system_call what{.what = kind::sync, .descriptor = descriptor};
    return static_cast<int>(watched(what, [&] { return ::syscall(number, descriptor); }));
}

int removed(int folder, const char* path, int flags) {
    const kind which = (flags & AT_REMOVEDIR) != 0 ? kind::remove_folder : kind::remove;
    system_call what{.what = which, .descriptor = folder, .path = path};
    return static_cast<int>(watched(what, [&] { return ::syscall(SYS_unlinkat, folder, path, flags); }));
}

/// The mode, which is there only where a file may be made.
mode_t mode_of(int flags, va_list& rest) {
    return (flags & O_CREAT) != 0 ? static_cast<mode_t>(va_arg(rest, unsigned)) : mode_t{};
}

}  // namespace

// NOLINTBEGIN: these are the C library's names and forms
extern "C" {

int open(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return opened(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = mode_of(flags, rest);
    va_end(rest);
    return opened(path, flags, mode);
}
ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
    return written(descriptor, bytes, size, offset);
}
ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
    return written(descriptor, bytes, size, offset);
}
int ftruncate(int descriptor, off_t length) noexcept { return truncated(descriptor, length); }
int ftruncate64(int descriptor, off64_t length) noexcept { return truncated(descriptor, length); }
int fsync(int descriptor) { return synced(descriptor, SYS_fsync); }
int fdatasync(int descriptor) { return synced(descriptor, SYS_fdatasync); }
int unlink(const char* path) noexcept { return removed(AT_FDCWD, path, 0); }
int rmdir(const char* path) noexcept { return removed(AT_FDCWD, path, AT_REMOVEDIR); }
int unlinkat(int folder, const char* path, int flags) noexcept { return removed(folder, path, flags); }
int link(const char* from, const char* to) noexcept {
    system_call what{.what = kind::link, .path = to, .from = from};
    return static_cast<int>(watched(what, [&] { return ::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0); }));
}
int mkdir(const char* path, mode_t mode) noexcept {
    system_call what{.what = kind::make_folder, .path = path};
    return static_cast<int>(watched(what, [&] { return ::syscall(SYS_mkdirat, AT_FDCWD, path, mode); }));
}
/// The C library's own would not come by.
char* mkdtemp(char* pattern) noexcept {
    constexpr std::size_t varying = 6;
    char* const varied = pattern + (std::strlen(pattern) - varying);
    do {
        unsigned char random[varying];
        (void)!::getrandom(&random[0], sizeof random, 0);
        for (std::size_t i = 0; i < varying; ++i) {
            varied[i] = static_cast<char>('a' + random[i] % 26);
        }
        if (::mkdir(pattern, 0700) == 0) {
            return pattern;
        }
    } while (errno == EEXIST);
    return nullptr;
}
/// What SQLite locks files by.
int fcntl64(int descriptor, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void* const argument = va_arg(rest, void*);  // an integer is passed in the same way
    va_end(rest);
    system_call what{.what = kind::lock, .descriptor = descriptor};
    const auto call = [&] { return ::syscall(SYS_fcntl, descriptor, command, argument); };
    return static_cast<int>(command == F_SETLK ? watched(what, call) : call());
}
}
// NOLINTEND
