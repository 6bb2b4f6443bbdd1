// SPDX-License-Identifier: MIT
/// File systems that another machine can be on are refused by name. What the system answers is made up here: this
/// program has a `statfs` of its own.
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <leasehold/receiver_ledger.hpp>
#include <leasehold/sqlite.hpp>

#include "fault/patient.hpp"
#include "support/catch.hpp"
#include "support/temporary_folder.hpp"

namespace {

/// What is answered of every path under a folder; everything else is the kernel's own answer.
struct made_up {
    std::string folder{};
    long type = 0;
};

made_up& answer() {
    static made_up now;
    return now;
}

}  // namespace

extern "C" int statfs(const char* path, struct statfs* found) noexcept {
    const long result = ::syscall(SYS_statfs, path, found);
    if (result == 0 && !answer().folder.empty() && std::string_view{path}.starts_with(answer().folder)) {
        found->f_type = answer().type;
    }
    return static_cast<int>(result);
}

namespace {

using namespace fault;

struct pretence {
    pretence(const std::string& folder, long type) { answer() = {folder, type}; }
    pretence(const pretence&) = delete;
    pretence& operator=(const pretence&) = delete;
    ~pretence() { answer() = {}; }
};

struct remote {
    const char* name;
    long type;
};

// By the manual of statfs, but for those that keep their number to themselves.
constexpr std::array remotes{
    remote{"nfs", 0x6969},        remote{"smb", 0x517B},      remote{"smb", 0xFE534D42},  remote{"smb", 0xFF534D42},
    remote{"afs", 0x5346414F},    remote{"afs", 0x6B414653},  remote{"ceph", 0x00C36400}, remote{"9p", 0x01021997},
    remote{"lustre", 0x0BD00BD0}, remote{"gpfs", 0x47504653}, remote{"coda", 0x73757245}, remote{"ncp", 0x564C},
    remote{"beegfs", 0x19830326}, remote{"fuse", 0x65735546},
};

// ext4, XFS, Btrfs, tmpfs, overlay, ZFS, F2FS
constexpr std::array locals{0xEF53L, 0x58465342L, 0x9123683EL, 0x01021994L, 0x794C7630L, 0x2FC12FC1L, 0xF2F52010L};

bool is_empty(const places::temporary_folder& folder) { return std::filesystem::is_empty(folder.path()); }

TEST_CASE("a network file system is refused by its name, and nothing is made there", "[fault]") {
    for (const remote& each : remotes) {
        const places::temporary_folder folder;
        const pretence network{folder.path().string(), each.type};
        const outcome queue = outcome_of([&] { lease_queue{{folder / "jobs.db"}}; });
        const outcome ledger = outcome_of([&] { receiver_ledger{folder / "ledger.db"}; });
        for (const outcome& was : {queue, ledger}) {
            INFO(each.name << ": " << was.text);
            CHECK(was.kind == "store_unsupported");
            CHECK(was.text.find(folder.path().string()) == 0);
            CHECK(was.text.find("trusted_file_system to \"" + std::string{each.name} + '"') != std::string::npos);
            CHECK((was.text.find("FUSE") != std::string::npos) == (std::string_view{each.name} == "fuse"));
        }
        CHECK(is_empty(folder));
    }
}

TEST_CASE("a file that is on a network file system already is refused as it is", "[fault]") {
    const places::temporary_folder folder;
    lease_queue{{folder / "jobs.db"}};
    const pretence network{folder.path().string(), 0x6969};
    CHECK(outcome_of([&] { lease_queue{{folder / "jobs.db"}}; }).kind == "store_unsupported");
}

TEST_CASE("a link from a local disk to a network file system is refused", "[fault]") {
    const places::temporary_folder there;
    const places::temporary_folder here;
    std::filesystem::create_symlink(there / "jobs.db", here / "jobs.db");
    const pretence network{there.path().string(), 0x6969};
    CHECK(outcome_of([&] { lease_queue{{here / "jobs.db"}}; }).kind == "store_unsupported");
    CHECK(is_empty(there));
}

TEST_CASE("who trusts a file system names it, and that one alone is taken", "[fault]") {
    for (const remote& each : remotes) {
        const places::temporary_folder folder;
        const pretence network{folder.path().string(), each.type};
        lease_queue queue{{folder / "jobs.db", {.trusted_file_system = each.name}}};
        queue.enqueue({});
        CHECK(queue.claim("A", 1h));
        receiver_ledger{folder / "ledger.db", {.file = {.trusted_file_system = each.name}}};
        const std::string another = std::string_view{each.name} == "nfs" ? "smb" : "nfs";
        CHECK(outcome_of([&] {
                  lease_queue{{folder / "jobs.db", {.trusted_file_system = another}}};
              }).kind == "store_unsupported");
    }
}

TEST_CASE("the file systems of one machine are taken", "[fault]") {
    for (const long type : locals) {
        const places::temporary_folder folder;
        const pretence local{folder.path().string(), type};
        lease_queue queue{{folder / "jobs.db"}};
        queue.enqueue({});
        CHECK(queue.claim("A", 1h));
    }
}

}  // namespace
