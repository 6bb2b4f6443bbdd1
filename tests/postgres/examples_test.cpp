// SPDX-License-Identifier: MIT
/// The examples on a server, run as a person would run them, with one option.
#include <filesystem>
#include <string>

#include <leasehold/postgres.hpp>

#include "place.hpp"
#include "support/files.hpp"
#include "support/programs.hpp"

namespace {

using namespace places;
using programs::outcome;

/// The database, as a person names it.
std::string uri_of(const postgres& place) {
    std::string host;
    for (const char each : servers::common().folder()) {
        host += each == '/' ? "%2F" : std::string{each};
    }
    return "'postgresql://leasehold@" + host + ":" + std::to_string(servers::common().port()) + "/" +
           place.data.name() + "'";
}

#ifdef LEASEHOLD_COURIER

TEST_CASE("the courier delivers each line once from a database, though couriers are stopped and killed", "[courier]") {
    const postgres place;
    const temporary_folder folder;
    const std::string command =
        std::string{LEASEHOLD_COURIER} + " --store " + uri_of(place) + " --data " + folder.path().string() + " ";
    const outcome run = programs::run(command + LEASEHOLD_ORDERS + " 2>&1");
    INFO(run.text);
    CHECK(run.status == 0);
    const auto shown = [&](const std::string& what) {
        return std::stol(run.text.substr(run.text.find(what + ' ') + what.size()));
    };
    CHECK(shown("delivered once") == 54);
    CHECK(shown("quantity in effect") == 112);
    CHECK(shown("late completions the queue rejected") >= 1);
    CHECK(shown("resends the receiver refused") >= 1);
    CHECK(shown("couriers that died and were replaced") == 1);
    CHECK(shown("quarantined") == 0);
    CHECK(place.caller().number("SELECT count(*) FROM leasehold.leasehold_job WHERE state = 2") == 54);
    CHECK(!std::filesystem::exists(folder / "jobs.db"));

    // Once more: nothing is delivered a second time. Other content under a known key: refused.
    const outcome again = programs::run(command + LEASEHOLD_ORDERS + " 2>&1");
    INFO(again.text);
    CHECK(again.status == 0);
    CHECK_THAT(again.text, contains("resends the receiver refused               0"));
    files::write(folder / "other.tsv", "order_id\tquantity\titem_name\n1\t7\tsomething else\n");
    const outcome refused = programs::run(command + (folder / "other.tsv") + " 2>&1");
    CHECK(refused.status == 2);
    CHECK_THAT(refused.text, contains("other.tsv:2: the queue has 1-1 with other content"));
}

#endif
#ifdef LEASEHOLD_INSPECT

TEST_CASE("inspect looks into a database, and does there what it does in a file", "[inspect]") {
    const postgres place;
    const auto inspect = [&](const std::string& arguments) {
        return programs::run(std::string{LEASEHOLD_INSPECT} + " " + uri_of(place) + " " + arguments + " 2>&1");
    };
    CHECK(inspect("").status == 1);
    CHECK_THAT(inspect("").text, contains("has no store in the schema leasehold"));
    CHECK(place.caller().number("SELECT count(*) FROM pg_namespace WHERE nspname = 'leasehold'") == 0);

    postgres_lease_queue queue{place.store()};
    queue.enqueue({.key = "k\x1B[2J", .payload = "x"});
    const auto held = queue.claim("A", 1h);
    const outcome seen = inspect("");
    INFO(seen.text);
    CHECK(seen.status == 0);
    CHECK_THAT(seen.text, contains("leases (1)") && contains("\\x1b[2J") && contains(" min"));
    CHECK(seen.text.find('\x1B') == std::string::npos);
    CHECK(inspect("revoke 1 --yes").status == 0);
    CHECK(!queue.finish(*held));
    CHECK_THAT(inspect("--json").text, contains("\"ready\":1"));
    CHECK(inspect("--schema elsewhere").status == 1);
}

TEST_CASE("what a connection string holds is nowhere in what inspect says", "[inspect]") {
    const outcome lost =
        programs::run(std::string{LEASEHOLD_INSPECT} + " 'postgresql://ada:secret@127.0.0.1:1/private' 2>&1");
    CHECK(lost.status == 1);
    CHECK_THAT(lost.text,
               contains("does not answer") && !contains("secret") && !contains("ada") && !contains("private"));
}

#endif

}  // namespace
