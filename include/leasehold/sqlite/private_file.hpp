// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <leasehold/errors.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

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

/// Something that is open, until it goes.
class open_descriptor {
public:
    explicit open_descriptor(int number) noexcept : number_{number} {}
    open_descriptor(open_descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
    open_descriptor& operator=(open_descriptor&&) = delete;
    ~open_descriptor() {
        if (number_ >= 0) {
            ::close(number_);
        }
    }

    static open_descriptor of_folder(const char* path, int flags = 0) noexcept {
        return open_descriptor{::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags)};
    }

    explicit operator bool() const noexcept { return number_ >= 0; }
    int number() const noexcept { return number_; }

private:
    int number_;
};

/// A folder for a file that is being made, beside where the file is wanted. Who makes one holds its file lock, and
/// before that removes those that nobody holds any more: a process that is killed leaves one behind, but not two.
/// (It is the folder that is locked, and no file: to close a file would drop the engine's own locks on it.)
class making_folder {
public:
    static constexpr const char* file_name = "new";

    explicit making_folder(const std::filesystem::path& beside) {
        remove_abandoned(beside);
        do {
            path_ = beside / (std::string{prefix} + "XXXXXX");
            std::string name = path_.string();
            if (::mkdtemp(name.data()) == nullptr) {
                raise_system("making a folder in " + beside.string(), errno);
            }
            path_ = name;
        } while (!hold());
    }
    making_folder(const making_folder&) = delete;
    making_folder& operator=(const making_folder&) = delete;
    ~making_folder() { remove(*held_, path_.c_str()); }

    std::string file() const { return path_ / file_name; }

private:
    static constexpr std::string_view prefix = ".leasehold-";
    static constexpr std::size_t name_length = prefix.size() + 6;

    /// False where somebody removes it, or has done so: it was there a moment without being held.
    bool hold() {
        held_.emplace(open_descriptor::of_folder(path_.c_str()));
        if (!*held_ && errno != ENOENT) {
            const int refused = errno;
            ::rmdir(path_.c_str());
            raise_system("opening a folder just made: " + path_.string(), refused);
        }
        struct stat found {};
        return *held_ && is_free(*held_) && ::fstat(held_->number(), &found) == 0 && found.st_nlink > 0;
    }

    /// Takes the lock of a folder; false where somebody has it. (A file system may know no such locks.)
    static bool is_free(const open_descriptor& folder) noexcept {
        return ::flock(folder.number(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    }

    static void remove_abandoned(const std::filesystem::path& in) {
        std::error_code error;
        const std::filesystem::directory_iterator end;
        for (std::filesystem::directory_iterator at{in, error}; !error && at != end; at.increment(error)) {
            const std::string name = at->path().filename().string();
            if (name.size() == name_length && name.starts_with(prefix)) {
                const open_descriptor found = open_descriptor::of_folder(at->path().c_str(), O_NOFOLLOW);
                if (found && ::flock(found.number(), LOCK_EX | LOCK_NB) == 0) {
                    remove(found, at->path().c_str());
                }
            }
        }
    }

    /// What can be in it, and then the folder, unless something else is in it.
    static void remove(const open_descriptor& folder, const char* path) noexcept {
        for (const char* const suffix : {"", "-journal", "-wal", "-shm"}) {
            ::unlinkat(folder.number(), (std::string{file_name} + suffix).c_str(), 0);
        }
        ::rmdir(path);
    }

    std::filesystem::path path_{};
    std::optional<open_descriptor> held_{};
};

/// A new, private file, in a folder of its own until it has its name. Gone with the object.
class unnamed_file {
public:
    unnamed_file(const std::filesystem::path& wanted, unsigned mode) : folder_{wanted.parent_path()} {
        const open_descriptor made{
            ::open(path().c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, static_cast<mode_t>(mode))};
        if (!made || ::fchmod(made.number(), static_cast<mode_t>(mode)) != 0) {  // whatever the process's mask
            raise_system("making a file beside " + wanted.string(), errno);
        }
    }

    std::string path() const { return folder_.file(); }

    /// Gives the file its name, unless somebody else has made one of that name meanwhile: then that one stays. False
    /// where the file system cannot do so.
    bool publish(const std::filesystem::path& wanted) const {
        // Unlike a rename, a link replaces nothing.
        const int refused = ::link(path().c_str(), wanted.c_str()) == 0 ? 0 : errno;
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
    /// So that a power cut does not take the name away again. Where a folder cannot be read, or has nothing to sync,
    /// that is left to the engine, which tries the same at its first commit.
    static void sync_folder(const std::filesystem::path& folder) {
        const open_descriptor opened = open_descriptor::of_folder(folder.c_str());
        if (opened && ::fsync(opened.number()) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS) {
            raise_system("making the name in " + folder.string() + " last", errno);
        }
    }

    making_folder folder_;
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

}  // namespace leasehold::inline v0_1_0::detail::sqlite
