// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>

#include <sqlite3.h>

/// SQLite's own way to the disk, with somebody looking on: while one of these lives, every file that is opened goes
/// through it. One at a time.
class vfs_shim {
public:
    enum class operation { none, sync, write, truncate, read, lock, unlock, shm_lock };

    vfs_shim() {
        if (current() != nullptr) {
            throw std::logic_error{"one shim at a time"};
        }
        current() = this;
        base() = sqlite3_vfs_find(nullptr);
        vfs_ = *base();
        vfs_.zName = "shim";
        vfs_.szOsFile = static_cast<int>(sizeof(file)) + base()->szOsFile;
        vfs_.xOpen = &open;
        sqlite3_vfs_register(&vfs_, 1);
    }
    vfs_shim(const vfs_shim&) = delete;
    vfs_shim& operator=(const vfs_shim&) = delete;
    virtual ~vfs_shim() {
        sqlite3_vfs_unregister(&vfs_);
        sqlite3_vfs_register(base(), 1);
        current() = nullptr;
    }

protected:
    /// Anything but SQLITE_OK is answered in place of the operation.
    virtual int before(operation) { return SQLITE_OK; }
    /// What came of it; `first` and `last` are the operation's leading and closing integers, where it has any.
    virtual void after(operation, int /*answer*/, int /*first*/, int /*last*/) {}

private:
    struct file {
        sqlite3_file as_base;
        sqlite3_io_methods methods;
        sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
    };

    static vfs_shim*& current() {
        static vfs_shim* living = nullptr;
        return living;
    }
    static sqlite3_vfs*& base() {
        static sqlite3_vfs* found = nullptr;
        return found;
    }
    static file* mine(sqlite3_file* of) { return reinterpret_cast<file*>(of); }

    /// A method that goes through to the real file.
    template <auto Method, class... Arguments>
    static auto pass(sqlite3_file* of, Arguments... arguments) {
        sqlite3_file* const real = mine(of)->real();
        return (real->pMethods->*Method)(real, arguments...);
    }

    static int integer(int value) { return value; }
    static int integer(sqlite3_int64 value) { return static_cast<int>(value); }
    static int integer(const void*) { return 0; }

    /// The same, with the looker-on told.
    template <operation What, auto Method, class First, class... Rest>
    static int watch(sqlite3_file* of, First first, Rest... rest) {
        vfs_shim* const on = current();
        const int refused = on != nullptr ? on->before(What) : SQLITE_OK;
        const int answer = refused != SQLITE_OK ? refused : pass<Method>(of, first, rest...);
        if (on != nullptr) {
            int last = integer(first);
            ((last = integer(rest)), ...);
            on->after(What, answer, integer(first), last);
        }
        return answer;
    }

    static int open(sqlite3_vfs*, const char* name, sqlite3_file* of, int flags, int* out_flags) {
        file* const made = mine(of);
        made->as_base.pMethods = nullptr;
        const int answer = base()->xOpen(base(), name, made->real(), flags, out_flags);
        if (answer != SQLITE_OK) {
            return answer;
        }
        using m = sqlite3_io_methods;
        using o = operation;
        const int version = made->real()->pMethods->iVersion;
        made->methods = {version,
                         &pass<&m::xClose>,
                         &watch<o::read, &m::xRead, void*, int, sqlite3_int64>,
                         &watch<o::write, &m::xWrite, const void*, int, sqlite3_int64>,
                         &watch<o::truncate, &m::xTruncate, sqlite3_int64>,
                         &watch<o::sync, &m::xSync, int>,
                         &pass<&m::xFileSize, sqlite3_int64*>,
                         &watch<o::lock, &m::xLock, int>,
                         &watch<o::unlock, &m::xUnlock, int>,
                         &pass<&m::xCheckReservedLock, int*>,
                         &pass<&m::xFileControl, int, void*>,
                         &pass<&m::xSectorSize>,
                         &pass<&m::xDeviceCharacteristics>,
                         version < 2 ? nullptr : &pass<&m::xShmMap, int, int, int, void volatile**>,
                         version < 2 ? nullptr : &watch<o::shm_lock, &m::xShmLock, int, int, int>,
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
