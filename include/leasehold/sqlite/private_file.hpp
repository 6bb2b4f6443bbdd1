// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
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

/// A new file under a name of its own, private, in the folder where it will be wanted. Gone with the object.
class unnamed_file {
public:
    unnamed_file(const std::filesystem::path& wanted, unsigned mode)
        : path_{(wanted.parent_path() / ".leasehold-XXXXXX").string()} {
        const int descriptor = ::mkostemp(path_.data(), O_CLOEXEC);
        if (descriptor < 0) {
            raise_system("making a file beside " + wanted.string(), errno);
        }
        const int refused = ::fchmod(descriptor, static_cast<mode_t>(mode)) == 0 ? 0 : errno;
        ::close(descriptor);  // before anybody else can have a lock on it, which this would drop
        if (refused != 0) {
            ::unlink(path_.c_str());
            raise_system("making a file beside " + wanted.string(), refused);
        }
    }
    unnamed_file(const unnamed_file&) = delete;
    unnamed_file& operator=(const unnamed_file&) = delete;
    ~unnamed_file() {
        for (const char* const suffix : {"", "-journal", "-wal", "-shm"}) {
            ::unlink((path_ + suffix).c_str());
        }
    }

    const std::string& path() const noexcept { return path_; }

    /// Gives the file its name, unless somebody else has made one of that name meanwhile: then that one stays. False
    /// where the file system cannot do so.
    bool publish(const std::filesystem::path& wanted) const {
        // Unlike a rename, a link replaces nothing.
        const int refused = ::link(path_.c_str(), wanted.c_str()) == 0 ? 0 : errno;
        if (refused == EPERM || refused == ENOTSUP || refused == ENOSYS) {
            return false;
        }
        if (refused != 0 && refused != EEXIST) {
            raise_system("making " + wanted.string(), refused);
        }
        sync_folder(wanted.parent_path());
        return true;
    }

private:
    /// So that a power cut does not take the name away again.
    static void sync_folder(const std::filesystem::path& folder) noexcept {
        const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (descriptor >= 0) {
            ::fsync(descriptor);
            ::close(descriptor);
        }
    }

    std::string path_;
};

inline bool is_there(const std::string& path) noexcept {
    struct stat found {};
    return ::stat(path.c_str(), &found) == 0;
}

/// An empty file, where there is none: for file systems without links.
inline void make_empty_file(const std::string& path, unsigned mode) {
    const int descriptor = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, static_cast<mode_t>(mode));
    if (descriptor < 0 && errno != EEXIST) {
        raise_system("making " + path, errno);
    }
    if (descriptor >= 0) {
        ::close(descriptor);
    }
}

}  // namespace leasehold::detail::sqlite
