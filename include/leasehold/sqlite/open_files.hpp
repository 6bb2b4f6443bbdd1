// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>
#include <new>
#include <string>

#include <pthread.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <leasehold/errors.hpp>
#include <leasehold/process_of.hpp>
#include <leasehold/sqlite/turn.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// A file that a connection of ours has open, as long as it lives: one of a list of them.
///
/// The engine keeps in memory which locks on a file its process has. A child of a fork inherits that, but not the
/// locks: its own connections would go without them, and whoever closes the file elsewhere would take itself for the
/// last and delete the write-ahead log under the child, commits that were answered included. So a child does not open
/// what was open with a lock when it was forked. The list is for that.
class open_file {
public:
    /// `way`: what a thread has that is using the connection.
    open_file(const std::string& path, sqlite3* connection, const turn& way)
        : connection_{connection}, way_{way}, is_known_{::stat(path.c_str(), &file_) == 0} {
        forks_wait_for_the_list();
        const std::lock_guard lock{mutex_};
        next_ = first_;
        previous_next_ = &first_;
        if (next_ != nullptr) {
            next_->previous_next_ = &next_;
        }
        first_ = this;
    }
    open_file(const open_file&) = delete;
    open_file& operator=(const open_file&) = delete;
    ~open_file() {
        const std::lock_guard lock{mutex_};
        *previous_next_ = next_;
        if (next_ != nullptr) {
            next_->previous_next_ = previous_next_;
        }
    }

    /// Throws `store_unsupported` where the file was open, with a lock, in the process that this one was forked from.
    static void refuse_inherited(const std::string& path) {
        struct stat wanted {};
        if (::stat(path.c_str(), &wanted) != 0) {
            return;
        }
        const std::lock_guard lock{mutex_};
        for (const open_file* each = first_; each != nullptr; each = each->next_) {
            if (!each->process_.is_this() && each->is(wanted) && each->was_locked()) {
                throw store_unsupported{path +
                                        " was open in this process's parent when it forked, and SQLite would take the "
                                        "parent's locks for its own here: fork before it is opened, or exec after"};
            }
        }
    }

private:
    bool is(const struct stat& wanted) const noexcept {
        return is_known_ && file_.st_dev == wanted.st_dev && file_.st_ino == wanted.st_ino;
    }

    /// Of one that was inherited, and is as it was at the fork. A connection that has seen a write-ahead log has a lock
    /// all the time. An engine that does not tell is taken to have one.
    bool was_locked() const noexcept {
        int level = 0;
        return way_.was_taken() ||
               sqlite3_file_control(connection_, "main", SQLITE_FCNTL_LOCKSTATE, &level) != SQLITE_OK || level != 0;
    }

    /// A child must not begin with the list half changed, or locked by a thread that it does not have.
    static void forks_wait_for_the_list() {
        static const bool wait =
            ::pthread_atfork([] { mutex_.lock(); }, [] { mutex_.unlock(); }, [] { mutex_.unlock(); }) == 0;
        if (!wait) {
            throw std::bad_alloc{};
        }
    }

    static inline std::mutex mutex_{};
    static inline open_file* first_ = nullptr;

    sqlite3* connection_;
    const turn& way_;
    process_of process_{};
    struct stat file_ {};
    bool is_known_;
    open_file* next_ = nullptr;
    open_file** previous_next_ = nullptr;
};

}  // namespace leasehold::inline v0_1_0::detail::sqlite
