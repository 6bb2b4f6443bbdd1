// SPDX-License-Identifier: MIT
/// Power cuts: at every write, sync and change of a name that a run asks of the kernel.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "crash/story.hpp"
#include "support/catch.hpp"
#include "support/soak.hpp"

namespace {

using namespace crash;

void work_through_a_round(story& in, const std::string& round) {
    timed_queue& queue = *in.queue;
    std::map<std::string, lease> held;
    const auto key = [&](const char* name) { return round + name; };
    const auto claim = [&](const char* as, millis lease_for) {
        in.call("claim", [&] { held.insert_or_assign(as, *queue.claim(key(as), lease_for)); });
    };
    in.call("enqueue", [&] { queue.enqueue({.key = key("1"), .payload = payload_of(key("1"), 9'000)}); });
    in.call("enqueue_many", [&] {
        std::vector<job> jobs;
        for (const char* name : {"2", "3", "4", "5", "6", "7"}) {
            jobs.push_back({.key = key(name), .payload = payload_of(key(name), 1'500), .max_attempts = 2});
        }
        queue.enqueue_many(jobs, on_conflict::nothing);
    });
    claim("a", 1h);
    claim("b", 1h);
    in.call("renew", [&] { CHECK(queue.renew(held.at("a"), 2h)); });
    in.call("checkpoint", [&] { CHECK(queue.checkpoint(held.at("a"), payload_of("half", 6'000))); });
    in.call("finish", [&] { CHECK(queue.finish(held.at("a"), payload_of("result", 5'000))); });
    in.call("fail", [&] { CHECK(queue.fail(held.at("b"), "no answer")); });
    claim("c", 1h);
    in.call("finish_and_claim", [&] {
        auto both = queue.finish_and_claim(held.at("c"), "r", {.owner = key("d"), .lease_for = 1h});
        CHECK(both.finished);
        held.insert_or_assign("d", std::move(*both.next));
    });
    in.call("leave_receipt", [&] { CHECK(queue.leave_receipt(held.at("d"), "sent at noon")); });
    in.call("release", [&] { CHECK(queue.release(held.at("d"))); });
    claim("e", 5ms);  // over by the next call
    in.call("claim_many", [&] {
        for (lease& each : queue.claim_many(key("f"), 1h, 3)) {
            held.insert_or_assign("f" + each.key, std::move(each));
        }
    });
    in.call("finish_many", [&] {
        std::vector<marker> all;
        for (const auto& [name, each] : held) {
            if (name.starts_with("f")) {
                all.push_back(each);
            }
        }
        CHECK(all.size() == 3);
        CHECK(queue.finish_many(all).front());
    });
    claim("g", 1h);
    in.call("quarantine", [&] { CHECK(queue.quarantine(held.at("g"), "a person must look")); });
    in.call("requeue", [&] { CHECK(queue.requeue(held.at("g").id, held.at("g").token)); });
    in.call("prune", [&] { CHECK(queue.prune({}) > 0); });
}

/// The file's creation, two rounds of work, and between them an end of the last connection and another beginning.
void work_through(story& in) {
    in.call("open", [&] { in.open(); });
    work_through_a_round(in, "first ");
    in.call("close and open", [&] {
        in.queue.reset();
        in.open();
    });
    work_through_a_round(in, "second ");
}

expectation expected_after(const std::vector<story::step>& steps, std::size_t events) {
    static const contents nothing{};
    expectation expected;
    while (expected.acknowledged < steps.size() && steps[expected.acknowledged].end <= events) {
        ++expected.acknowledged;
    }
    expected.allowed.push_back(expected.acknowledged == 0 ? &nothing : &steps[expected.acknowledged - 1].after);
    if (expected.acknowledged < steps.size() && steps[expected.acknowledged].begin < events) {
        expected.allowed.push_back(&steps[expected.acknowledged].after);
        expected.under_way = steps[expected.acknowledged].name;
    }
    return expected;
}

/// The highest token that each job was known to have.
std::map<job_id, claim_token> tokens_given(const std::vector<story::step>& steps, std::size_t acknowledged) {
    std::map<job_id, claim_token> given;
    for (std::size_t i = 0; i < acknowledged; ++i) {
        for (const record& each : steps[i].after.jobs) {
            given[each.id] = std::max(given[each.id], each.token);
        }
    }
    return given;
}

cut_counts cut_everywhere(const story& told, std::size_t ways, platter::random& chance) {
    cutter power{ways, chance};
    platter disk;
    for (std::size_t at_event = 1; at_event <= told.disk.events().size(); ++at_event) {
        disk.apply(told.disk.events()[at_event - 1]);
        const expectation expected = expected_after(told.steps, at_event);
        power.cut(disk, expected, "after event " + std::to_string(at_event), [&](const image& left) {
            return fault_in(left, expected, told.clock.now(), tokens_given(told.steps, expected.acknowledged));
        });
    }
    return power.counts;
}

std::string described(const sqlite_options& options) {
    constexpr std::array<const char*, 4> names{"OFF", "NORMAL", "FULL", "EXTRA"};
    return std::string{to_text(*options.journal)} + ", " + names.at(static_cast<std::size_t>(options.synchronous));
}

void tell(const sqlite_options& options, const cut_counts& counts) {
    std::cout << "figure: power cut: " << described(options) << ": " << counts.points << " points, " << counts.cuts
              << " cuts, " << counts.images << " different images, " << counts.losses << " with losses\n";
}

TEST_CASE("a power cut at any write, sync or change of a name loses nothing that was acknowledged", "[crash]") {
    const auto journal = GENERATE(journal_mode::rollback, journal_mode::wal);
    const std::uint64_t from = seed();
    platter::random chance{from};
    story told{{.journal = journal}};
    work_through(told);
    REQUIRE(told.disk.syncs() > 50);  // the engine's calls do come by
    const cut_counts counts = cut_everywhere(told, soak(2), chance);
    tell(told.options, counts);
    INFO("LEASEHOLD_SEED=" << from << ": " << counts.first_loss);
    CHECK(counts.losses == 0);
}

TEST_CASE("weaker settings lose what was acknowledged, and the cuts show it", "[crash]") {
    using sync = synchronous_mode;
    const auto [journal, synchronous] = GENERATE(table<journal_mode, sync>({{journal_mode::wal, sync::normal},
                                                                            {journal_mode::wal, sync::off},
                                                                            {journal_mode::rollback, sync::normal},
                                                                            {journal_mode::rollback, sync::off}}));
    const std::uint64_t from = seed();
    platter::random chance{from};
    story told{{.journal = journal, .synchronous = synchronous}};
    work_through(told);
    const cut_counts counts = cut_everywhere(told, 0, chance);
    tell(told.options, counts);
    INFO("LEASEHOLD_SEED=" << from);
    CHECK(counts.losses > 0);
    std::cout << "  " << counts.first_loss << '\n';
}

}  // namespace
