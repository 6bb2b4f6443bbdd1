// SPDX-License-Identifier: MIT
/// The verbs together with the caller's own work: in a transaction of the queue's, and in the caller's.
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "support/faulty_vfs.hpp"
#include "support/places.hpp"

namespace {

using namespace places;

TEMPLATE_TEST_CASE("a plain verb on the queue of a session that is open is an error, not a wait", "[session]",
                   EVERY_STORE) {
    queue_in<TestType> q;
    queue_in<TestType> other;
    q.queue.transact([&](auto& session) {
        CHECK_THROWS_AS(q.queue.enqueue({.key = "1"}), std::logic_error);
        CHECK_THROWS_AS(q.queue.find(job_id{1}), std::logic_error);
        CHECK_THROWS_AS(q.queue.transact([](auto&) {}), std::logic_error);
        CHECK(other.queue.enqueue({.key = "1"}).answer == intake::accepted);
        session.enqueue({.key = "1"});
    });
    CHECK(q.queue.list().items.size() == 1);
}

TEMPLATE_TEST_CASE("transact hands on what the work returns, and tells of it after the commit", "[session]",
                   EVERY_STORE) {
    TestType place;
    manual_clock clock;
    using queue_type = typename queue_in<TestType>::queue_type;
    std::vector<event_kind> told;
    queue_type* self = nullptr;
    queue_type queue{place.store(), clock, {.on_event = [&](const event& what) {
                         told.push_back(what.what);
                         CHECK(self->find(what.id));  // committed, and no session open
                     }}};
    self = &queue;
    int target = 0;
    int& same = queue.transact([&](auto& session) -> int& {
        session.enqueue({.key = "1"});
        CHECK_THROWS_AS(session.enqueue({.deadline = at(0)}), std::invalid_argument);
        CHECK(told.empty());
        return target;
    });
    CHECK(&same == &target);
    CHECK(told == std::vector{event_kind::enqueued});
    CHECK_THROWS(queue.transact([&](auto& session) {
        session.enqueue({.key = "2"});
        throw std::runtime_error{"no"};
    }));
    CHECK(told.size() == 1);
}

/// An application with a table of its own in the queue's file, on a connection of its own.
template <class Place>
struct application : Place {
    application() { database.exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, what TEXT)"); }

    std::vector<std::string> told{};
    lease_queue queue{Place::store(), {}, {.on_event = [this](const event& what) {
                          told.push_back(std::string{to_text(what.what)} + " " + what.key);
                      }}};
    SQLite::Database database{Place::path(), SQLite::OPEN_READWRITE};

    int orders() { return database.execAndGet("SELECT count(*) FROM orders").getInt(); }
};

TEMPLATE_TEST_CASE("an order and its job are there together or not at all", "[session]", places::rollback_file,
                   places::wal_file) {
    application<TestType> app;
    {
        SQLite::Transaction transaction{app.database, SQLite::TransactionBehavior::IMMEDIATE};
        app.database.exec("INSERT INTO orders VALUES (41, 'x')");
        auto session = app.queue.join(app.database);
        CHECK(session.enqueue({.key = "rolled back"}).answer == intake::accepted);
    }
    CHECK(app.orders() == 0);
    CHECK(app.queue.list().items.empty());

    std::vector<event> events;
    {
        SQLite::Transaction transaction{app.database, SQLite::TransactionBehavior::IMMEDIATE};
        app.database.exec("INSERT INTO orders VALUES (42, 'x')");
        {
            auto session = app.queue.join(app.database);
            session.enqueue({.key = "42", .payload = "p"});
            CHECK(app.database.getLastInsertRowid() == 42);
            lease_queue other{app.store()};
            CHECK(other.list().items.empty());  // invisible before the commit
            events = session.events();
        }
        CHECK(app.told.empty());
        transaction.commit();
    }
    app.queue.publish(events);
    CHECK(app.told == std::vector<std::string>{"enqueued 42"});
    CHECK(app.orders() == 1);
    CHECK(app.queue.find("default", "42")->payload == "p");
}

TEMPLATE_TEST_CASE("an effect and its finish in one file happen exactly once", "[session]", places::rollback_file,
                   places::wal_file) {
    application<TestType> app;
    app.queue.enqueue({.key = "k"});
    const auto held = app.queue.claim("A", 1h);
    {
        SQLite::Transaction transaction{app.database, SQLite::TransactionBehavior::IMMEDIATE};
        auto session = app.queue.join(app.database);
        app.database.exec("INSERT INTO orders VALUES (1, 'effect')");
        REQUIRE(session.finish(*held));
        transaction.commit();
    }
    CHECK(app.orders() == 1);
    {
        SQLite::Transaction transaction{app.database, SQLite::TransactionBehavior::IMMEDIATE};
        auto session = app.queue.join(app.database);
        app.database.exec("INSERT INTO orders VALUES (2, 'again')");
        CHECK(session.finish(*held).why == verdict::finished);  // so: no commit
    }
    CHECK(app.orders() == 1);
}

TEMPLATE_TEST_CASE("ROLLBACK TO takes a joined verb back with the caller's own work", "[session]",
                   places::rollback_file, places::wal_file) {
    application<TestType> app;
    app.database.exec("BEGIN IMMEDIATE");
    {
        auto session = app.queue.join(app.database);
        session.enqueue({.key = "stays"});
        app.database.exec("SAVEPOINT mine");
        session.enqueue({.key = "goes"});
        app.database.exec("ROLLBACK TO mine");
        session.enqueue({.key = "comes"});
        CHECK(app.database.tryExec("RELEASE mine") == SQLITE_OK);
        CHECK_THROWS_AS(session.enqueue({.expires_in = 0ms}), std::invalid_argument);
    }
    app.database.exec("COMMIT");
    CHECK(app.queue.find("default", "stays"));
    CHECK_FALSE(app.queue.find("default", "goes"));
    CHECK(app.queue.find("default", "comes"));
}

TEMPLATE_TEST_CASE("a transaction that cannot be joined is refused, and so is every verb once it is over", "[session]",
                   places::rollback_file, places::wal_file) {
    application<TestType> app;
    CHECK_THROWS_AS(app.queue.join(app.database), std::logic_error);
    app.database.exec("BEGIN");
    CHECK_THROWS_AS(app.queue.join(app.database), std::logic_error);
    app.database.exec("SELECT count(*) FROM orders");
    CHECK_THROWS_WITH(app.queue.join(app.database), contains("BEGIN IMMEDIATE"));
    app.database.exec("ROLLBACK");

    application<TestType> elsewhere;
    elsewhere.database.exec("BEGIN IMMEDIATE");
    CHECK_THROWS_WITH(app.queue.join(elsewhere.database), contains("another file"));
    elsewhere.database.exec("ROLLBACK");

    app.database.exec("BEGIN IMMEDIATE");
    {
        auto session = app.queue.join(app.database);
        CHECK_THROWS_AS(app.queue.claim("A", 1h), std::logic_error);
        app.database.exec("COMMIT");
        CHECK_THROWS_AS(session.enqueue({.key = "k"}), store_error);
        app.database.exec("BEGIN");
        CHECK_THROWS_AS(session.enqueue({.key = "k"}), std::logic_error);  // holds no write lock
        app.database.exec("ROLLBACK");
    }
    CHECK(app.queue.list().items.empty());
    app.database.exec("BEGIN IMMEDIATE");  // nothing of the session is left on the connection
    app.database.exec("COMMIT");
}

TEMPLATE_TEST_CASE("work that ends the queue's transaction itself is told so, and the queue goes on", "[session]",
                   places::rollback_file, places::wal_file) {
    queue_in<TestType> q;
    const auto ends_it = [&] {
        q.queue.transact([](auto& session) {
            session.enqueue({.key = "a"});
            session.native().exec("ROLLBACK");
        });
    };
    CHECK_THROWS_AS(ends_it(), store_error);
    CHECK_THROWS_WITH(ends_it(), contains("has ended before"));
    CHECK(!q.queue.find("default", "a"));
    CHECK(q.queue.enqueue({.key = "a"}).answer == intake::accepted);
}

TEMPLATE_TEST_CASE("of sessions on two queues the one that was opened first may go first", "[session]",
                   places::rollback_file, places::wal_file) {
    queue_in<TestType> one;
    queue_in<TestType> two;
    SQLite::Database to_one{one.path(), SQLite::OPEN_READWRITE};
    SQLite::Database to_two{two.path(), SQLite::OPEN_READWRITE};
    to_one.exec("BEGIN IMMEDIATE");
    to_two.exec("BEGIN IMMEDIATE");
    using session = decltype(one.queue.join(to_one));
    std::unique_ptr<session> first{new session(one.queue.join(to_one))};
    std::unique_ptr<session> second{new session(two.queue.join(to_two))};
    first.reset();
    CHECK_NOTHROW(one.queue.stats());
    CHECK_THROWS_AS(two.queue.stats(), std::logic_error);
    second.reset();
    CHECK_NOTHROW(two.queue.stats());
}

TEST_CASE("where the engine itself ends the transaction, the error says so, and the session refuses the rest",
          "[session]") {
    faulty_vfs disk;
    const temporary_folder folder;
    const std::string path = folder / "jobs.db";
    lease_queue queue{{path}};
    SQLite::Database database{path, SQLite::OPEN_READWRITE};
    database.exec("PRAGMA cache_size = 1; PRAGMA cache_spill = 1");
    database.exec("BEGIN IMMEDIATE");
    {
        auto session = queue.join(database);
        disk.fail(faulty_vfs::operation::write, 0, SQLITE_FULL);
        std::optional<bool> lost;
        try {
            for (int i = 0; i < 100; ++i) {
                session.enqueue({.key = std::to_string(i), .payload = std::string(20'000, 'p')});
            }
        } catch (const store_full& error) {
            lost = error.transaction_lost();
        }
        disk.heal();
        REQUIRE(lost);
        CHECK(*lost == (sqlite3_get_autocommit(database.getHandle()) != 0));
        if (*lost) {
            CHECK_THROWS_AS(session.enqueue({.key = "after"}), store_error);
        } else {
            database.exec("ROLLBACK");
        }
    }
    CHECK(queue.list().items.empty());
    CHECK(queue.enqueue({.key = "later"}).answer == intake::accepted);
}

TEMPLATE_TEST_CASE("transact on the caller's connection begins, runs, commits and tells", "[session]",
                   places::rollback_file, places::wal_file) {
    application<TestType> app;
    const enqueued made = app.queue.transact(app.database, [&](auto& session) {
        CHECK(&session.native() == &app.database);
        app.database.exec("INSERT INTO orders VALUES (7, 'x')");
        CHECK(app.told.empty());
        return session.enqueue({.key = "7"});
    });
    CHECK(app.orders() == 1);
    CHECK(app.queue.find("default", "7")->id == made.id);
    CHECK(app.told == std::vector<std::string>{"enqueued 7"});

    CHECK_THROWS_WITH(app.queue.transact(app.database,
                                         [&](auto& session) {
                                             app.database.exec("INSERT INTO orders VALUES (8, 'x')");
                                             session.enqueue({.key = "8"});
                                             throw std::runtime_error{"after all"};
                                         }),
                      "after all");
    CHECK(app.orders() == 1);
    CHECK_FALSE(app.queue.find("default", "8"));
    CHECK(app.told.size() == 1);

    app.database.exec("BEGIN");
    CHECK_THROWS_AS(app.queue.transact(app.database, [](auto&) {}), std::logic_error);
    app.database.exec("ROLLBACK");
    application<TestType> elsewhere;
    CHECK_THROWS_WITH(app.queue.transact(elsewhere.database, [](auto&) {}), contains("another file"));
    SQLite::Database without{app.folder / "without.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE};
    CHECK_THROWS_WITH(app.queue.transact(without, [](auto&) {}), contains("another file"));
    CHECK(sqlite3_get_autocommit(elsewhere.database.getHandle()) != 0);
}

TEMPLATE_TEST_CASE("transact on the caller's connection waits for locks as the queue's options say", "[session]",
                   places::rollback_file, places::wal_file) {
    TestType place;
    manual_clock clock;
    basic_lease_queue queue{sqlite_store{place.path(), {.journal = TestType::journal, .busy_timeout = 50ms}}, clock};
    basic_lease_queue patient{sqlite_store{place.path(), {.busy_timeout = 30s}}, clock};
    SQLite::Database callers{place.path(), SQLite::OPEN_READWRITE};  // which does not wait itself
    // Which does: its commit may meet who looks whether the lock is free.
    SQLite::Database other{place.path(), SQLite::OPEN_READWRITE, 30'000};
    other.exec("BEGIN IMMEDIATE");
    CHECK_THROWS_AS(queue.transact(callers, [](auto& session) { session.enqueue({.key = "1"}); }), store_busy);
    CHECK(queue.list().items.empty());

    std::jthread frees{[&] {
        std::this_thread::sleep_for(60ms);
        other.exec("COMMIT");
    }};
    patient.transact(callers, [](auto& session) { session.enqueue({.key = "2"}); });
    frees.join();
    CHECK(queue.find("default", "2"));

    if (TestType::journal == journal_mode::rollback) {  // where a reader keeps a commit waiting
        other.exec("BEGIN; SELECT count(*) FROM leasehold_job");
        CHECK_THROWS_AS(queue.transact(callers, [](auto& session) { session.enqueue({.key = "3"}); }), store_busy);
        other.exec("COMMIT");
        CHECK_FALSE(queue.find("default", "3"));
        queue.transact(callers, [](auto& session) { session.enqueue({.key = "3"}); });
    }
}

}  // namespace
