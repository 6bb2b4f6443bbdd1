// SPDX-License-Identifier: MIT
/// Histories of real processes on one file: some order of their calls explains every answer.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "history/checker.hpp"
#include "history/recorder.hpp"
#include "history/spoiled.hpp"
#include "support/places.hpp"
#include "support/soak.hpp"

namespace {

using namespace places;
using history::call;

template <class Place>
history::recorded recorded_in(const Place& place, std::uint64_t from) {
    // They wait long: a machine with other work to do is not the matter here.
    const sqlite_options options{.journal = Place::journal, .synchronous = synchronous_mode::off, .busy_timeout = 30s};
    return history::record(place.path(), options, 4, 80, from);
}

/// The verb, and the first word of its answer.
std::string kind_of(const call& made) {
    return std::string{to_text(made.what)} + ' ' + made.answer.substr(0, made.answer.find_first_of(" ;"));
}

TEMPLATE_TEST_CASE("some order of their calls explains what four processes were answered", "[history]",
                   places::rollback_file, places::wal_file) {
    const std::uint64_t from = seed();
    std::size_t calls = 0;
    std::size_t states = 0;
    std::map<std::string, std::size_t> kinds;
    const std::size_t histories = soak(25);
    for (std::size_t i = 0; i < histories; ++i) {
        const TestType place;
        const history::recorded told = recorded_in(place, from + 100 * i);
        const history::finding found = history::check(told.store, told.calls);
        INFO("LEASEHOLD_SEED=" << from + 100 * i << '\n' << found.timeline);
        REQUIRE(found.explained);
        calls += told.calls.size();
        states += found.states;
        for (const call& each : told.calls) {
            ++kinds[kind_of(each)];
        }
    }
    for (const char* const late : {"finish expired", "finish superseded", "renew expired", "renew applied",
                                   "cancel applied", "finish applied", "claim nothing"}) {
        INFO(late);
        CHECK(kinds[late] > 0);
    }
    std::cout << "figure: histories: " << to_text(TestType::journal) << ": " << histories << " of 4 processes, "
              << calls << " calls with " << kinds.size() << " kinds of answers, all explained, " << states
              << " states\n";
}

TEST_CASE("a fault written into a history of real processes is noticed", "[history]") {
    const std::uint64_t from = seed();
    std::mt19937_64 chance{from};
    std::array<std::size_t, history::faults.size()> written{};
    std::size_t states = 0;
    for (std::size_t i = 0; i < 12; ++i) {
        const wal_file place;
        const history::recorded told = recorded_in(place, from + 100 * i);
        for (std::size_t kind = 0; kind < history::faults.size(); ++kind) {
            const history::fault& planted = history::faults.at(kind);
            std::vector<call> spoiled = told.calls;
            const std::size_t start = chance() % spoiled.size();
            bool is_written = false;
            for (std::size_t n = 0; n < spoiled.size() && !is_written; ++n) {
                is_written = planted.into(spoiled, (start + n) % spoiled.size());
            }
            if (is_written) {
                ++written.at(kind);
                const history::finding found = history::check(told.store, spoiled);
                INFO("LEASEHOLD_SEED=" << from << " history " << i << ": " << planted.says);
                REQUIRE_FALSE(found.explained);
                states += found.states;
            }
        }
    }
    std::size_t all = 0;
    for (std::size_t kind = 0; kind < written.size(); ++kind) {
        INFO(history::faults.at(kind).says);
        CHECK(written.at(kind) > 0);
        all += written.at(kind);
    }
    std::cout << "figure: histories: " << written.size() << " kinds of faults, written " << all
              << " times into histories of real processes, all noticed, " << states << " states\n";
}

}  // namespace
