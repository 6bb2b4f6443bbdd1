// SPDX-License-Identifier: MIT
/// Orders as JSON, run as a person would run it.
#include <string>

#include "support/files.hpp"
#include "support/places.hpp"
#include "support/programs.hpp"

namespace {

using namespace places;

TEST_CASE("orders are worked on, and what is no order is set aside with the parser's own words", "[json]") {
    const temporary_folder folder;
    files::write(folder / "lines",
                 "{\"item\":\"bowl\",\"quantity\":1}\n"
                 "{\"item\":\"bowl\"\n"
                 "{\"item\":\"bowl\"}\n"
                 "{\"item\":7,\"quantity\":1}\n"
                 "{\"item\":\"\\u001b[2J\xF0\x9F\x8C\xAF\",\"quantity\":3,\"more\":[null]}\n" +
                     std::string(100'000, '[') + "\n\xFF\n");
    const std::string command =
        std::string{LEASEHOLD_JSON_ORDERS} + " " + (folder / "jobs.db") + " < " + (folder / "lines") + " 2>&1";
    const programs::outcome seen = programs::run(command);
    INFO(seen.text);
    CHECK(seen.status == 0);
    CHECK_THAT(seen.text, contains("2 x burrito\n1 x bowl\n3 x \"\\x1b[2J\xF0\x9F\x8C\xAF\"\n"));
    CHECK_THAT(seen.text, contains("set aside 3: ") && contains("parse_error.101") && contains("set aside 4: ") &&
                              contains("key 'quantity' not found") && contains("set aside 5: ") &&
                              contains("must be string") && contains("set aside 7: ") && contains("set aside 8: "));
    CHECK(seen.text.find('\x1B') == std::string::npos);

    // Nothing is left to do, or done again: each was set aside at its first claim.
    lease_queue queue{{folder / "jobs.db"}};
    const auto counted = queue.stats().queues.at(0);
    CHECK(counted.finished == 3);
    CHECK(counted.quarantined == 5);
    CHECK(queue.find(job_id{3})->attempt == 1);
    CHECK(queue.find(job_id{3})->payload == "{\"item\":\"bowl\"");
}

}  // namespace
