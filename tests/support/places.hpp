// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include <leasehold/memory_store.hpp>
#include <leasehold/sqlite.hpp>

#include "catch.hpp"
#include "temporary_folder.hpp"

template <>
struct Catch::StringMaker<leasehold::instant> {
    static std::string convert(const leasehold::instant& at) { return leasehold::to_text(at); }
};

/// Where a test's store lives: one place for each kind of store, fresh for every test.
namespace places {

using namespace leasehold;
using namespace std::chrono_literals;

constexpr instant at(std::int64_t ms) { return instant{std::chrono::milliseconds{ms}}; }

struct memory {
    using store_type = memory_store;
    store_type store() const { return rows; }
    memory_store rows{};
};

/// Somebody with a connection of their own to a file, and a transaction on it.
class callers_connection {
public:
    explicit callers_connection(const std::string& path) : database_{path, SQLite::OPEN_READWRITE} {}

    SQLite::Database& connection() { return database_; }
    void begin() { database_.exec("BEGIN IMMEDIATE"); }
    void commit() { database_.exec("COMMIT"); }
    void roll_back() { database_.exec("ROLLBACK"); }

private:
    SQLite::Database database_;
};

template <journal_mode Journal>
struct file {
    static constexpr journal_mode journal = Journal;
    using store_type = sqlite_store;
    store_type store() const {
        // What is tested here does not depend on what a commit waits for; `off` spares the disk.
        return {path(), {.journal = Journal, .synchronous = synchronous_mode::off}};
    }
    std::string path() const { return folder / "jobs.db"; }
    /// Whether somebody else could have the write lock right now.
    bool is_free() const {
        SQLite::Database other{path(), SQLite::OPEN_READWRITE};
        return other.tryExec("BEGIN IMMEDIATE") == SQLITE_OK;
    }
    callers_connection caller() const { return callers_connection{path()}; }
    temporary_folder folder{};
};

using rollback_file = file<journal_mode::rollback>;
using wal_file = file<journal_mode::wal>;

/// A queue on a manual clock at 0, in a fresh place.
template <class Place>
struct queue_in : Place {
    using queue_type = basic_lease_queue<manual_clock, typename Place::store_type>;

    manual_clock clock{};
    queue_type queue{Place::store(), clock};

    /// A job taken at the clock's time for `lease_for`.
    lease taken(const char* owner = "A", millis lease_for = 1000ms) {
        std::optional<lease> held = queue.claim(owner, lease_for);
        REQUIRE(held);
        return std::move(*held);
    }
};

}  // namespace places

/// A test that runs over every store.
#define EVERY_STORE places::memory, places::rollback_file, places::wal_file
