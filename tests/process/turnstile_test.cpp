// SPDX-License-Identifier: MIT
/// Processes take turns at the file, and whatever becomes of the gate, or of who has the turn, the queue goes on.
#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include <leasehold/sqlite/turnstile.hpp>

#include "support/files.hpp"
#include "support/many_jobs.hpp"
#include "support/places.hpp"
#include "support/processes.hpp"

namespace {

using namespace places;
using leasehold::detail::sqlite::turnstile;

auto in(millis time) { return turnstile::clock::now() + time.to_chrono(); }

/// Waits for one byte; false where none comes in time.
bool hears(const processes::pipe_ends& from, std::chrono::milliseconds at_most) {
    pollfd waits{from.reading(), POLLIN, 0};
    char byte = 0;
    return ::poll(&waits, 1, static_cast<int>(at_most.count())) == 1 && ::read(from.reading(), &byte, 1) == 1;
}

/// A process that has the turn, and leaves when it is told to.
class holder {
public:
    explicit holder(const std::string& database)
        : child_{[&] {
              turnstile gate{database};
              entered_.write(gate.enter(in(60s)) ? "y" : "n");
              hears(leave_, 60s);
              gate.leave();
              left_.write("l");
              hears(end_, 60s);
          }} {
        REQUIRE(hears(entered_, 60s));
    }

    void leave() const {
        leave_.write("l");
        REQUIRE(hears(left_, 60s));
    }
    const processes::child& process() const { return child_; }

private:
    processes::pipe_ends entered_{};
    processes::pipe_ends leave_{};
    processes::pipe_ends left_{};
    processes::pipe_ends end_{};
    processes::child child_;
};

/// Claims and finishes until there is nothing more; how many jobs those were.
std::size_t work_off(lease_queue& queue) {
    std::size_t done = 0;
    while (const auto held = queue.claim("worker", 1h)) {
        if (held->token != claim_token{1} || !queue.finish(*held)) {
            throw std::runtime_error{"job " + to_text(held->id) + " was handed out twice"};
        }
        ++done;
    }
    return done;
}

std::size_t number_in(const std::string& report) {
    INFO(report);
    REQUIRE(!report.empty());
    REQUIRE(report.find_first_not_of("0123456789") == std::string::npos);
    return std::stoul(report);
}

TEMPLATE_TEST_CASE("processes that work flat out all get their share", "[turnstile]", places::rollback_file,
                   places::wal_file) {
    TestType place;
    constexpr std::size_t count = 800;
    make_jobs(place, count);
    const auto reports = processes::run_together(
        4,
        [&](std::size_t) {
            // With syncs, or the share of the processor would be what is seen.
            return std::make_unique<lease_queue>(sqlite_store{place.path()});
        },
        [](std::size_t, lease_queue& queue) { return std::to_string(work_off(queue)); });
    std::size_t all = 0;
    std::size_t least = count;
    for (const std::string& report : reports) {
        all += number_in(report);
        least = std::min(least, number_in(report));
    }
    CHECK(all == count);
    CHECK(least >= count / 8);  // half of a fair share; the engine's own waiting leaves some with nothing
}

TEST_CASE("processes pass in the order in which they came", "[turnstile]") {
    const temporary_folder folder;
    const std::string database = folder / "jobs.db";
    bool was_quick = false;
    // Who has waited for long looks whether the turn is free, and may lose its place by that: on a machine with other
    // work to do it is tried again.
    for (int round = 0; round < 50 && !was_quick; ++round) {
        const holder first{database};
        processes::pipe_ends passed;
        std::vector<std::unique_ptr<processes::child>> line;
        const auto start = turnstile::clock::now();
        for (char name = 'a'; name < 'e'; ++name) {
            line.push_back(std::make_unique<processes::child>([&, name] {
                turnstile gate{database};
                while (!gate.enter(in(10s))) {  // the first one's turn may seem endless to it
                }
                passed.write(std::string{name});
                gate.leave();
            }));
            line.back()->wait_until_it_waits();
        }
        first.leave();
        for (const auto& each : line) {
            CHECK(WEXITSTATUS(each->wait()) == 0);
        }
        was_quick = turnstile::clock::now() - start < turnstile::between_looks;
        const std::string order = passed.read_all();
        INFO(order);
        CHECK(order.size() == 4);
        CHECK((order == "abcd" || !was_quick));
    }
    CHECK(was_quick);
}

TEST_CASE("who leaves does not pass again before the one that it has woken", "[turnstile]") {
    const temporary_folder folder;
    const std::string database = folder / "jobs.db";
    turnstile mine{database};
    REQUIRE(mine.enter(in(1s)));
    std::atomic<bool> was_there = false;
    std::thread other{[&] {
        turnstile theirs{database};
        was_there = theirs.enter(in(10s));
        theirs.leave();
    }};
    std::this_thread::sleep_for(20ms);  // it waits by now
    mine.leave();
    CHECK(mine.enter(in(10s)));
    CHECK(was_there);
    other.join();
}

TEST_CASE("a turn ends with its process", "[turnstile]") {
    const temporary_folder folder;
    const std::string database = folder / "jobs.db";
    const holder killed{database};
    turnstile mine{database};
    CHECK(!mine.enter(in({})));
    killed.process().signal(SIGKILL);
    CHECK(mine.enter(in(10s)));
}

TEMPLATE_TEST_CASE("a process that is stopped before it asks for the lock, or after its commit, delays one call",
                   "[turnstile]", places::rollback_file, places::wal_file) {
    TestType place;
    make_jobs(place, 50);
    const bool after_commit = GENERATE(false, true);
    processes::pipe_ends begin;
    processes::pipe_ends there;
    const processes::child stopped{[&] {
        hears(begin, 60s);
        const auto stop_here = [&] {
            there.write("t");
            ::raise(SIGSTOP);
        };
        if (after_commit) {
            sqlite_store store = place.store();
            auto ended = store.begin(wall_clock{});
            ended.commit();
            stop_here();
        } else {
            turnstile gate{place.path()};
            gate.enter(in(10s));
            stop_here();
            gate.leave();
        }
        stop_here();
    }};
    lease_queue queue{place.store()};
    begin.write("b");
    REQUIRE(hears(there, 10s));
    turnstile mine{place.path()};
    CHECK(!mine.enter(in({})));
    CHECK(work_off(queue) == 50);
    // The turn that does not end is not waited for again.
    CHECK(!mine.enter(in(60s)));
    const auto start = turnstile::clock::now();
    CHECK(!mine.enter(in(60s)));
    CHECK(turnstile::clock::now() - start < 200ms);
    // When it has ended, there are turns again.
    stopped.signal(SIGCONT);
    REQUIRE(hears(there, 10s));
    CHECK(mine.enter(in(10s)));
}

TEMPLATE_TEST_CASE("a process that is stopped inside its transaction is reported as what it is: the lock is not had",
                   "[turnstile]", places::rollback_file, places::wal_file) {
    TestType place;
    make_jobs(place, 1);
    processes::pipe_ends begin;
    processes::pipe_ends there;
    const processes::child stopped{[&] {
        hears(begin, 60s);
        lease_queue theirs{place.store()};
        theirs.transact([&](auto& session) {
            session.enqueue({.key = "theirs"});
            there.write("t");
            ::raise(SIGSTOP);
        });
        there.write("t");
        ::raise(SIGSTOP);
    }};
    lease_queue queue{{place.path(), {.busy_timeout = 300ms}}};
    begin.write("b");
    REQUIRE(hears(there, 10s));
    CHECK_THROWS_AS(queue.claim("A", 1h), store_busy);
    stopped.signal(SIGCONT);
    REQUIRE(hears(there, 10s));
    CHECK(work_off(queue) == 2);
}

TEMPLATE_TEST_CASE("whatever is done to the gate under working processes, every job is done once", "[turnstile]",
                   places::rollback_file, places::wal_file) {
    TestType place;
    constexpr std::size_t count = 3000;
    make_jobs(place, count);
    const std::string gate = place.path() + "-gate";
    const auto overwrite = [&](const std::string& bytes) { files::write(gate, bytes); };
    int renamed = 0;
    std::error_code made_anew;  // ignored: a worker may have made another gate, or none, between two steps of a damage
    const std::array<std::function<void()>, 9> damages{
        [&] { std::filesystem::remove_all(gate); },
        [&] { (void)!::truncate(gate.c_str(), 0); },
        [&] { (void)!::truncate(gate.c_str(), 12); },
        [&] { overwrite(std::string(64, '\xA5')); },
        [&] { overwrite("lhgate01" + std::string(56, '\xFF')); },
        [&] { overwrite("lhgate99" + std::string(56, '\0')); },
        [&] { std::filesystem::rename(gate, gate + "-" + std::to_string(++renamed), made_anew); },
        [&] {
            std::filesystem::remove_all(gate);
            std::filesystem::create_directory(gate, made_anew);
        },
        [&] {
            std::filesystem::remove_all(gate);
            std::filesystem::create_symlink("/dev/null", gate, made_anew);
        },
    };
    const auto reports = processes::run_together(
        4, [&](std::size_t) { return std::make_unique<lease_queue>(place.store()); },
        [&](std::size_t i, lease_queue& queue) -> std::string {
            if (i > 0) {
                return std::to_string(work_off(queue));
            }
            std::minstd_rand random{7};  // NOLINT(cert-msc51-cpp): the same every time
            while (queue.stats().queues.front().finished < count) {
                damages[random() % damages.size()]();
                std::this_thread::sleep_for(2ms);
            }
            return "0";
        });
    std::size_t all = 0;
    for (const std::string& report : reports) {
        all += number_in(report);
    }
    CHECK(all == count);
    std::filesystem::remove_all(gate);
    lease_queue queue{place.store()};
    queue.enqueue({.key = "last"});
    CHECK(work_off(queue) == 1);
    CHECK(std::filesystem::file_size(gate) == 64);
}

TEST_CASE("readers of a rollback journal, and who opens it, take their turn; readers of a write-ahead log need none",
          "[turnstile]") {
    places::rollback_file with_journal;
    places::wal_file with_log;
    make_jobs(with_journal, 1);
    make_jobs(with_log, 1);
    lease_queue reads_log{with_log.store()};
    CHECK(reads_log.find(job_id{1}));  // has opened what it reads by
    const holder has_log{with_log.path()};
    CHECK(reads_log.find(job_id{1}));

    lease_queue reads_journal{{with_journal.path(), {.busy_timeout = 60s}}};
    CHECK(reads_journal.find(job_id{1}));
    const holder has_journal{with_journal.path()};
    std::atomic<int> came = 0;
    std::thread reader{[&] { came += reads_journal.find(job_id{1}) ? 1 : 0; }};
    std::thread opener{[&] {
        const lease_queue opened{{with_journal.path(), {.busy_timeout = 60s}}};
        ++came;
    }};
    std::this_thread::sleep_for(50ms);
    CHECK(came == 0);
    has_journal.leave();
    reader.join();
    opener.join();
    CHECK(came == 2);
}

TEMPLATE_TEST_CASE("a full disk has no gate, and does no other harm than a full disk does", "[turnstile]",
                   places::rollback_file, places::wal_file) {
    TestType place;
    if (::mount("none", place.folder.path().c_str(), "tmpfs", 0, "size=1m") != 0) {
        WARN("skipped: no file system can be mounted here");
        return;
    }
    {
        make_jobs(place, 20);
        lease_queue queue{place.store()};
        const std::string gate = place.path() + "-gate";
        const std::string filling = place.folder / "filling";
        std::filesystem::remove(gate);
        {
            std::ofstream fill{filling};
            const std::string block(4096, 'x');
            while (fill << block << std::flush) {
            }
        }
        lease_queue second{place.store()};
        CHECK(second.find(job_id{1}));
        CHECK_THROWS_AS(second.enqueue({.payload = std::string(100'000, 'x')}), store_error);
        std::filesystem::remove(filling);
        CHECK(work_off(second) + work_off(queue) == 20);
    }
    CHECK(::umount(place.folder.path().c_str()) == 0);
}

TEST_CASE("a second user of a database for a group has the same gate", "[turnstile]") {
    constexpr uid_t nobody = 65534;
    if (::geteuid() != 0) {
        WARN("skipped: only root can become somebody else");
        return;
    }
    const temporary_folder folder;
    REQUIRE(::chown(folder.path().c_str(), 0, nobody) == 0);
    REQUIRE(::chmod(folder.path().c_str(), 02770) == 0);
    const std::string path = folder / "jobs.db";
    lease_queue queue{{path, {.file_mode = 0660}}};
    queue.enqueue({.key = "a"});
    struct stat gate {};
    REQUIRE(::stat((path + "-gate").c_str(), &gate) == 0);
    CHECK((gate.st_mode & 0777U) == 0660);
    CHECK(gate.st_gid == nobody);
    turnstile mine{path};
    REQUIRE(mine.enter(in(10s)));
    processes::pipe_ends said;
    processes::child other{[&] {
        if (::setgroups(0, nullptr) != 0 || ::setgid(nobody) != 0 || ::setuid(nobody) != 0) {
            throw std::runtime_error{"cannot become nobody"};
        }
        turnstile theirs{path};
        said.write(theirs.enter(in(100ms)) ? "y" : "n");  // the turn is mine
        lease_queue second{{path}};
        said.write(std::to_string(work_off(second)));
    }};
    REQUIRE(hears(said, 10s));
    mine.leave();
    CHECK(WEXITSTATUS(other.wait()) == 0);
    CHECK(said.read_all() == "1");
}

TEST_CASE("processes of two PID namespaces stand in one line", "[turnstile]") {
    const temporary_folder folder;
    const std::string database = folder / "jobs.db";
    turnstile mine{database};
    REQUIRE(mine.enter(in(1s)));
    processes::pipe_ends said;
    processes::pipe_ends end;
    processes::child apart{[&] {
        if (::unshare(CLONE_NEWPID) != 0) {
            said.write("-");
            return;
        }
        processes::child inside{[&] {
            turnstile theirs{database};
            said.write(::getpid() == 1 && !theirs.enter(in(20ms)) ? "w" : "?");
            said.write(theirs.enter(in(60s)) ? "t" : "?");
            hears(end, 60s);
        }};
        inside.wait();
    }};
    char first = 0;
    REQUIRE(::read(said.reading(), &first, 1) == 1);
    if (first == '-') {
        WARN("skipped: no PID namespace can be made here");
        return;
    }
    CHECK(first == 'w');
    mine.leave();
    char second = 0;
    REQUIRE(::read(said.reading(), &second, 1) == 1);
    CHECK(second == 't');
    CHECK(!mine.enter(in(20ms)));
    end.write("e");
    CHECK(WEXITSTATUS(apart.wait()) == 0);
}

TEST_CASE("a fork while the turn is held leaves it with the one that has it", "[turnstile]") {
    const temporary_folder folder;
    const std::string database = folder / "jobs.db";
    turnstile mine{database};
    turnstile other{database};
    REQUIRE(mine.enter(in(1s)));
    {
        processes::child ends_at_once{[] {}};
        CHECK(WEXITSTATUS(ends_at_once.wait()) == 0);
    }
    CHECK(!other.enter(in(20ms)));
    const processes::child lives_on{[] { ::pause(); }};
    mine.leave();
    CHECK(other.enter(in(10s)));
    other.leave();

    // Where the one that had it is gone and its child has the file still open, the turn does not end: it is passed
    // over.
    processes::pipe_ends there;
    processes::child parent{[&] {
        turnstile theirs{database};
        theirs.enter(in(10s));
        if (::fork() == 0) {
            there.write("t");
            ::sleep(2);
            ::_exit(0);
        }
    }};
    CHECK(WEXITSTATUS(parent.wait()) == 0);
    REQUIRE(hears(there, 10s));
    CHECK(!mine.enter(in(60s)));
}

TEMPLATE_TEST_CASE("a program that knows nothing of the gate gets through, and so do we", "[turnstile]",
                   places::rollback_file, places::wal_file) {
    TestType place;
    make_jobs(place, 1500);
    const auto reports = processes::run_together(
        3, [&](std::size_t) { return std::make_unique<lease_queue>(place.store()); },
        [&](std::size_t i, lease_queue& queue) -> std::string {
            if (i > 0) {
                return std::to_string(work_off(queue));
            }
            SQLite::Database foreign{place.path(), SQLite::OPEN_READWRITE, 60'000};
            foreign.exec("PRAGMA synchronous = OFF");
            foreign.exec("CREATE TABLE theirs (n)");
            for (int n = 0; n < 200; ++n) {
                foreign.exec("BEGIN IMMEDIATE; INSERT INTO theirs VALUES (1); COMMIT");
            }
            return std::to_string(foreign.execAndGet("SELECT count(*) FROM theirs").getInt());
        });
    CHECK(number_in(reports[0]) == 200);
    CHECK(number_in(reports[1]) + number_in(reports[2]) == 1500);
}

}  // namespace
