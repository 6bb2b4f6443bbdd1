// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <leasehold/errors.hpp>

namespace leasehold::detail::sqlite {

[[noreturn]] inline void raise_system(const std::string& doing, int error) {
    const std::string text = doing + ": " + std::generic_category().message(error);
    if (error == ENOSPC || error == EDQUOT) {
        throw store_full{text, error};
    }
    if (error == EROFS || error == EACCES || error == EPERM) {
        throw store_readonly{text, error};
    }
    throw store_error{text, error};
}

/// Makes an empty file with the permissions asked for where there is none, and leaves one that is there alone.
///
/// The file gets its name only once it is finished and closed: the database itself is never opened here, since closing
/// any descriptor of it would drop the locks that this process has on it, and nobody ever sees it with other
/// permissions.
inline void make_private_file(const std::string& path, unsigned mode) {
    struct stat there {};
    if (::stat(path.c_str(), &there) == 0) {
        return;
    }
    std::string fresh = path + ".new-XXXXXX";
    const int descriptor = ::mkostemp(fresh.data(), O_CLOEXEC);
    if (descriptor < 0) {
        raise_system("making " + path, errno);
    }
    const int refused = ::fchmod(descriptor, static_cast<mode_t>(mode)) == 0 ? 0 : errno;
    ::close(descriptor);
    // Unlike a rename, a link does not replace what another process made meanwhile.
    const int taken = refused != 0 || ::link(fresh.c_str(), path.c_str()) == 0 ? refused : errno;
    ::unlink(fresh.c_str());
    if (taken != 0 && taken != EEXIST) {
        raise_system("making " + path, taken);
    }
}

}  // namespace leasehold::detail::sqlite
