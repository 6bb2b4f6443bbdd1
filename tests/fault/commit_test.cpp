// SPDX-License-Identifier: MIT
/// Commits that are refused, or fail on the way.
#include <optional>
#include <string>
#include <thread>

#include <SQLiteCpp/SQLiteCpp.h>

#include "support/faulty_vfs.hpp"
#include "support/places.hpp"

namespace {

using namespace places;
using operation = faulty_vfs::operation;

/// A queue with default durability whose one job is held.
struct held_job {
    explicit held_job(journal_mode journal) : queue{{folder / "jobs.db", {.journal = journal, .busy_timeout = 50ms}}} {
        queue.enqueue({.key = "k", .payload = std::string(20'000, 'p')});
        held = queue.claim("A", 1h);
        REQUIRE(held);
    }

    faulty_vfs disk{};
    temporary_folder folder{};
    lease_queue queue;
    std::optional<lease> held{};
};

/// What a call threw, by name.
template <class Call>
std::string thrown_by(const Call& call) {
    try {
        call();
        return "nothing";
    } catch (const store_busy&) {
        return "store_busy";
    } catch (const store_unknown&) {
        return "store_unknown";
    } catch (const store_full&) {
        return "store_full";
    } catch (const store_error& other) {
        return std::string{"store_error: "} + other.what();
    }
}

TEST_CASE("whatever fails in a finish, it stands whole or not at all, and the queue goes on", "[fault]") {
    const auto journal = GENERATE(journal_mode::rollback, journal_mode::wal);
    const auto [what, code] = GENERATE(table<operation, int>({{operation::sync, SQLITE_IOERR_FSYNC},
                                                              {operation::write, SQLITE_IOERR_WRITE},
                                                              {operation::write, SQLITE_FULL},
                                                              {operation::truncate, SQLITE_IOERR_TRUNCATE}}));
    int faults = 0;
    int stood = 0;
    for (int after = 0; after < 30; ++after) {
        held_job job{journal};
        INFO(to_text(journal) << ", operation " << static_cast<int>(what) << " number " << after);
        const record before = *job.queue.find(job.held->id);

        job.disk.fail(what, after, code);
        const std::string threw = thrown_by([&] { (void)job.queue.finish(*job.held, std::string(9'000, 'r')); });
        const bool fired = job.disk.fired();
        job.disk.heal();
        if (!fired) {
            CHECK(threw == "nothing");
            break;
        }
        ++faults;
        INFO(threw);

        // The same object, after the cause is gone: one of two outcomes, never a third.
        const record after_it = *job.queue.find(job.held->id);
        const settlement again = job.queue.finish(*job.held, std::string(9'000, 'r'));
        if (after_it == before) {
            CHECK((threw == "store_unknown" || threw == "store_full" || threw.starts_with("store_error")));
            CHECK(again);
        } else {
            stood += threw == "store_unknown" ? 1 : 0;
            CHECK((threw == "store_unknown" || threw == "nothing"));
            CHECK(after_it.state == job_state::finished);
            CHECK((after_it.result == std::string(9'000, 'r')));
            CHECK(again.why == verdict::finished);
            CHECK(again.ended_by_presented());
        }
        CHECK(job.queue.enqueue({.key = "next"}).answer == intake::accepted);
        SQLite::Database file{job.folder / "jobs.db"};
        CHECK(file.execAndGet("PRAGMA integrity_check").getString() == "ok");
    }
    if (what == operation::sync || what == operation::write) {
        CHECK(faults > 0);
    }
    if (what == operation::sync && journal == journal_mode::rollback) {
        CHECK(stood > 0);  // the sync after the journal is gone: the unknown commit stands
    }
}

/// In a rollback journal the first sync of a commit fails before it could stand, the fourth after it does.
struct unknown_commit {
    journal_mode journal;
    int sync;
    bool stands;
};

unknown_commit generated_commit() {
    return GENERATE(unknown_commit{journal_mode::rollback, 0, false}, unknown_commit{journal_mode::rollback, 3, true},
                    unknown_commit{journal_mode::wal, 0, false});
}

TEST_CASE("after an unknown outcome a holder learns whether the end of the job is its own doing", "[fault]") {
    const unknown_commit unknown = generated_commit();
    held_job job{unknown.journal};
    const auto lost = [&](const auto& call) {
        job.disk.fail(operation::sync, unknown.sync, SQLITE_IOERR_FSYNC);
        CHECK(thrown_by(call) == "store_unknown");
        job.disk.heal();
    };

    lost([&] { (void)job.queue.finish(*job.held, "r"); });
    CHECK((job.queue.find(job.held->id)->state == job_state::finished) == unknown.stands);
    const settlement again = job.queue.finish(*job.held, "r");
    CHECK(static_cast<bool>(again) == !unknown.stands);
    CHECK(again.ended_by_presented());

    // Not one's own doing: an operator's cancel, or another's claim that set the row aside.
    job.queue.enqueue({.key = "2"});
    const auto second = job.queue.claim("A", 1h);
    REQUIRE(second);
    lost([&] { (void)job.queue.cancel(second->id); });
    CHECK((job.queue.cancel(second->id).why == verdict::cancelled) == unknown.stands);
    CHECK_FALSE(job.queue.finish(*second).ended_by_presented());

    job.queue.enqueue({.key = "3", .max_attempts = 1});
    const auto third = job.queue.claim("A", 1ms);
    REQUIRE(third);
    while (rules::is_live(third->lease_until, job.queue.now())) {
    }
    lost([&] { (void)job.queue.claim("B", 1h); });
    CHECK_FALSE(job.queue.claim("B", 1h));
    const settlement aside = job.queue.finish(*third);
    CHECK(aside.why == verdict::quarantined);
    CHECK(aside.current->ended_by == ender::claim);
    CHECK_FALSE(aside.ended_by_presented());
}

TEST_CASE("a renewal whose answer is lost is refreshed: the lease goes on with the row's end", "[fault]") {
    const unknown_commit unknown = generated_commit();
    held_job job{unknown.journal};
    const instant before = job.held->lease_until;
    job.disk.fail(operation::sync, unknown.sync, SQLITE_IOERR_FSYNC);
    CHECK_THROWS_AS(job.queue.renew(*job.held, 2h), store_unknown);
    CHECK(job.held->lease_until == before);
    CHECK(job.queue.refresh(*job.held));
    CHECK((job.held->lease_until > before) == unknown.stands);
    CHECK(job.queue.finish(*job.held));
}

TEST_CASE("a claim whose commit failed gives no token twice", "[fault]") {
    const unknown_commit unknown = generated_commit();
    held_job job{unknown.journal};
    CHECK(job.queue.release(*job.held));
    job.disk.fail(operation::sync, unknown.sync, SQLITE_IOERR_FSYNC);
    CHECK_THROWS_AS(job.queue.claim("B", 1h), store_unknown);
    CHECK((job.queue.find(job.held->id)->token == claim_token{2}) == unknown.stands);
    const auto next = job.queue.claim("C", 1h);
    CHECK(next.has_value() == !unknown.stands);  // where it stood, nobody else has the job
    CHECK(job.queue.finish(*job.held).why == verdict::superseded);
}

TEST_CASE("a commit that a reader keeps waiting is busy, and then nothing of it stands", "[fault]") {
    held_job job{journal_mode::rollback};
    SQLite::Database reader{job.folder / "jobs.db"};
    const record before = *job.queue.find(job.held->id);
    {
        SQLite::Statement reading{reader, "SELECT id FROM leasehold_job"};
        REQUIRE(reading.executeStep());  // holds SHARED until it is reset
        CHECK_THROWS_AS(job.queue.finish(*job.held), store_busy);
        CHECK_THROWS_AS(job.queue.enqueue({.key = "other"}), store_busy);
        CHECK(*job.queue.find(job.held->id) == before);
    }
    CHECK_FALSE(job.queue.find("default", "other"));
    CHECK(job.queue.finish(*job.held));
}

TEST_CASE("a writer on the file makes a call busy, on both journals, and reads go on", "[fault]") {
    const auto journal = GENERATE(journal_mode::rollback, journal_mode::wal);
    held_job job{journal};
    SQLite::Database writer{job.folder / "jobs.db", SQLite::OPEN_READWRITE};
    writer.exec("BEGIN IMMEDIATE");
    CHECK_THROWS_AS(job.queue.finish(*job.held), store_busy);
    CHECK(job.queue.find(job.held->id)->state == job_state::leased);
    writer.exec("ROLLBACK");
    CHECK(job.queue.finish(*job.held));
}

TEST_CASE("an error's text names the operation and the engine's code, and no payload", "[fault]") {
    held_job job{journal_mode::rollback};
    job.disk.fail(operation::sync, 0, SQLITE_IOERR_FSYNC);
    try {
        (void)job.queue.finish(*job.held, "hidden result");
        FAIL("nothing was thrown");
    } catch (const store_unknown& error) {
        CHECK(error.code() == SQLITE_IOERR_FSYNC);
        CHECK_THAT(error.what(), contains("committing") && contains("may stand or not"));
        CHECK_THAT(error.what(), !contains("hidden"));
    }
    SQLite::Database writer{job.folder / "jobs.db", SQLite::OPEN_READWRITE};
    writer.exec("BEGIN IMMEDIATE");
    CHECK_THROWS_WITH(job.queue.finish(*job.held), contains("taking the write lock") && contains("(SQLite 5)"));
}

TEST_CASE("a thread's wait for another's transaction is bounded too", "[fault]") {
    const temporary_folder folder;
    sqlite_store store{folder / "jobs.db", {.busy_timeout = 30ms}};
    store.attach(clock_axis::manual);
    const manual_clock clock;
    const auto transaction = store.begin(clock);
    std::string threw;
    std::thread other{[&] { threw = thrown_by([&] { (void)store.begin(clock); }); }};
    other.join();
    CHECK(threw == "store_busy");
}

}  // namespace
