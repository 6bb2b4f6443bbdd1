// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// The gate: a small file beside the database, with words in it for which processes wait.
///
/// Layout, 64 bytes: a name of eight bytes, which says the layout; two words of four bytes (see `gate_word`); the rest
/// is zero. Nothing in it is trusted: a file that is missing, damaged or of another layout only means that there is
/// no gate. Words are read by system calls and the kernel alone looks at them through the mapping, so that no
/// truncation can end the process. One thread uses the object at a time.
class gate_file {
public:
    using clock = std::chrono::steady_clock;

    /// Where in the file a word is.
    enum class gate_word : std::uint8_t {
        commits = 8,  ///< another one after every commit that may have made a job ready
        turns = 12,   ///< one more after every turn at the turnstile
    };

    /// Beside the database of this path.
    explicit gate_file(const std::string& database) : database_{database}, path_{database + "-gate"} {}
    gate_file(const gate_file&) = delete;
    gate_file& operator=(const gate_file&) = delete;
    ~gate_file() { close(); }

    /// Reads the gate; opens it first, and makes it where it is missing. False where there is none to be had: that is
    /// tried again a second later.
    bool look() noexcept {
        if (descriptor_ >= 0 && is_there() && is_whole()) {
            return true;
        }
        close();
        return open();
    }

    void close() noexcept {
        if (mapping_ != nullptr) {
            ::munmap(mapping_, size);
            mapping_ = nullptr;
        }
        if (descriptor_ >= 0) {
            ::close(descriptor_);
            descriptor_ = -1;
        }
    }

    /// As it was when the gate was looked at.
    std::uint32_t word(gate_word which) const noexcept {
        std::uint32_t value = 0;
        std::memcpy(&value, found_.data() + static_cast<std::size_t>(which), sizeof value);
        return value;
    }

    bool write(gate_word which, std::uint32_t value) const noexcept {
        return ::pwrite(descriptor_, &value, sizeof value, static_cast<off_t>(which)) == sizeof value;
    }

    /// For the kernel.
    void* address(gate_word which) const noexcept { return mapping_ + static_cast<std::size_t>(which); }
    int descriptor() const noexcept { return descriptor_; }

private:
    static constexpr std::array<char, 8> layout{'l', 'h', 'g', 'a', 't', 'e', '0', '1'};
    static constexpr std::size_t size = 64;
    static constexpr std::chrono::seconds between_tries{1};
    /// For so long a gate that was removed or replaced may still be taken for the gate.
    static constexpr std::chrono::milliseconds between_checks{10};

    bool open() noexcept {
        const auto now = clock::now();
        if (now < next_try_) {
            return false;
        }
        next_try_ = now + between_tries;
        descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (descriptor_ >= 0 && made_whole()) {
            void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
            mapping_ = at == MAP_FAILED ? nullptr : static_cast<char*>(at);
        }
        if (mapping_ == nullptr) {
            close();
        }
        return mapping_ != nullptr;
    }

    /// Not one that was removed or replaced under us, where nobody else would come.
    bool is_there() noexcept {
        const auto now = clock::now();
        if (now < next_check_) {
            return true;
        }
        next_check_ = now + between_checks;
        struct stat there {};
        return ::fstat(descriptor_, &there) == 0 && there.st_nlink > 0;
    }

    bool is_whole() noexcept {
        return ::pread(descriptor_, found_.data(), found_.size(), 0) == static_cast<ssize_t>(found_.size()) &&
               std::equal(layout.begin(), layout.end(), found_.begin());
    }

    /// An empty file becomes a gate, with the permissions of the database; one that is something else is left alone.
    bool made_whole() noexcept {
        struct stat found {};
        if (::fstat(descriptor_, &found) != 0 || !S_ISREG(found.st_mode)) {
            return false;
        }
        if (found.st_size == 0) {
            struct stat model {};
            if (::stat(database_.c_str(), &model) == 0) {
                (void)!::fchown(descriptor_, model.st_uid, model.st_gid);
                ::fchmod(descriptor_, model.st_mode & 0777U);
            }
            std::array<char, size> fresh{};
            std::copy(layout.begin(), layout.end(), fresh.begin());
            (void)!::pwrite(descriptor_, fresh.data(), fresh.size(), 0);
        }
        return is_whole();
    }

    std::string database_;
    std::string path_;
    int descriptor_ = -1;
    char* mapping_ = nullptr;
    std::array<char, size> found_{};
    clock::time_point next_try_{};
    clock::time_point next_check_{};
};

using gate_word = gate_file::gate_word;

}  // namespace leasehold::inline v0_1_0::detail::sqlite
