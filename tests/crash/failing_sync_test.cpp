// SPDX-License-Identifier: MIT
/// A sync that fails: the kernel reports it once, forgets what it could not write, and says of the next sync that all
/// is well. Then the power is cut.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "crash/story.hpp"
#include "support/catch.hpp"
#include "support/soak.hpp"

namespace {

using namespace crash;

/// Calls that may be repeated after an unknown outcome, as a caller would: each leads to the same contents, whether
/// its first try stood or not.
class careful_caller {
public:
    explicit careful_caller(story& in) : in_{in} {}

    using call = void (careful_caller::*)();
    static constexpr std::array<call, 9> calls() {
        using c = careful_caller;
        return {&c::open,         &c::enqueue_one, &c::enqueue_several,  &c::claim_first, &c::renew,
                &c::finish_first, &c::claim_first, &c::finish_and_claim, &c::prune};
    }

private:
    timed_queue& queue() { return *in_.queue; }

    void open() {
        in_.queue.reset();
        in_.open();
    }
    void enqueue_one() { queue().enqueue({.key = "1", .payload = payload_of("1", 9'000)}); }
    void enqueue_several() {
        std::vector<job> jobs;
        for (const char* const key : {"2", "3", "4", "5"}) {
            jobs.push_back({.key = key, .payload = payload_of(key, 1'500)});
        }
        queue().enqueue_many(jobs);
    }

    /// The round that an owner has, if its claim stood.
    std::optional<marker> held_by(const std::string& owner) {
        for (const record& each : queue().list().items) {
            if (each.state == job_state::leased && each.owner == owner) {
                return each.marker();
            }
        }
        return std::nullopt;
    }
    void claim_first() {
        held_ = held_by("A");
        if (!held_) {
            held_ = *queue().claim("A", 1h);
        }
    }
    void renew() {
        held_ = held_by("A");
        const settlement renewed = queue().renew(*held_, 2h);  // outside of CHECK, which would swallow what it throws
        CHECK(renewed);
    }
    void finish_first() {
        const settlement finished = queue().finish(*held_, payload_of("result", 5'000));
        CHECK((finished || finished.ended_by_presented()));
    }
    void finish_and_claim() {
        if (held_by("B")) {
            const settlement finished = queue().finish(*held_, "r");
            CHECK(finished.ended_by_presented());
        } else {
            const auto both = queue().finish_and_claim(*held_, "r", {.owner = "B", .lease_for = 1h});
            CHECK(both.finished);
        }
    }
    void prune() { queue().prune({}); }

    story& in_;
    std::optional<marker> held_{};
};

/// One try of a call: where its events are, and whether it returned.
struct attempt {
    std::size_t call = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
    bool is_acknowledged = false;
};

class failing_run {
public:
    failing_run(journal_mode journal, std::size_t sync, std::uint64_t chance) : in{{.journal = journal}} {
        in.disk.fail_sync(sync, chance);
        careful_caller caller{in};
        for (std::size_t i = 0; i < careful_caller::calls().size(); ++i) {
            for (int tries = 0; !attempt_at(i, caller); ++tries) {
                REQUIRE(tries < 3);
            }
            after.push_back({"", anywhere(jobs_of(*in.queue))});
            in.clock.advance(10ms);
        }
    }

    /// What may be found where the power is cut after so many events. States are those of a run in which nothing fails.
    expectation expected_after(std::size_t events, const std::vector<contents>& states) const {
        static const contents nothing{};
        expectation expected;
        std::size_t begun = 0;
        for (const attempt& each : attempts) {
            if (each.begin < events) {
                begun = each.call + 1;
            }
            if (each.end <= events && each.is_acknowledged) {
                expected.acknowledged = each.call + 1;
            }
        }
        expected.under_way =
            "call " + std::to_string(begun) + ", acknowledged " + std::to_string(expected.acknowledged);
        for (std::size_t i = expected.acknowledged; i <= begun; ++i) {
            expected.allowed.push_back(i == 0 ? &nothing : &states[i - 1]);
        }
        return expected;
    }

    story in;
    std::vector<attempt> attempts{};
    std::vector<contents> after{};  ///< each call
    std::vector<std::string> threw{};
    std::size_t failed_in = 0;  ///< the call in which the sync failed

private:
    bool attempt_at(std::size_t number, careful_caller& caller) {
        attempt made{number, in.disk.events().size()};
        const bool had_failed = in.disk.has_failed();
        try {
            (caller.*careful_caller::calls()[number])();
            made.is_acknowledged = true;
        } catch (const store_unknown&) {
            threw.emplace_back("store_unknown");
        } catch (const store_error& error) {
            threw.emplace_back(error.what());
        }
        made.end = in.disk.events().size();
        if (!had_failed && in.disk.has_failed()) {
            failed_in = number;
        }
        attempts.push_back(made);
        return made.is_acknowledged;
    }
};

/// Cuts the power at each event from the failure on, until the next call is acknowledged too.
void cut_after_failure(const failing_run& run, const std::vector<contents>& states, cutter& power,
                       const std::string& which) {
    platter disk;
    bool has_failed = false;
    std::size_t at_event = 0;
    for (const disk_event& event : run.in.disk.events()) {
        disk.apply(event);
        ++at_event;
        has_failed = has_failed || std::holds_alternative<sync_failed>(event);
        if (!has_failed) {
            continue;
        }
        const expectation expected = run.expected_after(at_event, states);
        if (expected.acknowledged > run.failed_in + 1) {
            break;
        }
        power.cut(disk, expected, "after " + which + " and event " + std::to_string(at_event),
                  [&](const image& left) { return fault_in(left, expected, run.in.clock.now(), {}); });
    }
}

/// What there is to expect.
struct sound_run {
    explicit sound_run(journal_mode journal) {
        const failing_run run{journal, 1'000'000, 0};
        CHECK(run.threw.empty());
        after = run.after;
        syncs = run.in.disk.syncs();
    }

    std::vector<contents> after{};
    std::size_t syncs = 0;
};

TEST_CASE("a sync that fails leaves one of two outcomes, and later calls last", "[crash]") {
    const auto journal = GENERATE(journal_mode::rollback, journal_mode::wal);
    const std::uint64_t from = seed();
    platter::random chance{from};
    const sound_run sound{journal};
    cut_counts sum;
    std::size_t unknown = 0;
    std::size_t failures = 0;
    for (std::size_t round = 0; round < soak(1); ++round) {
        for (std::size_t sync = 0; sync < sound.syncs; ++sync) {
            const failing_run run{journal, sync, chance()};
            INFO("LEASEHOLD_SEED=" << from << ": sync " << sync << " failed, in call " << run.failed_in
                                   << ", which threw " << (run.threw.empty() ? "nothing" : run.threw.front()));
            REQUIRE(run.in.disk.has_failed());
            ++failures;
            CHECK(run.threw.size() <= 1);
            if (run.failed_in > 0) {  // in the work, it is a commit that failed, or a checkpoint, which does not matter
                CHECK(std::count(run.threw.begin(), run.threw.end(), "store_unknown") ==
                      static_cast<std::ptrdiff_t>(run.threw.size()));
            }
            unknown += run.threw.size();
            for (std::size_t i = 0; i < run.after.size(); ++i) {
                CHECK(run.after[i].jobs == sound.after[i].jobs);
            }
            cutter power{soak(1) - 1, chance};
            cut_after_failure(run, sound.after, power, "sync " + std::to_string(sync));
            INFO(power.counts.first_loss);
            CHECK(power.counts.losses == 0);
            sum.points += power.counts.points;
            sum.images += power.counts.images;
            sum.losses += power.counts.losses;
        }
    }
    std::cout << "figure: failing sync: " << to_text(journal) << ": " << failures << " failures, " << unknown
              << " calls that threw, then " << sum.points << " points to cut at, " << sum.images
              << " different images, " << sum.losses << " with losses\n";
}

}  // namespace
