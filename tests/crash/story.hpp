// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include <leasehold/manual_clock.hpp>
#include <leasehold/sqlite.hpp>

#include "crash/payloads.hpp"
#include "crash/platter.hpp"
#include "crash/recorded_disk.hpp"
#include "support/temporary_folder.hpp"

namespace crash {

using namespace leasehold;
using namespace std::chrono_literals;
using timed_queue = basic_lease_queue<manual_clock, sqlite_store>;

/// Where files need not last longer than the test: in memory, where there is such a folder.
inline std::filesystem::path quick_place() {
    return std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : std::filesystem::temp_directory_path();
}

/// All that can be seen of a queue.
struct contents {
    std::string identity{};  ///< of the store; empty: any
    std::vector<record> jobs{};
};

template <class Queue>
std::vector<record> jobs_of(const Queue& queue) {
    std::vector<record> jobs;
    for (const record& each : queue.list({.limit = 1000}).items) {
        jobs.push_back(*queue.find(each.id));
    }
    return jobs;
}

/// Jobs without the store's name, which is another in every run.
inline std::vector<record> anywhere(std::vector<record> jobs) {
    for (record& each : jobs) {
        each.store = {};
    }
    return jobs;
}

/// Somebody else's look at the file.
class other_reader {
public:
    explicit other_reader(const std::string& path) : file_{path} {}

    /// Throws what the engine says of a file that is damaged.
    void refuse_damage() {
        if (const std::string said = file_.execAndGet("PRAGMA integrity_check").getString(); said != "ok") {
            throw std::runtime_error{"damaged: " + said};
        }
    }
    std::string identity() { return file_.execAndGet("SELECT hex(store_id) FROM leasehold_meta").getString(); }
    /// Rows of the tables beside the jobs' that belong to none, and jobs without a payload, where all have one.
    std::int64_t orphans() {
        return file_
            .execAndGet(
                "SELECT (SELECT count(*) FROM leasehold_payload WHERE id NOT IN (SELECT id FROM leasehold_job)) + "
                "(SELECT count(*) FROM leasehold_result WHERE id NOT IN (SELECT id FROM leasehold_job)) + "
                "(SELECT count(*) FROM leasehold_checkpoint WHERE id NOT IN (SELECT id FROM leasehold_job)) + "
                "(SELECT count(*) FROM leasehold_receipt WHERE job NOT IN (SELECT id FROM leasehold_job)) + "
                "(SELECT count(*) FROM leasehold_job WHERE id NOT IN (SELECT id FROM leasehold_payload))")
            .getInt64();
    }

private:
    SQLite::Database file_;
};

/// A run of calls on a fresh file, with what was asked of the disk for each, and what the queue held after it.
class story {
public:
    struct step {
        std::string name{};
        std::size_t begin = 0;  ///< the events that were there before it
        std::size_t end = 0;    ///< and when it had returned
        contents after{};
    };

    explicit story(sqlite_options with) : options{with} {}

    template <class Call>
    void call(std::string name, const Call& work) {
        step made{std::move(name), disk.events().size()};
        work();
        made.end = disk.events().size();
        made.after = {other_reader{path()}.identity(), jobs_of(*queue)};
        steps.push_back(std::move(made));
        clock.advance(10ms);
    }

    void open() {
        queue.emplace(sqlite_store{path(), options}, clock);
        // Checkpoints come after many pages: here, within a few calls, with the log begun anew after each.
        queue->transact([](auto& session) { session.native().exec("PRAGMA wal_autocheckpoint = 20"); });
    }
    std::string path() const { return folder / "jobs.db"; }

    sqlite_options options;
    places::temporary_folder folder{quick_place()};
    recorded_disk disk{folder.path()};
    manual_clock clock{instant{1'000'000ms}};
    std::optional<timed_queue> queue{};
    std::vector<step> steps{};
};

/// What may be found after a cut.
struct expectation {
    std::size_t acknowledged = 0;            ///< calls
    std::vector<const contents*> allowed{};  ///< what was acknowledged, and perhaps the call that was under way
    std::string under_way = "nothing";

    bool allows(const contents& found) const {
        return std::any_of(allowed.begin(), allowed.end(), [&](const contents* each) {
            return each->identity.empty() ? anywhere(found.jobs) == anywhere(each->jobs)
                                          : found.jobs == each->jobs && found.identity == each->identity;
        });
    }
};

/// Opens what a cut left, by the library as it is, and says what is wrong with it; nothing where all is well. `now`:
/// when the power was cut; `given`: tokens that were acknowledged.
inline std::string fault_in(const image& left, const expectation& expected, instant now,
                            const std::map<job_id, claim_token>& given) {
    const places::temporary_folder folder{quick_place()};
    const std::string path = folder / "jobs.db";
    left.write_to(folder.path());
    try {
        // What waits for the disk here need not: nothing is cut any more.
        manual_clock clock{now};
        timed_queue queue{sqlite_store{path, {.synchronous = synchronous_mode::off}}, clock};
        other_reader reader{path};
        reader.refuse_damage();
        const contents found{reader.identity(), jobs_of(queue)};
        if (!expected.allows(found)) {
            return "lost or half done: its " + std::to_string(found.jobs.size()) + " jobs are not as they were";
        }
        clock.advance(24h);  // all leases are over
        for (const lease& each : queue.claim_many("after the cut", 1h, 1000)) {
            if (const auto before = given.find(each.id); before != given.end() && each.token <= before->second) {
                return "given twice: token " + to_text(each.token) + " of job " + to_text(each.id);
            }
        }
        return {};
    } catch (const std::exception& error) {
        return std::string{"cannot be worked on: "} + error.what();
    }
}

struct cut_counts {
    std::size_t points = 0;  ///< at which the power was cut
    std::size_t cuts = 0;    ///< one for each way to lose something there
    std::size_t images = 0;  ///< different ones among them, all opened
    std::size_t losses = 0;  ///< images in which something acknowledged was gone, or something was half there
    std::string first_loss{};
};

/// Cuts the power at one point: with all that was not synced lost, all of it kept, the last alone kept, and some of the
/// other ways, by chance.
class cutter {
public:
    cutter(std::size_t ways, platter::random& chance) : ways_{ways}, chance_{chance} {}

    template <class Check>
    void cut(const platter& disk, const expectation& expected, const std::string& where, const Check& fault_of) {
        ++counts.points;
        constexpr std::array always{survival::none, survival::all, survival::only_last};
        for (std::size_t way = 0; way < always.size() + ways_; ++way) {
            const survival which =
                way < always.size() ? always.at(way) : every_survival.at(chance_() % every_survival.size());
            const image left = disk.after_cut(which, chance_);
            ++counts.cuts;
            if (!seen_.insert({expected.acknowledged, expected.allowed.size(), hash_of(left)}).second) {
                continue;
            }
            ++counts.images;
            if (const std::string fault = fault_of(left); !fault.empty()) {
                ++counts.losses;
                if (counts.first_loss.empty()) {
                    counts.first_loss = "cut " + where + ", during " + expected.under_way +
                                        ", kept of the unsynced: " + std::string{to_text(which)} + ": " + fault;
                }
            }
        }
    }

    cut_counts counts{};

private:
    std::size_t ways_;
    platter::random& chance_;
    std::set<std::tuple<std::size_t, std::size_t, std::size_t>> seen_{};
};

}  // namespace crash
