// SPDX-License-Identifier: MIT
/// Several real processes on one file.
#include <algorithm>
#include <memory>
#include <string>

#include "process/races.hpp"
#include "support/places.hpp"
#include "support/processes.hpp"

namespace {

using namespace places;

/// How children open. They wait long: a machine with other work to do is not the matter here.
template <class Place>
auto opener(const Place& place) {
    return [path = place.path()] {
        return std::make_unique<lease_queue>(
            sqlite_store{path, {.synchronous = synchronous_mode::off, .busy_timeout = 30s}});
    };
}

TEMPLATE_TEST_CASE("of two processes that start at one instant, exactly one claims the job", "[process]",
                   places::rollback_file, places::wal_file) {
    for (int round = 0; round < 200; ++round) {
        INFO("round " << round);
        const TestType place;
        lease_queue{place.store()};
        races::of_two_processes_one_claims(opener(place));
    }
}

TEMPLATE_TEST_CASE("four processes finish every job once, and none is told busy", "[process]", places::rollback_file,
                   places::wal_file) {
    const TestType place;
    lease_queue{place.store()};
    races::four_processes_finish_each_job_once(opener(place), 2000);
}

TEMPLATE_TEST_CASE("any number of processes may open a missing file at once", "[process]", places::rollback_file,
                   places::wal_file) {
    for (int round = 0; round < 10; ++round) {
        TestType place;
        const auto reports = processes::run_together(
            16, [&](std::size_t) { return std::make_unique<std::string>(place.path()); },
            [&](std::size_t i, const std::string&) {
                lease_queue queue{place.store()};
                return to_text(queue.enqueue({.key = std::to_string(i)}).answer);
            });
        for (const std::string& report : reports) {
            REQUIRE(report == "accepted");
        }
        lease_queue queue{place.store()};
        REQUIRE(queue.list().items.size() == 16);
    }
}

TEST_CASE("processes that open a missing file with different journals: one kind is refused, and the others go on",
          "[process]") {
    for (int round = 0; round < 20; ++round) {
        const temporary_folder folder;
        const std::string path = folder / "jobs.db";
        const auto reports = processes::run_together(
            8, [&](std::size_t i) { return std::make_unique<std::size_t>(i); },
            [&](std::size_t i, std::size_t) -> std::string {
                const journal_mode journal = i % 2 == 0 ? journal_mode::wal : journal_mode::rollback;
                try {
                    lease_queue queue{{path, {.journal = journal, .busy_timeout = 30s}}};
                    queue.enqueue({.key = std::to_string(i)});
                    return queue.stats().queues.empty() ? "empty" : "opened " + std::string{to_text(journal)};
                } catch (const store_unsupported&) {
                    return "refused";
                }
            });
        const auto wal = std::count(reports.begin(), reports.end(), "opened write-ahead log");
        const auto rollback = std::count(reports.begin(), reports.end(), "opened rollback journal");
        CHECK(std::count(reports.begin(), reports.end(), "refused") == 4);
        CHECK(((wal == 4 && rollback == 0) || (wal == 0 && rollback == 4)));
    }
}

}  // namespace
