// SPDX-License-Identifier: MIT
/// Processes that are killed, at any moment, with calls under way.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include "crash/busy_thread.hpp"
#include "crash/condemned.hpp"
#include "crash/inquest.hpp"
#include "crash/notes.hpp"
#include "crash/story.hpp"
#include "crash/system_calls.hpp"
#include "support/catch.hpp"
#include "support/processes.hpp"
#include "support/soak.hpp"

namespace {

using namespace crash;
using random = std::mt19937_64;

/// Kills its process before the system call after so many.
class executioner : public onlooker {
public:
    explicit executioner(std::uint64_t calls) : left_{calls} {}

    int before(const system_call&) override {
        if (left_.fetch_sub(1) == 0) {
            ::kill(::getpid(), SIGKILL);
        }
        return 0;
    }

private:
    std::atomic<std::uint64_t> left_;
};

sentence drawn(random& chance, std::uint64_t calls) {
    if (chance() % 2 == 0) {
        return {.at_call = chance() % calls};
    }
    return {.after = std::chrono::microseconds{chance() % 6'000}};
}

/// A process that works, and is killed at its sentence's system call, or some time after it began.
template <class Work>
condemned doomed(const sentence& how, notes& on, const Work& work) {
    return {how, on, [&] {
                std::optional<executioner> inside;
                if (how.at_call) {
                    inside.emplace(*how.at_call);
                }
                work();
            }};
}

/// A file over which one process after another is killed.
class scene {
public:
    scene(journal_mode journal, std::uint64_t from) : options_{.journal = journal, .busy_timeout = 30s}, chance_{from} {
        const lease_queue made{{path(), options_}};
    }

    /// Kills a process at its work. Throws what is wrong afterwards.
    void kill_a_worker() {
        notes told;
        const std::uint64_t from = chance_();
        const std::uint64_t first = ++runs_ * 10'000;
        const bool is_full = before_.size() > 40;
        condemned worker = doomed(drawn(chance_, 600), told, [&] {
            lease_queue queue{{path(), options_}};
            work_on(queue, told, first, is_full, from);
        });
        const bool was_killed = worker.was_killed();
        counts.kills += was_killed ? 1U : 0U;
        counts.add(told);
        if (was_killed && runs_ % 4 == 0) {  // and so is who comes next, on the way back from it
            notes none;
            condemned next = doomed({.at_call = chance_() % 40}, none, [&] {
                lease_queue{{path(), options_}}.stats();
            });
            counts.kills += next.was_killed() ? 1U : 0U;
        }
        look_after(told);
    }

    kill_counts counts{};

private:
    std::string path() const { return folder_ / "jobs.db"; }

    void look_after(const notes& told) {
        lease_queue queue{{path(), options_}};
        other_reader reader{path()};
        reader.refuse_damage();
        if (reader.orphans() != 0) {
            throw std::runtime_error{"bytes or receipts without a job, or jobs without a payload"};
        }
        const rows after = all_of(queue);
        if (const std::string fault = inquest{before_, after, told}.fault(); !fault.empty()) {
            throw std::runtime_error{fault};
        }
        // The dead hold nothing for long: whoever comes next shall find work, and the file stay small.
        for (const auto& [id, row] : after) {
            if (row.state == job_state::leased) {
                CHECK(queue.revoke(id, row.token));
            }
        }
        queue.prune({});
        before_ = all_of(queue);
    }

    places::temporary_folder folder_{quick_place()};
    sqlite_options options_;
    random chance_;
    std::uint64_t runs_ = 0;
    rows before_{};
};

TEST_CASE("a process that is killed has done what it was told was done, and of the rest each call whole or not at all",
          "[crash]") {
    const auto journal = GENERATE(journal_mode::rollback, journal_mode::wal);
    const std::uint64_t from = seed();
    INFO("LEASEHOLD_SEED=" << from);
    scene at{journal, from};
    while (at.counts.kills < soak(400) / share) {
        INFO("kill " << at.counts.kills);
        at.kill_a_worker();
    }
    CHECK(at.counts.under_way > at.counts.kills / 2);  // else they were killed at no work
    CHECK(at.counts.acknowledged > at.counts.kills);
    std::cout << "figure: kill at work: " << to_text(journal) << ": " << at.counts;
}

/// A folder in which processes make files, and are killed at that.
class nursery {
public:
    explicit nursery(journal_mode journal) : options_{.journal = journal, .busy_timeout = 30s} {}

    /// Has processes make one file, all at once, and each put a job in. Returns how many of them were killed; throws
    /// what is wrong with the file then.
    std::size_t kill_makers(const std::vector<sentence>& sentences) {
        const std::string path = folder_ / ("jobs " + std::to_string(++files_));
        std::vector<notes> told(sentences.size());
        std::vector<std::unique_ptr<condemned>> makers;
        for (std::size_t i = 0; i < sentences.size(); ++i) {
            noted_call& call = told[i].of_thread(0).front();
            makers.emplace_back(new condemned{doomed(sentences[i], told[i], [&] { put_a_job_in(path, call, i); })});
        }
        std::size_t kills = 0;
        for (const auto& each : makers) {
            kills += each->was_killed() ? 1U : 0U;
        }
        look_after(path, told);
        return kills;
    }

    /// What is there beside files that have their names.
    std::size_t leftovers() const {
        const std::filesystem::directory_iterator all{folder_.path()};
        return static_cast<std::size_t>(std::count_if(begin(all), end(all), [](const auto& entry) {
            return entry.path().filename().string().starts_with(".leasehold-");
        }));
    }

private:
    void put_a_job_in(const std::string& path, noted_call& call, std::size_t number) const {
        lease_queue queue{{path, options_}};
        call.number = number;
        call.at = noted_call::stage::begun;
        queue.enqueue({.key = key_of(number), .payload = bytes_of(number)});
        call.at = noted_call::stage::answered;
    }

    void look_after(const std::string& path, std::vector<notes>& told) const {
        lease_queue queue{{path, options_}};
        other_reader{path}.refuse_damage();
        for (std::size_t i = 0; i < told.size(); ++i) {
            const auto found = queue.find("default", key_of(i));
            if (found ? found->payload != bytes_of(i) : told[i].of_thread(0).front().is_answered()) {
                throw std::runtime_error{"job " + std::to_string(i) + (found ? " is half there" : " is lost")};
            }
        }
    }

    places::temporary_folder folder_{quick_place()};
    sqlite_options options_;
    std::size_t files_ = 0;
};

TEST_CASE("a process that is killed while it makes a file leaves none, or a whole one, and nothing that piles up",
          "[crash]") {
    const auto journal = GENERATE(journal_mode::rollback, journal_mode::wal);
    const std::uint64_t from = seed();
    INFO("LEASEHOLD_SEED=" << from);
    random chance{from};
    nursery in{journal};
    std::size_t kills = 0;
    std::uint64_t calls = 0;  // before each system call that making a file takes
    for (; in.kill_makers({{.at_call = calls}}) == 1; calls += share) {
        INFO("killed before call " << calls);
        CHECK(in.leftovers() <= 1);
        ++kills;
    }
    CHECK(calls > 50);
    for (std::size_t round = 0; round < soak(24) / share; ++round) {  // and several that make the same one
        kills += in.kill_makers({drawn(chance, calls), drawn(chance, calls), drawn(chance, calls)});
        CHECK(in.leftovers() <= 3);
    }
    CHECK(in.kill_makers({{.at_call = 1'000'000}}) == 0);
    CHECK(in.leftovers() == 0);
    std::cout << "figure: kill while a file is made: " << to_text(journal) << ": " << kills << " kills, at each of "
              << calls << " system calls and at random, 0 lost or half made\n";
}

}  // namespace
