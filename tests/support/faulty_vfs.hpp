// SPDX-License-Identifier: MIT
#pragma once

#include <mutex>

#include <sqlite3.h>

#include "vfs_shim.hpp"

/// A disk with faults: lets `after` operations of a kind pass, and answers the next with `code`, once.
class faulty_vfs : public vfs_shim {
public:
    using vfs_shim::operation;

    void fail(operation what, int after, int code) {
        const std::lock_guard lock{mutex_};
        what_ = what;
        left_ = after;
        code_ = code;
        fired_ = false;
    }
    void heal() {
        const std::lock_guard lock{mutex_};
        what_ = operation::none;
    }
    bool fired() const {
        const std::lock_guard lock{mutex_};
        return fired_;
    }

protected:
    int before(operation what) override {
        const std::lock_guard lock{mutex_};
        if (what_ != what || left_-- > 0) {
            return SQLITE_OK;
        }
        what_ = operation::none;
        fired_ = true;
        return code_;
    }

private:
    mutable std::mutex mutex_{};
    operation what_ = operation::none;
    int left_ = 0;
    int code_ = SQLITE_OK;
    bool fired_ = false;
};
