// SPDX-License-Identifier: MIT
/// The clock that counts from the machine's start: on a made-up machine, and on this one.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include <leasehold/sqlite.hpp>
#include <leasehold/sqlite/boot_clock.hpp>

#include "support/made_up_machine.hpp"
#include "support/places.hpp"
#include "support/processes.hpp"

namespace {

using namespace places;

using test_clock = basic_boot_clock<made_up_machine>;
using test_queue = basic_lease_queue<test_clock, sqlite_store>;

/// Some day in this century.
constexpr instant day = at(1'700'000'000'000);

/// A queue in a fresh file, on a machine of its own.
template <class Place>
struct machine_room : Place {
    made_up_machine machine{day};
    std::unique_ptr<test_queue> queue = opened();

    std::unique_ptr<test_queue> opened(boot_clock_options options = {}) const {
        return std::make_unique<test_queue>(Place::store(), test_clock{options, machine});
    }
    /// The machine is started anew, and the program with it.
    void start_again(instant wall) {
        queue.reset();
        machine.start_again(wall);
        queue = opened();
    }
    lease taken(const char* owner, millis lease_for) const {
        std::optional<lease> held = queue->claim(owner, lease_for);
        REQUIRE(held);
        return std::move(*held);
    }
    std::int64_t ask(const std::string& query) const { return SQLite::Database{this->path()}.execAndGet(query); }
    instant high_water() const { return at(ask("SELECT high_water FROM leasehold_anchor")); }
};

/// Calls what must be refused, and gives the reason.
template <class Call>
std::string refusal(const Call& call) {
    try {
        call();
    } catch (const store_unsupported& refused) {
        return refused.what();
    }
    return "not refused";
}

TEMPLATE_TEST_CASE("no step of the wall clock moves a boot clock's leases, and time asleep counts", "[boot_clock]",
                   places::rollback_file, places::wal_file) {
    const machine_room<TestType> room;
    room.queue->enqueue({.payload = "x"});
    CHECK(room.queue->now() == day);
    const lease held = room.taken("A", 10s);
    CHECK(held.lease_until == day + 10s);
    room.machine.step_wall(48h);
    room.machine.pass(4s);
    CHECK(room.queue->now() == day + 4s);
    CHECK(room.queue->time_left(held) == millis{6s});
    room.machine.step_wall(-1000h);
    room.machine.pass(6s - 1ns);
    CHECK_FALSE(room.queue->claim("B", 10s));
    CHECK(room.queue->checkpoint(held, "c"));
    CHECK(room.queue->time_left(held) <= millis{1ms});
    room.machine.pass(1ns);
    CHECK(room.queue->time_left(held) == millis{});
    CHECK(room.queue->finish(held).why == verdict::expired);
    CHECK(room.taken("B", 10s).granted == day + 10s);
}

TEMPLATE_TEST_CASE("all who use a file share one axis, whatever the wall clock showed when they came", "[boot_clock]",
                   places::rollback_file, places::wal_file) {
    const machine_room<TestType> room;
    room.queue->enqueue({.payload = "x"});
    room.machine.step_wall(-5h);
    room.machine.pass(1s);
    const auto other = room.opened();
    CHECK(other->now() == day + 1s);
    CHECK(room.queue->now() == day + 1s);
    CHECK(other->claim("B", 1s)->lease_until == day + 2s);
}

TEMPLATE_TEST_CASE("after a start of the machine the axis goes on from the wall clock", "[boot_clock]",
                   places::rollback_file, places::wal_file) {
    machine_room<TestType> room;
    room.queue->enqueue({.payload = "x"});
    const lease held = room.taken("A", 60s);
    room.start_again(day + 59s);
    CHECK(room.queue->now() == day + 59s);
    CHECK_FALSE(room.queue->claim("B", 60s));
    CHECK(room.queue->checkpoint(held, "by a process that kept its marker"));
    room.machine.pass(1s);
    CHECK(room.taken("B", 60s).token == claim_token{2});
    room.machine.step_wall(-1h);
    CHECK(room.queue->now() == day + 60s);
}

TEMPLATE_TEST_CASE(
    "after a start of the machine the axis goes on from what was seen, where the wall clock is behind it",
    "[boot_clock]", places::rollback_file, places::wal_file) {
    machine_room<TestType> room;
    room.machine.pass(2h);
    room.queue->enqueue({.payload = "x"});
    for (const millis behind : {millis{0ms}, millis{1ms}, millis{1h}}) {
        const instant seen = room.high_water();
        room.start_again(saturating_subtract(seen, behind));
        CHECK(room.queue->now() == seen);
        room.machine.pass(5s);
        room.queue->enqueue({.payload = "x"});
        CHECK(room.high_water() == seen + 5s);
    }
}

TEMPLATE_TEST_CASE("a wall clock far behind what was seen is refused, and works once it is right", "[boot_clock]",
                   places::rollback_file, places::wal_file) {
    machine_room<TestType> room;
    room.queue->enqueue({.payload = "x"});
    const std::int64_t booted = room.ask("SELECT booted_at FROM leasehold_anchor");
    room.start_again(at(25'000));  // a machine without a battery
    for (const auto& call : {+[](test_queue& q) { q.enqueue({.payload = "y"}); },
                             +[](test_queue& q) { (void)q.claim("A", 1s); }, +[](test_queue& q) { (void)q.now(); }}) {
        const std::string why = refusal([&] { call(*room.queue); });
        CHECK(why.find("25000") != std::string::npos);
        CHECK(why.find(to_text(day)) != std::string::npos);
        CHECK(why.find("re_anchor") != std::string::npos);
    }
    CHECK(room.ask("SELECT count(*) FROM leasehold_job") == 1);
    CHECK(room.ask("SELECT booted_at FROM leasehold_anchor") == booted);
    room.machine.set_wall(day - 1h - 1ms);
    CHECK_THROWS_AS(room.queue->now(), store_unsupported);
    CHECK_THROWS_AS(room.opened({.max_drift = 59min})->now(), store_unsupported);
    room.machine.set_wall(day - 1h);
    CHECK(room.queue->now() == day);
    CHECK(room.taken("A", 1s).payload == "x");
}

TEMPLATE_TEST_CASE("one wrong year does not poison a file: re_anchor is the way out, and revoke for its leases",
                   "[boot_clock]", places::rollback_file, places::wal_file) {
    machine_room<TestType> room;
    room.start_again(day + std::chrono::years{50});
    room.queue->enqueue({.payload = "x"});
    const lease held = room.taken("A", 1h);
    room.start_again(day);
    CHECK_THROWS_AS(room.queue->now(), store_unsupported);
    CHECK(re_anchor(room.path(), test_clock{{}, room.machine}) == day);
    CHECK(room.queue->now() == day);  // the open queue goes on
    CHECK(room.high_water() == day);
    CHECK_FALSE(room.queue->claim("B", 1h));
    CHECK(room.queue->revoke(held.id, held.token));
    const lease next = room.taken("B", 1h);
    CHECK(next.lease_until == day + 1h);
    CHECK(room.queue->finish(held).why == verdict::superseded);
    room.start_again(day + 1min);
    CHECK(room.queue->finish(next));
}

TEST_CASE("a file without a boot clock has nothing to be anchored again", "[boot_clock]") {
    const rollback_file place;
    const lease_queue queue{place.store()};
    CHECK(refusal([&] { re_anchor(place.path()); }).find("wall clock, not of a boot clock") != std::string::npos);
    CHECK_THROWS_AS(re_anchor(place.path() + "-none"), store_error);
    CHECK_THROWS_AS((test_queue{place.store(), test_clock{{}, made_up_machine{day}}}), store_unsupported);
    const machine_room<wal_file> room;
    CHECK_THROWS_AS(lease_queue{room.store()}, store_unsupported);
}

TEMPLATE_TEST_CASE("a process in another time namespace of the same boot is refused", "[boot_clock]",
                   places::rollback_file, places::wal_file) {
    const machine_room<TestType> room;
    room.queue->enqueue({.payload = "x"});
    const made_up_machine container{day};
    container.enter("namespace 2");
    test_queue inside{room.store(), test_clock{{}, container}};
    for (const auto& call : {+[](test_queue& q) { (void)q.now(); }, +[](test_queue& q) { (void)q.claim("A", 1s); }}) {
        const std::string why = refusal([&] { call(inside); });
        CHECK(why.find("namespace 1") != std::string::npos);
        CHECK(why.find("namespace 2") != std::string::npos);
    }
    CHECK(room.taken("B", 1s).token == claim_token{1});
    // The next boot is whose that comes first.
    room.machine.start_again(day);
    container.start_again(day);
    CHECK(inside.now() == day);
    CHECK_THROWS_AS(room.queue->now(), store_unsupported);
}

TEMPLATE_TEST_CASE("where the system does not say which boot this is, nothing is begun", "[boot_clock]",
                   places::rollback_file, places::wal_file) {
    const machine_room<TestType> room;
    room.machine.forget_its_boot();
    CHECK(refusal([&] { room.queue->enqueue({.payload = "x"}); }).find("boot_id") != std::string::npos);
    CHECK(refusal([&] { (void)room.queue->now(); }).find("wall_clock") != std::string::npos);
    CHECK(room.ask("SELECT count(*) FROM leasehold_anchor") == 0);
    CHECK(room.ask("SELECT count(*) FROM leasehold_job") == 0);
}

TEMPLATE_TEST_CASE("what was seen is kept at most once a second, with a write that happens anyway", "[boot_clock]",
                   places::rollback_file, places::wal_file) {
    const machine_room<TestType> room;
    room.queue->enqueue({.key = "1"});
    const lease held = room.taken("A", 1s);
    CHECK(room.high_water() == day);
    SQLite::Database watcher{room.path()};
    const auto written = [&] { return watcher.execAndGet("PRAGMA data_version").getInt(); };
    const int before = written();
    room.machine.pass(2s);
    CHECK(room.queue->now() == day + 2s);
    CHECK_FALSE(room.queue->finish(held));
    CHECK_FALSE(room.queue->claim("B", 1s, "another"));
    CHECK(room.queue->enqueue({.key = "1"}).answer == intake::duplicate);
    CHECK(room.queue->prune({}) == 0);
    CHECK(room.queue->stats().queues.size() == 1);
    CHECK(written() == before);  // nobody is made to write
    CHECK(room.high_water() == day);
    const lease next = room.taken("B", 1h);
    CHECK(room.high_water() == day + 2s);
    room.machine.pass(999ms);
    CHECK(room.queue->checkpoint(next, "c"));
    CHECK(room.high_water() == day + 2s);
    room.machine.pass(1ms);
    CHECK(room.queue->leave_receipt(next, "n"));
    CHECK(room.high_water() == day + 3s);
    room.machine.pass(1s);
    room.queue->enqueue({.payload = "y"});
    CHECK(room.high_water() == day + 4s);
    CHECK(room.queue->finish(next));
    room.machine.pass(1s);
    CHECK(room.queue->prune({}) == 1);
    CHECK(room.high_water() == day + 5s);
}

TEMPLATE_TEST_CASE("an anchor that was rolled back was never there", "[boot_clock]", places::rollback_file,
                   places::wal_file) {
    const machine_room<TestType> room;
    const auto give_up = [&](auto& session) {
        CHECK(session.now() == day);
        throw std::runtime_error{"no"};
    };
    CHECK_THROWS_AS(room.queue->transact(give_up), std::runtime_error);
    CHECK(room.ask("SELECT count(*) FROM leasehold_anchor") == 0);
    room.machine.step_wall(-1min);
    room.queue->transact([&](auto& session) { CHECK(session.now() == day - 1min); });
    room.machine.step_wall(1min);
    CHECK(room.queue->now() == day - 1min);
}

TEMPLATE_TEST_CASE("a caller's own transaction anchors and is judged by the same axis", "[boot_clock]",
                   places::rollback_file, places::wal_file) {
    const machine_room<TestType> room;
    SQLite::Database callers{room.path(), SQLite::OPEN_READWRITE};
    callers.exec("CREATE TABLE mine (id INTEGER PRIMARY KEY)");
    callers.exec("BEGIN IMMEDIATE");
    callers.exec("INSERT INTO mine VALUES (77)");
    {
        auto session = room.queue->join(callers);
        session.enqueue({.payload = "x"});
    }
    CHECK(callers.getLastInsertRowid() == 77);
    callers.exec("COMMIT");
    CHECK(room.high_water() == day);
    room.machine.step_wall(1h);
    const lease held = room.taken("A", 1s);
    room.machine.pass(1s);
    room.queue->transact(callers, [&](auto& session) { CHECK(session.finish(held).why == verdict::expired); });
}

TEMPLATE_TEST_CASE("a deadline by the wall clock is put on the boot clock's axis", "[boot_clock]",
                   places::rollback_file, places::wal_file) {
    const machine_room<TestType> room;
    CHECK(from_wall(*room.queue, room.machine.wall()) == day);
    room.machine.step_wall(30min);  // the axis stays where it was
    CHECK(from_wall(*room.queue, room.machine.wall()) == day);
    CHECK(from_wall(*room.queue, room.machine.wall() + 90s) == day + 90s);
    room.queue->enqueue({.payload = "x", .deadline = from_wall(*room.queue, room.machine.wall() + 90s)});
    CHECK(room.taken("A", 1h).lease_until == day + 90s);
}

// ---- On this machine -----------------------------------------------------------------------------------------------

using boot_queue = basic_lease_queue<boot_clock, sqlite_store>;

TEMPLATE_TEST_CASE("processes of this machine share one axis, close to the wall clock", "[boot_clock]",
                   places::rollback_file, places::wal_file) {
    const TestType place;
    const auto reports = processes::run_together(
        4, [&](std::size_t) { return std::make_unique<boot_queue>(place.store()); },
        [](std::size_t, boot_queue& queue) {
            queue.enqueue({.payload = "x"});
            const instant seen = queue.now();
            const auto apart = seen - instant{std::chrono::floor<std::chrono::milliseconds>(wall_clock{}.now())};
            return std::string{-5s < apart && apart < 5s ? "close" : "apart"};
        });
    CHECK(reports == std::vector<std::string>(4, "close"));
    boot_queue queue{place.store()};
    CHECK(SQLite::Database{place.path()}.execAndGet("SELECT count(*) FROM leasehold_anchor").getInt() == 1);
    const auto held = queue.claim("A", 50ms);
    REQUIRE(held);
    CHECK(queue.cancel(job_id{2}));
    CHECK(queue.cancel(job_id{3}));
    CHECK(queue.cancel(job_id{4}));
    const auto next = queue.wait_claim({}, {.owner = "B", .lease_for = 1h, .wait = 30s});
    REQUIRE(next);
    CHECK(next->granted >= held->lease_until);
    CHECK(queue.time_left(*held) == millis{});
}

/// Enters a time namespace of its own in which the machine was started a day earlier. False where that is not allowed.
bool enter_another_time() {
#ifdef CLONE_NEWTIME
    if (::unshare(CLONE_NEWTIME) != 0) {
        return false;
    }
    const int offsets = ::open("/proc/self/timens_offsets", O_WRONLY | O_CLOEXEC);
    const std::string text = "boottime 86400 0";
    const bool is_set = ::write(offsets, text.data(), text.size()) == static_cast<::ssize_t>(text.size());
    ::close(offsets);
    return is_set;  // for the children
#else
    return false;
#endif
}

TEMPLATE_TEST_CASE("a child in a time namespace of this boot is refused", "[boot_clock]", places::rollback_file,
                   places::wal_file) {
    const TestType place;
    processes::pipe_ends report;
    const auto seen_by = [&](const char* who) {
        const std::string told = refusal([&] {
            boot_queue queue{place.store()};
            (void)queue.now();
        });
        report.write(std::string{who} + (told.find("time namespace") == std::string::npos ? told : "refused") + '\n');
    };
    processes::child outside{[&] {
        seen_by("outside: ");  // has asked which namespace it is in: its child must not believe that
        if (!enter_another_time()) {
            report.write("skipped");
            return;
        }
        processes::child inside{[&] { seen_by("inside: "); }};
        (void)inside.wait();
        seen_by("outside: ");
    }};
    CHECK(outside.wait() == 0);
    const std::string told = report.read_all();
    if (told.find("skipped") != std::string::npos) {
        WARN("skipped: this user may make no time namespace");
    } else {
        CHECK(told == "outside: not refused\ninside: refused\noutside: not refused\n");
    }
}

}  // namespace
