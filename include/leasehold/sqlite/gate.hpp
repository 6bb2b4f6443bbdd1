// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

namespace leasehold::detail::sqlite {

/// A small file beside the database, with a word in it that changes after every commit that may have made a job ready:
/// processes wait for it.
///
/// Layout, 64 bytes: a name of eight bytes, which says the layout; the word, four bytes; the rest is zero. Nothing in
/// it is trusted: a file that is missing, damaged or of another layout only means that waiters look for themselves, a
/// little later. The word is read and written by system calls alone, and the kernel alone looks at it through the
/// mapping, so that no truncation can end the process.
class gate {
public:
    /// Beside the database of this path.
    explicit gate(std::string database) : database_{std::move(database)}, path_{database_ + "-gate"} {}
    gate(const gate&) = delete;
    gate& operator=(const gate&) = delete;
    ~gate() { close(); }

    /// The word; 0 where there is none.
    std::uint32_t read() {
        const std::lock_guard lock{mutex_};
        return open() ? word() : 0;
    }

    /// Changes the word and wakes who waits for that. To be called after the commit: whoever wakes, sees it.
    void bump() noexcept {
        const std::lock_guard lock{mutex_};
        if (!open()) {
            return;
        }
        // Not a count: two processes could count to the same number. Of the clock's nanoseconds they cannot have one.
        std::uint32_t next = static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
        next += next == word() ? 1U : 0U;
        if (::pwrite(descriptor_, &next, sizeof next, word_at) == static_cast<ssize_t>(sizeof next)) {
            wake();
        }
    }

    /// Waits until the word is another than `seen`, or for `at_most`; may come back sooner.
    void wait(std::uint32_t seen, std::chrono::milliseconds at_most) {
        void* at = nullptr;
        {
            const std::lock_guard lock{mutex_};
            at = open() && word() == seen ? mapping_ : nullptr;
            if (descriptor_ >= 0 && at == nullptr) {
                return;  // it has changed already
            }
        }
        if (at == nullptr || !sleep_on(at, seen, at_most)) {
            std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(at_most, blind_look));
        }
    }

private:
    static constexpr std::array<char, 8> layout{'l', 'h', 'g', 'a', 't', 'e', '0', '1'};
    static constexpr off_t word_at = layout.size();
    static constexpr std::size_t size = 64;
    /// How often one looks who has no gate to wait at.
    static constexpr std::chrono::milliseconds blind_look{20};

    /// Whether the gate can be used; opens it, and makes it where it is missing. Tried again at most every second.
    bool open() noexcept {
        if (descriptor_ >= 0 && is_whole(descriptor_)) {
            return true;
        }
        close();
        const auto now = std::chrono::steady_clock::now();
        if (now < next_try_) {
            return false;
        }
        next_try_ = now + std::chrono::seconds{1};
        descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (descriptor_ < 0 || !made_whole(descriptor_)) {
            close();
            return false;
        }
        mapping_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
        if (mapping_ == MAP_FAILED) {
            mapping_ = nullptr;
            close();
        }
        return descriptor_ >= 0;
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

    /// A gate that is still there: not one that was removed or replaced under us, where nobody else would wait.
    static bool is_whole(int descriptor) noexcept {
        struct stat there {};
        std::array<char, size> found{};
        return ::fstat(descriptor, &there) == 0 && there.st_nlink > 0 &&
               ::pread(descriptor, found.data(), found.size(), 0) == static_cast<ssize_t>(found.size()) &&
               std::equal(layout.begin(), layout.end(), found.begin());
    }

    /// An empty file becomes a gate, with the permissions of the database; one that is something else is left alone.
    bool made_whole(int descriptor) const noexcept {
        struct stat found {};
        if (::fstat(descriptor, &found) != 0 || !S_ISREG(found.st_mode)) {
            return false;
        }
        if (found.st_size == 0) {
            struct stat model {};
            if (::stat(database_.c_str(), &model) == 0) {
                (void)!::fchown(descriptor, model.st_uid, model.st_gid);
                ::fchmod(descriptor, model.st_mode & 0777U);
            }
            std::array<char, size> fresh{};
            std::copy(layout.begin(), layout.end(), fresh.begin());
            (void)!::pwrite(descriptor, fresh.data(), fresh.size(), 0);
        }
        return is_whole(descriptor);
    }

    std::uint32_t word() const noexcept {
        std::uint32_t value = 0;
        (void)!::pread(descriptor_, &value, sizeof value, word_at);
        return value;
    }

#ifdef __linux__
    static long futex(void* mapping, int operation, std::uint32_t value, const std::timespec* at_most) noexcept {
        return ::syscall(SYS_futex, static_cast<char*>(mapping) + word_at, operation, value, at_most, nullptr, 0);
    }
    void wake() const noexcept { futex(mapping_, FUTEX_WAKE, INT32_MAX, nullptr); }
    /// False where the kernel cannot wait there.
    static bool sleep_on(void* mapping, std::uint32_t seen, std::chrono::milliseconds at_most) noexcept {
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
        const std::timespec span{seconds.count(), std::chrono::nanoseconds{at_most - seconds}.count()};
        return futex(mapping, FUTEX_WAIT, seen, &span) == 0 || errno == EAGAIN || errno == ETIMEDOUT || errno == EINTR;
    }
#else
    void wake() const noexcept {}
    static bool sleep_on(void*, std::uint32_t, std::chrono::milliseconds) noexcept { return false; }
#endif

    std::string database_;
    std::string path_;
    std::mutex mutex_{};
    int descriptor_ = -1;
    void* mapping_ = nullptr;
    std::chrono::steady_clock::time_point next_try_{};
};

}  // namespace leasehold::detail::sqlite
