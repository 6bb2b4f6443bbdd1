// SPDX-License-Identifier: MIT
/// A disk that is full, fails, or takes a part of what is written: at every system call of every verb in turn.
#include <array>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "crash/system_calls.hpp"
#include "fault/patient.hpp"
#include "support/catch.hpp"
#include "support/places.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace fault;
using crash::system_call;
using kind = system_call::kind;

struct trouble {
    std::string_view name;
    kind what;
    int error;
    bool takes_half = false;  ///< the write takes half of the bytes, and the next fails
};

constexpr std::array troubles{
    trouble{"writes fail", kind::write, EIO},
    trouble{"the disk is full", kind::write, ENOSPC},
    trouble{"the quota is used up", kind::write, EDQUOT},
    trouble{"the disk is full midway", kind::write, ENOSPC, true},
    trouble{"writes fail midway", kind::write, EIO, true},
    trouble{"syncs fail", kind::sync, EIO},
    trouble{"files cannot be cut", kind::truncate, EIO},
    trouble{"files cannot be opened", kind::open, EIO},
    trouble{"no more files can be open", kind::open, EMFILE},
    trouble{"no file can be made", kind::open, ENOSPC},
    trouble{"files may not be opened", kind::open, EACCES},
};

/// Lets so many calls of a kind pass; then one fails, or all do.
class failing_disk : public crash::onlooker {
public:
    failing_disk(trouble what, std::size_t passing, bool once) : what_{what}, passing_{passing}, once_{once} {}

    int before(const system_call& call) override {
        if (call.what != what_.what || seen_++ < passing_ || (once_ && fired_ > 0)) {
            return 0;
        }
        if (what_.takes_half && !half_) {
            half_ = true;
            return 0;
        }
        ++fired_;
        return what_.error;
    }
    std::size_t taken(const system_call& call) override {
        return half_ && fired_ == 0 && call.what == kind::write ? (call.size + 1) / 2 : call.size;
    }
    bool was_met() const { return fired_ > 0; }

private:
    trouble what_;
    std::size_t passing_;
    bool once_;
    bool half_ = false;
    std::size_t seen_ = 0;
    std::size_t fired_ = 0;
};

TEMPLATE_TEST_CASE("whatever the disk does, a call stands whole or not at all, and the queue goes on", "[fault]",
                   places::rollback_file, places::wal_file) {
    std::size_t met = 0;
    std::map<std::string, std::size_t> answers;
    for (const trouble& what : troubles) {
        std::size_t met_here = 0;
        for (const bool once : {true, false}) {
            for (const verb asked : every_verb) {
                for (std::size_t passing = 0;; ++passing) {
                    const places::temporary_folder folder{crash::quick_place()};
                    patient ill{folder / "jobs.db", {.journal = TestType::journal, .busy_timeout = 50ms}};
                    outcome was;
                    bool was_met = false;
                    {
                        failing_disk disk{what, passing, once};
                        was = ill.ask(asked);
                        was_met = disk.was_met();
                    }
                    INFO(what.name << (once ? " once" : "") << " after " << passing << " calls, in " << to_text(asked)
                                   << ": " << was.kind << ": " << was.text);
                    REQUIRE(ill.aftermath(asked, was) == "");
                    if (!was_met) {
                        REQUIRE(!was.threw());
                        break;
                    }
                    // Where the engine does without, as with a log that it cannot tidy up yet, nothing is thrown.
                    REQUIRE(was.kind != "another exception");
                    REQUIRE(was.kind != "store_corrupt");
                    REQUIRE(was.kind != "store_unsupported");
                    REQUIRE((!was.threw() || (was.code != 0 && was.text.find(": ") != std::string::npos)));
                    if (what.error == ENOSPC && what.what == kind::write && was.threw()) {
                        REQUIRE(was.kind == "store_full");
                    }
                    ++answers[was.kind];
                    ++met_here;
                }
            }
        }
        INFO(what.name);
        const bool has_place = what.what != kind::truncate || TestType::journal == journal_mode::rollback;
        CHECK((met_here > 0) == has_place);
        met += met_here;
    }
    std::cout << "figure: disk: " << to_text(TestType::journal) << ": " << met << " faults met";
    for (const auto& [name, count] : answers) {
        std::cout << ", " << count << ' ' << name;
    }
    std::cout << '\n';
}

class counted_syncs : public crash::onlooker {
public:
    void after(const system_call& call) override { seen_ += call.what == kind::sync ? 1U : 0U; }
    std::size_t seen() const { return seen_; }

private:
    std::size_t seen_ = 0;
};

TEMPLATE_TEST_CASE("a connection that does not sync takes nothing away from one that does", "[fault]",
                   places::rollback_file, places::wal_file) {
    const places::temporary_folder folder{crash::quick_place()};
    const std::string path = folder / "jobs.db";
    timed_queue careful{sqlite_store{path, {.journal = TestType::journal}}, manual_clock{instant{1'000'000ms}}};
    const auto syncs_of = [](auto& queue) {
        const counted_syncs disk;
        queue.enqueue({});
        return disk.seen();
    };
    careful.enqueue({});  // a new log begins with more syncs than it goes on with
    const std::size_t alone = syncs_of(careful);
    CHECK(alone > 0);
    timed_queue careless{sqlite_store{path, {.journal = TestType::journal, .synchronous = synchronous_mode::off}},
                         manual_clock{instant{1'000'000ms}}};
    CHECK(syncs_of(careless) == 0);
    CHECK(syncs_of(careful) == alone);
    SQLite::Database foreign{path, SQLite::OPEN_READWRITE};
    foreign.exec("PRAGMA synchronous = OFF; CREATE TABLE other (x)");
    CHECK(syncs_of(careful) == alone);
}

TEMPLATE_TEST_CASE("a group whose commit the disk refuses is told so, each of its calls, and goes on", "[fault]",
                   places::rollback_file, places::wal_file) {
    const places::temporary_folder folder{crash::quick_place()};
    const std::string path = folder / "jobs.db";
    lease_queue queue{{path, {.journal = TestType::journal}}, wall_clock{}, {.group_limit = 8}};
    for (const int error : {ENOSPC, EIO}) {
        // Looked at when all threads have ended: their errors are one object, which the standard library counts the
        // users of where the thread sanitizer does not see it.
        std::vector<std::exception_ptr> thrown(8);
        {
            failing_disk disk{{"", kind::write, error}, 0, false};
            std::vector<std::thread> callers;
            for (std::exception_ptr& mine : thrown) {
                callers.emplace_back([&] {
                    try {
                        queue.enqueue({.payload = "p"});
                    } catch (...) {
                        mine = std::current_exception();
                    }
                });
            }
            for (std::thread& each : callers) {
                each.join();
            }
        }
        for (const std::exception_ptr& each : thrown) {
            REQUIRE(each);
            const std::string threw = outcome_of([&] { std::rethrow_exception(each); }).kind;
            CHECK((error == ENOSPC ? threw == "store_full" : threw == "store_error" || threw == "store_unknown"));
        }
    }
    CHECK(queue.list({}).items.empty());
    CHECK(queue.enqueue({.payload = "p"}).answer == intake::accepted);
    crash::other_reader{path}.refuse_damage();
}

}  // namespace
