// SPDX-License-Identifier: MIT
/// A claim behind 100,000 rows whose deadline has passed: how long it takes, and how long it holds the file's write
/// lock at a stretch.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/sqlite.hpp>

#include "support/vfs_shim.hpp"

namespace {

using namespace leasehold;
using namespace std::chrono_literals;
using milliseconds = std::chrono::duration<double, std::milli>;

/// How long the write lock was held, from the disk's point of view: RESERVED to unlocked in a rollback journal, the
/// write lock of the shared memory in a write-ahead log.
class lock_watch : public vfs_shim {
public:
    std::vector<milliseconds> held() { return std::exchange(held_, {}); }

protected:
    void after(operation what, int answer, int first, int last) override {
        if (answer != SQLITE_OK) {
            return;
        }
        constexpr int wal_write_lock = 0;
        const bool shm = what == operation::shm_lock && first == wal_write_lock && (last & SQLITE_SHM_EXCLUSIVE) != 0;
        if ((what == operation::lock && first == SQLITE_LOCK_RESERVED) || (shm && (last & SQLITE_SHM_LOCK) != 0)) {
            since_ = std::chrono::steady_clock::now();
            holds_ = true;
        } else if (holds_ && (what == operation::unlock || (shm && (last & SQLITE_SHM_UNLOCK) != 0))) {
            held_.emplace_back(std::chrono::steady_clock::now() - since_);
            holds_ = false;
        }
    }

private:
    std::chrono::steady_clock::time_point since_{};
    bool holds_ = false;
    std::vector<milliseconds> held_{};
};

bool run(journal_mode journal, std::size_t dead) {
    std::string folder = (std::filesystem::temp_directory_path() / "leasehold-bench-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) {
        return false;
    }
    lock_watch watch;
    bool claimed = false;
    {
        manual_clock clock;
        basic_lease_queue<manual_clock, sqlite_store> queue{{folder + "/jobs.db", {.journal = journal}}, clock};
        queue.enqueue_many(std::vector<job>(dead, {.payload = "dead", .expires_in = 1ms}));
        queue.enqueue({.payload = "alive"});
        clock.advance(1ms);
        watch.held();
        const auto start = std::chrono::steady_clock::now();
        const auto held = queue.claim("worker", 1h);
        const milliseconds took = std::chrono::steady_clock::now() - start;
        claimed = held && held->payload == "alive";
        std::vector<milliseconds> locks = watch.held();
        std::sort(locks.begin(), locks.end());
        std::cout << to_text(journal) << ": claim behind " << dead << " dead rows "
                  << (claimed ? "succeeded" : "FAILED") << " in " << took.count() << " ms, " << locks.size()
                  << " transactions, lock held " << locks[locks.size() / 2].count() << " ms (median), "
                  << locks.back().count() << " ms (longest)\n";
    }
    std::filesystem::remove_all(folder);
    return claimed;
}

}  // namespace

int main() {
    constexpr std::size_t dead = 100'000;
    const bool both = run(journal_mode::rollback, dead) && run(journal_mode::wal, dead);
    return both ? EXIT_SUCCESS : EXIT_FAILURE;
}
