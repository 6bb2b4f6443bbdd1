// SPDX-License-Identifier: MIT
/// Waking from one process to another, and what becomes of it when the gate is not what it should be.
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <sys/stat.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include "support/files.hpp"
#include "support/places.hpp"
#include "support/processes.hpp"

namespace {

using namespace places;

TEMPLATE_TEST_CASE("a wait wakes for an enqueue and a joined enqueue by another process", "[wait]",
                   places::rollback_file, places::wal_file) {
    TestType place;
    { lease_queue made{place.store()}; }
    const auto reports = processes::run_together(
        2, [&](std::size_t) { return std::make_unique<lease_queue>(place.store()); },
        [&](std::size_t i, lease_queue& queue) -> std::string {
            if (i == 0) {
                std::string seen;
                for (int job = 0; job < 20; ++job) {
                    const auto held = queue.wait_claim({}, {.owner = "A", .lease_for = 1h, .wait = 30s});
                    seen += held ? held->key + ' ' : "nothing ";
                }
                return seen;
            }
            for (int job = 0; job < 10; ++job) {
                std::this_thread::sleep_for(5ms);
                queue.enqueue({.key = std::to_string(job)});
            }
            SQLite::Database callers{place.path(), SQLite::OPEN_READWRITE, 30'000};
            for (int job = 10; job < 20; ++job) {
                std::this_thread::sleep_for(5ms);
                callers.exec("BEGIN IMMEDIATE");
                {
                    auto session = queue.join(callers);
                    session.enqueue({.key = std::to_string(job)});
                }
                callers.exec("COMMIT");
                queue.publish({});
            }
            return "sent";
        });
    CHECK(reports[0] == "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 ");
    CHECK(reports[1] == "sent");
}

TEMPLATE_TEST_CASE("a gate that is damaged, or cannot be, delays a wake and does no harm", "[wait]",
                   places::rollback_file, places::wal_file) {
    TestType place;
    lease_queue queue{place.store()};
    lease_queue other{place.store()};
    const std::string gate = place.path() + "-gate";
    const auto overwrite = [&](const std::string& bytes) { files::write(gate, bytes); };
    std::error_code made_anew;  // ignored: who waits may have made another gate between two steps of a damage
    const std::vector<std::function<void()>> damages{
        [] {},
        [&] { std::filesystem::remove(gate); },
        [&] { overwrite(""); },
        [&] { overwrite("lhgate01"); },
        [&] { overwrite(std::string(64, '\xA5')); },
        [&] { overwrite("lhgate99" + std::string(56, '\0')); },
        [&] { overwrite(std::string(1'000'000, '\xFF')); },
        [&] {
            std::filesystem::remove(gate);
            std::filesystem::create_directory(gate, made_anew);
        },
        [&] {
            std::filesystem::remove(gate);
            std::filesystem::create_symlink("/dev/null", gate, made_anew);
        },
    };
    for (std::size_t i = 0; i < damages.size(); ++i) {
        auto waits = std::async(std::launch::async,
                                [&] { return queue.wait_claim({}, {.owner = "A", .lease_for = 1h, .wait = 30s}); });
        std::this_thread::sleep_for(40ms);
        REQUIRE_NOTHROW(damages[i]());
        other.enqueue({.key = std::to_string(i)});
        const std::optional<lease> held = waits.get();
        INFO("damage " << i);
        REQUIRE(held);
        CHECK(held->key == std::to_string(i));
        CHECK(queue.finish(*held));
    }
}

TEST_CASE("the gate has the permissions of the database", "[wait]") {
    const temporary_folder folder;
    const std::string path = folder / "jobs.db";
    const mode_t mask = ::umask(0);
    lease_queue queue{{path, {.file_mode = 0640}}};
    queue.enqueue({.payload = "x"});
    CHECK(queue.wait_claim({}, {.owner = "A", .lease_for = 1h}));
    struct stat found {};
    REQUIRE(::stat((path + "-gate").c_str(), &found) == 0);
    CHECK((found.st_mode & 0777U) == 0640);
    CHECK(found.st_size == 64);
    ::umask(mask);
}

}  // namespace
