// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <mutex>

#include <sqlite3.h>

#include "vfs_shim.hpp"

/// A disk that is slow when it is told to be: the next sync comes back when it may.
class blocking_vfs : public vfs_shim {
public:
    void block_next_sync() {
        const std::lock_guard lock{mutex_};
        is_to_block_ = true;
    }
    void wait_until_blocked() {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [this] { return is_blocked_; });
    }
    void let_go() {
        {
            const std::lock_guard lock{mutex_};
            is_blocked_ = false;
        }
        changed_.notify_all();
    }

protected:
    int before(operation what) override {
        std::unique_lock lock{mutex_};
        if (what == operation::sync && is_to_block_) {
            is_to_block_ = false;
            is_blocked_ = true;
            changed_.notify_all();
            changed_.wait(lock, [this] { return !is_blocked_; });
        }
        return SQLITE_OK;
    }

private:
    std::mutex mutex_{};
    std::condition_variable changed_{};
    bool is_to_block_ = false;
    bool is_blocked_ = false;
};
