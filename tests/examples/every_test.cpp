// SPDX-License-Identifier: MIT
/// A line once a period, from several programs, run as a person would run them.
#include <algorithm>
#include <cstdint>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/places.hpp"
#include "support/programs.hpp"

namespace {

using namespace places;

TEST_CASE("three programs on one file say each line once, and leave none out", "[periodic]") {
    const temporary_folder folder;
    const auto one = [&](int seconds) {
        return programs::interrupted(LEASEHOLD_EVERY " 50ms " + (folder / "jobs.db") + " --make-up 1000000", seconds,
                                     "TERM") +
               " & ";
    };
    // The first is stopped on the way.
    const programs::outcome seen = programs::run(one(1) + one(2) + one(2) + "wait");
    INFO(seen.text);
    std::vector<std::int64_t> dues;
    std::set<std::string> authors;
    std::istringstream lines{seen.text};
    for (std::string line; std::getline(lines, line);) {
        REQUIRE(line.substr(0, 6) == "every@");
        dues.push_back(std::stoll(line.substr(6)));
        authors.insert(line.substr(line.find(" by ")));
    }
    std::sort(dues.begin(), dues.end());
    CHECK(dues.size() > 20);
    CHECK(authors.size() >= 2);
    for (std::size_t i = 1; i < dues.size(); ++i) {
        CHECK(dues[i] - dues[i - 1] == 50);
    }
}

TEST_CASE("a period that is none is refused", "[periodic]") {
    const temporary_folder folder;
    CHECK(programs::run(LEASEHOLD_EVERY " 0ms " + (folder / "jobs.db") + " 2>/dev/null").status == 1);
    CHECK(programs::run(LEASEHOLD_EVERY " 5 " + (folder / "jobs.db") + " 2>/dev/null").status != 0);
}

}  // namespace
