// SPDX-License-Identifier: MIT
/// A claim behind 100,000 rows whose deadline has passed: how long it takes, and how long it holds the file's write
/// lock at a stretch. The worse of both journals.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/sqlite.hpp>

#include "measuring.hpp"
#include "support/temporary_folder.hpp"
#include "support/vfs_shim.hpp"
#include "work.hpp"

namespace {

using namespace bench;

/// How long the write lock was held, from the disk's point of view: RESERVED to unlocked in a rollback journal, the
/// write lock of the shared memory in a write-ahead log.
class lock_watch : public vfs_shim {
public:
    /// In milliseconds, since the last time this was asked.
    std::vector<double> held() { return std::exchange(held_, {}); }

protected:
    void after(operation what, int answer, int first, int last) override {
        if (answer != SQLITE_OK) {
            return;
        }
        constexpr int wal_write_lock = 0;
        const bool shm = what == operation::shm_lock && first == wal_write_lock && (last & SQLITE_SHM_EXCLUSIVE) != 0;
        if ((what == operation::lock && first == SQLITE_LOCK_RESERVED) || (shm && (last & SQLITE_SHM_LOCK) != 0)) {
            since_ = steady::now();
            holds_ = true;
        } else if (holds_ && (what == operation::unlock || (shm && (last & SQLITE_SHM_UNLOCK) != 0))) {
            held_.push_back(milliseconds{steady::now() - since_}.count());
            holds_ = false;
        }
    }

private:
    steady::time_point since_{};
    bool holds_ = false;
    std::vector<double> held_{};
};

void measure_dead_rows(figures& to) {
    constexpr std::size_t dead = 100'000;
    double claim = 0;
    double hold = 0;
    for (const journal_mode journal : both_journals) {
        const places::temporary_folder folder;
        lock_watch watch;
        manual_clock clock;
        basic_lease_queue<manual_clock, sqlite_store> queue{{folder / "jobs.db", {.journal = journal}}, clock};
        queue.enqueue_many(std::vector<job>(dead, {.payload = "dead", .expires_in = 1ms}));
        queue.enqueue({.payload = "alive"});
        clock.advance(1ms);
        watch.held();
        std::optional<lease> held;
        claim = std::max(claim, milliseconds{time_of([&] { held = queue.claim("worker", 1h); })}.count());
        if (!held || held->payload != "alive") {
            fail_for_want_of_jobs();
        }
        hold = std::max(hold, at_rank(watch.held(), 1));
    }
    to["dead_rows_claim_ms"] = claim;
    to["dead_rows_longest_hold_ms"] = hold;
}

const bool registered = measured_once({{"dead_rows", measure_dead_rows}});

}  // namespace
