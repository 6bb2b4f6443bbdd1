// SPDX-License-Identifier: MIT
/// How a file is made: whole before it has its name, and with the name lasting before anybody is told.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <leasehold/sqlite/private_file.hpp>

#include "crash/story.hpp"
#include "support/catch.hpp"

namespace {

using namespace crash;

/// Somebody acts at the moment at which a file has got its name.
class meddling_disk : public recorded_disk {
public:
    meddling_disk(const std::filesystem::path& below, std::function<void()> meddle)
        : recorded_disk{below}, meddle_{std::move(meddle)} {}

    void after(const system_call& call) override {
        recorded_disk::after(call);
        if (call.what == system_call::kind::link && meddle_) {
            std::exchange(meddle_, nullptr)();
        }
    }

private:
    std::function<void()> meddle_;
};

TEST_CASE("a job that is put into a file whose maker has not synced its name yet lasts all the same", "[crash]") {
    const auto journal = GENERATE(journal_mode::rollback, journal_mode::wal);
    const sqlite_options options{.journal = journal};
    const places::temporary_folder folder{quick_place()};
    const std::string path = folder / "jobs.db";
    const manual_clock clock;
    std::size_t acknowledged = 0;
    std::optional<contents> held;
    const recorded_disk* seen = nullptr;
    meddling_disk disk{folder.path(), [&] {
                           timed_queue other{sqlite_store{path, options}, clock};
                           other.enqueue({.key = "k", .payload = "x"});
                           acknowledged = seen->events().size();
                           held = {other_reader{path}.identity(), jobs_of(other)};
                       }};
    seen = &disk;
    const timed_queue made{sqlite_store{path, options}, clock};
    REQUIRE(held);

    platter left;
    for (std::size_t i = 0; i < acknowledged; ++i) {
        left.apply(disk.events()[i]);
    }
    platter::random chance;
    const expectation expected{.acknowledged = 1, .allowed = {&*held}};
    CHECK(fault_in(left.after_cut(survival::none, chance), expected, clock.now(), {}).empty());
}

/// Refuses to sync a folder, as a disk does that fails.
struct no_folder_sync : onlooker {
    int before(const system_call& call) override {
        struct stat found {};
        const bool is_folder = ::fstat(call.descriptor, &found) == 0 && S_ISDIR(found.st_mode);
        return call.what == system_call::kind::sync && is_folder && refused++ == at ? EIO : 0;
    }

    int at = 0;
    int refused = 0;
};

TEST_CASE("a new file whose name cannot be made to last is not acknowledged", "[crash]") {
    const places::temporary_folder folder{quick_place()};
    const std::string path = folder / "jobs.db";
    no_folder_sync disk;
    disk.at = 1;  // the first is SQLite's, in the folder where the file is made
    CHECK_THROWS_WITH(lease_queue{{path}}, contains("making the name"));
    lease_queue queue{{path}};  // the same disk, well again
    CHECK(queue.enqueue({.payload = "x"}).answer == intake::accepted);
}

TEST_CASE("who makes a file removes what others left who were killed at that, and nothing else", "[crash]") {
    const places::temporary_folder folder{quick_place()};
    const auto make_folder = [&](const char* name, const char* file) {
        std::filesystem::create_directory(folder / name);
        std::ofstream{std::filesystem::path{folder / name} / file} << "x";
    };
    make_folder(".leasehold-killed", "new");
    make_folder(".leasehold-making", "new");
    make_folder(".leasehold-others", "photo");
    make_folder("elsewhere", "new");
    std::filesystem::create_directory_symlink(folder / "elsewhere", folder / ".leasehold-linked");
    std::ofstream{folder / ".leasehold-afile1"} << "x";
    const auto held = leasehold::detail::sqlite::open_descriptor::of_folder((folder / ".leasehold-making").c_str());
    REQUIRE(::flock(held.number(), LOCK_EX) == 0);

    const lease_queue queue{{folder / "jobs.db"}};
    CHECK_FALSE(std::filesystem::exists(folder / ".leasehold-killed"));
    for (const char* const stays : {".leasehold-making/new", ".leasehold-others/photo", "elsewhere/new",
                                    ".leasehold-linked/new", ".leasehold-afile1"}) {
        INFO(stays);
        CHECK(std::filesystem::exists(folder / stays));
    }
}

}  // namespace
