// SPDX-License-Identifier: MIT
/// Where a file is: behind links, beside a journal that is to be rolled back, under modes that are its user's alone.
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include <leasehold/receiver_ledger.hpp>

#include "fault/patient.hpp"
#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/places.hpp"
#include "support/processes.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace fault;
namespace fs = std::filesystem;

std::set<std::string> names_in(const fs::path& folder) {
    std::set<std::string> names;
    for (const auto& each : fs::directory_iterator{folder}) {
        names.insert(each.path().filename().string());
    }
    return names;
}

TEMPLATE_TEST_CASE("a file and a link to it are one queue, with one journal and one gate", "[fault]",
                   places::rollback_file, places::wal_file) {
    const places::temporary_folder folder;
    const places::temporary_folder elsewhere;
    const sqlite_options options{.journal = TestType::journal};
    const std::string link = elsewhere / "link.db";
    const bool was_there = GENERATE(true, false);
    const bool is_relative = GENERATE(true, false);
    if (was_there) {
        lease_queue{{folder / "jobs.db", options}};
    }
    const fs::path target = folder / "jobs.db";
    fs::create_symlink(is_relative ? fs::relative(target, elsewhere.path()) : target, link);
    fs::create_symlink("link.db", elsewhere / "to-the-link.db");
    lease_queue through{{elsewhere / "to-the-link.db", options}};
    lease_queue direct{{folder / "jobs.db", options}};
    through.enqueue({.key = "a"});
    REQUIRE(direct.claim("A", 1h));
    CHECK(!through.claim("B", 1h));
    CHECK(names_in(elsewhere.path()) == std::set<std::string>{"link.db", "to-the-link.db"});
    CHECK(names_in(folder.path()).count("jobs.db-gate") == 1);
}

TEST_CASE("links that go in circles are an error, and no file is made", "[fault]") {
    const places::temporary_folder folder;
    fs::create_symlink("b.db", folder / "a.db");
    fs::create_symlink("a.db", folder / "b.db");
    const outcome was = outcome_of([&] { lease_queue{{folder / "a.db"}}; });
    INFO(was.text);
    CHECK((was.kind == "store_error" || was.kind == "store_unsupported"));
    for (const std::string& each : names_in(folder.path())) {
        CHECK((each == "a.db" || each == "b.db" || each.ends_with(".db-gate")));
    }
}

TEST_CASE("a journal that is to be rolled back is not touched by who may only read, and is by the next writer",
          "[fault]") {
    if (::geteuid() != 0) {
        WARN("skipped: only root can become somebody else");
        return;
    }
    const places::temporary_folder folder;
    const places::temporary_folder crashed;
    const std::string before = folder / "jobs.db";
    const std::string path = crashed / "jobs.db";
    std::vector<record> jobs;
    {
        timed_queue queue{sqlite_store{before}, manual_clock{instant{1'000'000ms}}};
        for (int i = 0; i < 20; ++i) {
            queue.enqueue({.payload = std::string(5'000, 'p')});
        }
        jobs = crash::jobs_of(queue);
    }
    {
        // Copied amid a transaction that has written to the file already: what a crash leaves.
        SQLite::Database writer{before, SQLite::OPEN_READWRITE};
        writer.exec("PRAGMA cache_size = 1; BEGIN IMMEDIATE; UPDATE leasehold_payload SET bytes = zeroblob(5000)");
        fs::copy_file(before, path);
        fs::copy_file(before + "-journal", path + "-journal");
        writer.exec("ROLLBACK");
    }
    REQUIRE(files::read(path) != files::read(before));
    const std::string file = files::read(path);
    const std::string journal = files::read(path + "-journal");
    REQUIRE(::chmod(path.c_str(), 0444) == 0);
    REQUIRE(::chmod((path + "-journal").c_str(), 0444) == 0);
    REQUIRE(::chmod(crashed.path().c_str(), 0555) == 0);
    processes::pipe_ends said;
    processes::child nobody{[&] {
        if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) {
            throw std::runtime_error{"cannot become nobody"};
        }
        said.write(outcome_of([&] { timed_queue{sqlite_store{path}, manual_clock{instant{1'000'000ms}}}; }).kind);
    }};
    CHECK(WEXITSTATUS(nobody.wait()) == 0);
    const std::string kind = said.read_all();
    INFO(kind);
    CHECK((kind == "store_readonly" || kind == "store_error"));
    CHECK(files::read(path) == file);
    CHECK(files::read(path + "-journal") == journal);
    REQUIRE(::chmod(path.c_str(), 0600) == 0);
    REQUIRE(::chmod((path + "-journal").c_str(), 0600) == 0);
    REQUIRE(::chmod(crashed.path().c_str(), 0700) == 0);
    const timed_queue queue{sqlite_store{path}, manual_clock{instant{1'000'000ms}}};
    CHECK(crash::jobs_of(queue) == jobs);
    crash::other_reader{path}.refuse_damage();
}

TEMPLATE_TEST_CASE("whatever is made is its user's alone, whatever the mask, the gate and a ledger's files too",
                   "[fault]", places::rollback_file, places::wal_file) {
    const places::temporary_folder folder;
    const mode_t mask = ::umask(0);
    {
        const sqlite_options options{.journal = TestType::journal};
        lease_queue queue{{folder / "jobs.db", options}};
        queue.enqueue({.payload = "x"});
        auto held = queue.claim("A", 1h);
        receiver_ledger ledger{folder / "ledger.db", {.file = options}};
        ledger.apply("id", "content", *held, [](SQLite::Database&) { return "answer"; });
        const std::set<std::string> names = names_in(folder.path());
        CHECK(names.count("jobs.db-gate") == 1);
        CHECK(names.size() > 4);
        for (const std::string& each : names) {
            struct stat found {};
            REQUIRE(::stat((folder / each).c_str(), &found) == 0);
            INFO(each);
            CHECK((found.st_mode & 07777U) == 0600);
        }
    }
    ::umask(mask);
}

}  // namespace
