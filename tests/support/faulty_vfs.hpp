// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstring>
#include <new>

#include <sqlite3.h>

/// SQLite's own way to the disk, with faults in it: while one of these lives, every file that is opened goes through it.
/// `fail(what, after, code)` lets `after` operations of a kind pass and answers the next with `code`, once.
class faulty_vfs {
public:
    enum class operation : int { none, sync, write, truncate, read };

    faulty_vfs() {
        base() = sqlite3_vfs_find(nullptr);
        vfs_ = *base();
        vfs_.zName = "faulty";
        vfs_.szOsFile = static_cast<int>(sizeof(file)) + base()->szOsFile;
        vfs_.xOpen = &open;
        sqlite3_vfs_register(&vfs_, 1);
    }
    faulty_vfs(const faulty_vfs&) = delete;
    faulty_vfs& operator=(const faulty_vfs&) = delete;
    ~faulty_vfs() {
        sqlite3_vfs_unregister(&vfs_);
        sqlite3_vfs_register(base(), 1);
    }

    void fail(operation what, int after, int code) {
        plan().left = after;
        plan().code = code;
        plan().fired = false;
        plan().what = what;
    }
    void heal() { plan().what = operation::none; }
    bool fired() const { return plan().fired; }

private:
    struct file {
        sqlite3_file as_base;
        sqlite3_io_methods methods;
        sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
    };
    struct faults {
        std::atomic<operation> what{operation::none};
        std::atomic<int> left{0};
        std::atomic<int> code{0};
        std::atomic<bool> fired{false};
    };

    static sqlite3_vfs*& base() {
        static sqlite3_vfs* found = nullptr;
        return found;
    }
    static faults& plan() {
        static faults shared;
        return shared;
    }

    static int fault(operation what) {
        if (plan().what != what || plan().left-- > 0) {
            return SQLITE_OK;
        }
        plan().what = operation::none;
        plan().fired = true;
        return plan().code;
    }

    static file* mine(sqlite3_file* of) { return reinterpret_cast<file*>(of); }

    /// A method that goes through to the real file.
    template <auto Method, class... Arguments>
    static auto pass(sqlite3_file* of, Arguments... arguments) {
        sqlite3_file* const real = mine(of)->real();
        return (real->pMethods->*Method)(real, arguments...);
    }
    /// The same, unless it is this operation's turn to fail.
    template <operation What, auto Method, class... Arguments>
    static int risk(sqlite3_file* of, Arguments... arguments) {
        const int refused = fault(What);
        return refused != SQLITE_OK ? refused : pass<Method>(of, arguments...);
    }

    static int open(sqlite3_vfs*, const char* name, sqlite3_file* of, int flags, int* out_flags) {
        file* const made = mine(of);
        made->as_base.pMethods = nullptr;
        const int answer = base()->xOpen(base(), name, made->real(), flags, out_flags);
        if (answer != SQLITE_OK) {
            return answer;
        }
        using m = sqlite3_io_methods;
        const int version = made->real()->pMethods->iVersion;
        made->methods = {version,
                         &pass<&m::xClose>,
                         &risk<operation::read, &m::xRead, void*, int, sqlite3_int64>,
                         &risk<operation::write, &m::xWrite, const void*, int, sqlite3_int64>,
                         &risk<operation::truncate, &m::xTruncate, sqlite3_int64>,
                         &risk<operation::sync, &m::xSync, int>,
                         &pass<&m::xFileSize, sqlite3_int64*>,
                         &pass<&m::xLock, int>,
                         &pass<&m::xUnlock, int>,
                         &pass<&m::xCheckReservedLock, int*>,
                         &pass<&m::xFileControl, int, void*>,
                         &pass<&m::xSectorSize>,
                         &pass<&m::xDeviceCharacteristics>,
                         version < 2 ? nullptr : &pass<&m::xShmMap, int, int, int, void volatile**>,
                         version < 2 ? nullptr : &pass<&m::xShmLock, int, int, int>,
                         version < 2 ? nullptr : &shm_barrier,
                         version < 2 ? nullptr : &pass<&m::xShmUnmap, int>,
                         version < 3 ? nullptr : &pass<&m::xFetch, sqlite3_int64, int, void**>,
                         version < 3 ? nullptr : &pass<&m::xUnfetch, sqlite3_int64, void*>};
        made->as_base.pMethods = &made->methods;
        return SQLITE_OK;
    }

    static void shm_barrier(sqlite3_file* of) {
        sqlite3_file* const real = mine(of)->real();
        real->pMethods->xShmBarrier(real);
    }

    sqlite3_vfs vfs_{};
};
