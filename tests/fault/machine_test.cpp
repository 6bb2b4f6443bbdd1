// SPDX-License-Identifier: MIT
/// A file system that is really full, a process that may write no more, and places that may only be read.
#include <csignal>
#include <cstddef>
#include <fstream>
#include <optional>
#include <string>

#include <grp.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault/patient.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/processes.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace fault;

/// A file system of one megabyte, where one can be mounted.
class small_disk {
public:
    small_disk() : is_there_{::mount("none", folder_.path().c_str(), "tmpfs", 0, "size=1m") == 0} {}
    small_disk(const small_disk&) = delete;
    small_disk& operator=(const small_disk&) = delete;
    ~small_disk() {
        if (is_there_) {
            ::umount2(folder_.path().c_str(), MNT_DETACH);
        }
    }
    explicit operator bool() const { return is_there_; }
    std::string operator/(const std::string& name) const { return folder_ / name; }

    /// Leaves no room at all until it is told to.
    void fill() const {
        std::ofstream filling{*this / "filling", std::ios::binary};
        for (const std::size_t size : {std::size_t{4096}, std::size_t{1}}) {
            const std::string block(size, 'x');
            while (filling.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
            }
            filling.clear();
        }
    }
    void make_room() const { ::unlink((*this / "filling").c_str()); }

private:
    places::temporary_folder folder_{};
    bool is_there_;
};

TEMPLATE_TEST_CASE("a full disk is store_full, and with room again the queue goes on", "[fault]", places::rollback_file,
                   places::wal_file) {
    for (const verb asked : every_verb) {
        const small_disk disk;
        if (!disk) {
            WARN("skipped: no file system can be mounted here");
            return;
        }
        patient ill{disk / "jobs.db", {.journal = TestType::journal, .busy_timeout = 1s}};
        if (TestType::journal == journal_mode::wal) {
            // A log that is emptied asks for new room at once.
            SQLite::Database{ill.path(), SQLite::OPEN_READWRITE}.exec("PRAGMA wal_checkpoint(TRUNCATE)");
        }
        disk.fill();
        const outcome was = ill.ask(asked);
        disk.make_room();
        INFO(to_text(asked) << ": " << was.kind << ": " << was.text);
        const bool writes = asked != verb::find && asked != verb::open;
        if (writes) {
            CHECK((was.kind == "store_full" || was.kind == "nothing"));
        }
        if (asked == verb::enqueue) {
            CHECK(was.kind == "store_full");
        }
        CHECK(ill.aftermath(asked, was) == "");
    }
}

/// The process can make no file longer than that, and is told so by an error.
class length_limit {
public:
    explicit length_limit(rlim_t most) {
        ignored_ = std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit now{most, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &now);
    }
    length_limit(const length_limit&) = delete;
    length_limit& operator=(const length_limit&) = delete;
    ~length_limit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, ignored_);
    }

private:
    rlimit before_{};
    void (*ignored_)(int) = SIG_DFL;
};

TEMPLATE_TEST_CASE("a process that may write no more gets errors, and once it may again the queue goes on", "[fault]",
                   places::rollback_file, places::wal_file) {
    std::size_t threw = 0;
    for (const verb asked : every_verb) {
        for (const rlim_t most : {rlim_t{0}, rlim_t{100}, rlim_t{5000}, rlim_t{40'000}, rlim_t{100'000}}) {
            const places::temporary_folder folder{crash::quick_place()};
            patient ill{folder / "jobs.db", {.journal = TestType::journal, .busy_timeout = 1s}};
            outcome was;
            {
                const length_limit limit{most};
                was = ill.ask(asked);
            }
            INFO(to_text(asked) << " with " << most << " bytes: " << was.kind << ": " << was.text);
            CHECK(was.kind != "another exception");
            CHECK(was.kind != "store_corrupt");
            CHECK(was.kind != "store_busy");
            CHECK(ill.aftermath(asked, was) == "");
            threw += was.threw() ? 1U : 0U;
        }
    }
    CHECK(threw > 4);
}

/// Asks as somebody who is not root, to whom no mode is a hindrance, after `there(folder, path)` has said what may be
/// done. `still_written`: whether that is enough to write.
template <class There>
void is_read_only(journal_mode journal, bool still_written, const There& there) {
    if (::geteuid() != 0) {
        WARN("skipped: only root can become somebody else, and be root again");
        return;
    }
    for (const verb asked : every_verb) {
        const places::temporary_folder folder{crash::quick_place()};
        REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
        patient ill{folder / "jobs.db", {.journal = journal, .busy_timeout = 200ms}};
        for (const char* const file : {"", "-wal", "-shm", "-journal", "-gate"}) {
            (void)!::chmod((ill.path() + file).c_str(), 0666);
        }
        processes::pipe_ends said;
        {
            const std::string path = ill.path();
            ill.close();  // a child must not inherit what is locked
            there(folder.path(), path);
            processes::child nobody{[&] {
                if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) {
                    throw std::runtime_error{"cannot become nobody"};
                }
                const outcome was = outcome_of([&] {
                    timed_queue queue{sqlite_store{path, {.journal = journal, .busy_timeout = 200ms}},
                                      manual_clock{instant{1'000'000ms}}};
                    ill.perform_on(asked, queue);
                });
                said.write(was.kind + ' ' + was.text);
            }};
            CHECK(WEXITSTATUS(nobody.wait()) == 0);
        }
        ::chmod(folder.path().c_str(), 0777);
        ::chmod(ill.path().c_str(), 0666);
        ill.reopen();
        const std::string answer = said.read_all();
        const outcome was{answer.substr(0, answer.find(' ')), answer.substr(answer.find(' ') + 1)};
        INFO(to_text(asked) << ": " << answer);
        const bool reads = asked == verb::find || asked == verb::open;
        CHECK((was.kind == "store_readonly" || was.kind == "store_error" || !was.threw()));
        CHECK((was.threw() || reads || still_written));
        CHECK(ill.aftermath(asked, was) == "");
    }
}

TEMPLATE_TEST_CASE("a file that may only be read is never written, and is said to be so", "[fault]",
                   places::rollback_file, places::wal_file) {
    is_read_only(TestType::journal, false,
                 [](auto&, const std::string& path) { REQUIRE(::chmod(path.c_str(), 0444) == 0); });
}

TEMPLATE_TEST_CASE("in a folder where nothing can be made no call is half done", "[fault]", places::rollback_file,
                   places::wal_file) {
    // A rollback journal stays where it was, emptied, and serves; a log is made anew by whoever comes first.
    is_read_only(TestType::journal, TestType::journal == journal_mode::rollback,
                 [](const auto& folder, auto&) { REQUIRE(::chmod(folder.c_str(), 0555) == 0); });
}

}  // namespace
