// SPDX-License-Identifier: MIT
/// How the engine answers: every candidate is found by an index search, and nothing is sorted or scanned.
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "support/places.hpp"

namespace {

using namespace places;
namespace s = leasehold::detail::sqlite;

struct question {
    std::string name;
    const char* text;
    std::string plan;  ///< a part of the line that must be there
};

TEST_CASE("the query plans are index searches", "[sqlite]") {
    const rollback_file place;
    {
        lease_queue queue{place.store()};
        queue.enqueue_many(std::vector<job>(100, {.payload = "x"}));
    }
    SQLite::Database file{place.path(), SQLite::OPEN_READWRITE};
    const bool analyzed = GENERATE(false, true);
    if (analyzed) {
        file.exec("ANALYZE");
    }
    const std::vector<question> questions{
        {"next_priority", s::next_priority.c_str(),
         "SEARCH leasehold_job USING INDEX leasehold_open (queue=? AND priority<?)"},
        {"free_heads", s::free_heads.c_str(),
         "SEARCH leasehold_job USING INDEX leasehold_open (queue=? AND priority=? AND waits=?)"},
        {"waiting_heads", s::waiting_heads.c_str(),
         "SEARCH leasehold_job USING INDEX leasehold_open (queue=? AND priority=? AND waits=? AND vests_at<?)"},
        {"tail", s::tail.c_str(),
         "SEARCH leasehold_job USING INDEX leasehold_open (queue=? AND priority=? AND waits=?)"},
        {"select_row", s::select_row.c_str(), "SEARCH leasehold_job USING INTEGER PRIMARY KEY (rowid=?)"},
        {"select_id_of_key", s::select_id_of_key.c_str(),
         "SEARCH leasehold_job USING COVERING INDEX leasehold_key (queue=? AND key=?)"},
        {"select_same_key", s::select_same_key.c_str(), "SEARCH j USING INDEX leasehold_key (queue=? AND key=?)"},
        {"ended_rows", s::ended_rows.c_str(),
         "SEARCH leasehold_job USING INDEX leasehold_ended (state=? AND ended_at<?)"},
        {"update_row", s::update_row.c_str(), "SEARCH leasehold_job USING INTEGER PRIMARY KEY (rowid=?)"},
        {"delete_row", s::delete_row.c_str(), "SEARCH leasehold_job USING INTEGER PRIMARY KEY (rowid=?)"},
        {"select_payload", s::select_payload.c_str(), "SEARCH leasehold_payload USING INTEGER PRIMARY KEY (rowid=?)"},
        {"select_checkpoint", s::select_checkpoint.c_str(),
         "SEARCH leasehold_checkpoint USING INTEGER PRIMARY KEY (rowid=?)"},
        {"select_result", s::select_result.c_str(), "SEARCH leasehold_result USING INTEGER PRIMARY KEY (rowid=?)"},
        {"select_receipts", s::select_receipts.c_str(),
         "SEARCH leasehold_receipt USING INDEX leasehold_receipt_of (job=?)"},
        {"delete_receipts", s::delete_receipts.c_str(), "leasehold_receipt USING"},
        {"list_rows", s::list_rows.c_str(), "SEARCH leasehold_job USING INTEGER PRIMARY KEY (rowid>?)"},
    };
    for (const question& each : questions) {
        SQLite::Statement explain{file, std::string{"EXPLAIN QUERY PLAN "} + each.text};
        std::string plan;
        while (explain.executeStep()) {
            plan += explain.getColumn(3).getString() + '\n';
        }
        INFO(each.name << ":\n" << plan);
        CHECK(plan.find(each.plan) != std::string::npos);
        CHECK(plan.find("TEMP B-TREE") == std::string::npos);
        CHECK(plan.find("SCAN leasehold") == std::string::npos);
    }
}

/// Steps of SQLite's virtual machine that finding a candidate takes: a count that no other load on the machine can
/// change.
int steps_of_claim(const std::string& path) {
    SQLite::Database file{path, SQLite::OPEN_READWRITE};
    int steps = 0;
    for (const char* text : {s::next_priority.c_str(), s::free_heads.c_str(), s::waiting_heads.c_str()}) {
        SQLite::Statement statement{file, text};
        statement.bind(1, "default");
        statement.bind(2, text == s::next_priority.c_str() ? 1000 : 0);
        if (text == s::free_heads.c_str()) {
            statement.bind(3, 1);
        } else if (text == s::waiting_heads.c_str()) {
            statement.bind(3, std::int64_t{0});
            statement.bind(4, std::int64_t{0});
            statement.bind(5, 1);
        }
        while (statement.executeStep()) {
        }
        sqlite3_stmt* const raw = sqlite3_next_stmt(file.getHandle(), nullptr);
        steps += sqlite3_stmt_status(raw, SQLITE_STMTSTATUS_VM_STEP, 0);
    }
    return steps;
}

TEST_CASE("a claim takes as many steps with many finished, delayed and leased rows as without", "[sqlite]") {
    const rollback_file few;
    const rollback_file many;
    const manual_clock clock;
    for (const auto* place : {&few, &many}) {
        basic_lease_queue<manual_clock, sqlite_store> queue{place->store(), clock};
        const std::size_t rows = place == &few ? 3 : 3000;
        queue.enqueue_many(std::vector<job>(rows, {.payload = "finished"}));
        while (!queue.finish_many(queue.claim_many("A", 1h, 1000)).empty()) {
        }
        queue.enqueue_many(std::vector<job>(rows, {.payload = "leased"}));
        while (!queue.claim_many("A", 1h, 1000).empty()) {
        }
        queue.enqueue_many(std::vector<job>(rows, {.payload = "delayed", .delay = 1h}));
        queue.enqueue_many(std::vector<job>(2, {.payload = "ready"}));
    }
    CHECK(steps_of_claim(few.path()) == steps_of_claim(many.path()));
}

/// What the process has written so far, to files and elsewhere, in bytes.
std::size_t written() {
    std::ifstream io{"/proc/self/io"};
    std::string name;
    std::size_t bytes = 0;
    while (io >> name >> bytes && name != "wchar:") {
    }
    REQUIRE(name == "wchar:");
    return bytes;
}

TEMPLATE_TEST_CASE("a large payload is not written again when its job changes state", "[sqlite]", places::rollback_file,
                   places::wal_file) {
    TestType place;
    lease_queue queue{place.store()};
    constexpr std::size_t large = 16U << 20U;
    std::size_t before = written();
    queue.enqueue({.payload = std::string(large, 'x')});
    CHECK(written() - before > large);  // so that this can be seen
    before = written();
    std::optional<lease> held = queue.claim("A", 1h);
    REQUIRE(held);
    CHECK(held->payload.size() == large);
    CHECK(queue.renew(*held, 2h));
    CHECK(queue.fail(*held, "not yet"));
    held = queue.claim("A", 1h);
    REQUIRE(held);
    CHECK(queue.finish(*held));
    CHECK(written() - before < 512U << 10U);
}

}  // namespace
