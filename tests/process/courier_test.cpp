// SPDX-License-Identifier: MIT
/// The courier, run as a person would run it.
#include <filesystem>
#include <string>

#include <SQLiteCpp/SQLiteCpp.h>

#include "support/files.hpp"
#include "support/places.hpp"
#include "support/programs.hpp"

namespace {

using namespace places;

using programs::outcome;

outcome courier(const std::string& arguments) {
    return programs::run(std::string{LEASEHOLD_COURIER} + " " + arguments + " 2>&1");
}

/// The number that the table shows for `what`.
long shown(const outcome& of, const std::string& what) {
    const std::size_t at = of.text.find(what + ' ');
    INFO(of.text);
    REQUIRE(at != std::string::npos);
    return std::stol(of.text.substr(at + what.size()));
}

/// A file of orders, and a folder for what comes of it.
struct orders_file : temporary_folder {
    explicit orders_file(const std::string& lines, const std::string& header = "order_id\tquantity\titem_name\n") {
        write(header + lines);
    }
    void write(const std::string& all) const { files::write(path(), all); }
    std::string path() const { return *this / "orders.tsv"; }
    std::string arguments() const { return "--data " + (*this / "data") + " " + path(); }
};

long count(const std::string& database, const std::string& table) {
    SQLite::Database file{database};
    return file.execAndGet("SELECT count(*) FROM " + table).getInt();
}

/// How the lines come out whatever the couriers do: each with one effect.
void check_whole(const outcome& run, long lines, long quantity) {
    INFO(run.text);
    CHECK(run.status == 0);
    CHECK(shown(run, "lines in") == lines);
    CHECK(shown(run, "delivered once") == lines);
    CHECK(shown(run, "quantity in") == quantity);
    CHECK(shown(run, "quantity in effect") == quantity);
    CHECK(shown(run, "quarantined") == 0);
}

TEST_CASE("the courier delivers each of its own lines once, though couriers are stopped and killed", "[courier]") {
    const outcome run = courier(LEASEHOLD_ORDERS);
    check_whole(run, 54, 112);
    CHECK(shown(run, "late completions the queue rejected") >= 1);
    CHECK(shown(run, "resends the receiver refused") >= 1);
    CHECK(shown(run, "couriers that died and were replaced") == 1);
    CHECK_THAT(run.text, contains("    rejected (") && contains("presented owner=courier-1 token=1") &&
                             contains("row has owner="));
    CHECK(run.text.find('\r') == std::string::npos);  // no progress bar in a pipe
}

TEST_CASE("the courier comes through with one courier, and with couriers that behave", "[courier]") {
    const orders_file small{"1\t1\ta\n1\t2\tb\n"};
    check_whole(courier("--couriers 1 --lease 200 " + small.path()), 2, 3);
    const outcome quiet = courier("--behave " + small.path());
    check_whole(quiet, 2, 3);
    CHECK(shown(quiet, "late completions the queue rejected") == 0);
    CHECK(shown(quiet, "resends the receiver refused") == 0);
}

TEST_CASE("the same file run twice against the same database has no second effect", "[courier]") {
    const orders_file file{"1\t1\ta\n2\t2\tb\n1\t3\tc\n"};
    check_whole(courier(file.arguments()), 3, 6);
    const outcome again = courier(file.arguments());
    check_whole(again, 3, 6);
    CHECK(shown(again, "resends the receiver refused") == 0);
    CHECK(count(file / "data/jobs.db", "leasehold_job") == 3);
    CHECK(count(file / "data/effects.db", "effect") == 3);
    SQLite::Database jobs{file / "data/jobs.db"};  // an order whose lines are not contiguous is counted on
    CHECK(jobs.execAndGet("SELECT group_concat(key) FROM (SELECT key FROM leasehold_job ORDER BY id)").getString() ==
          "1-1,2-1,1-2");
}

TEST_CASE("lines that stand in the database with other content are refused by number, and nothing is enqueued",
          "[courier]") {
    const orders_file file{"1\t1\ta\n2\t2\tb\n"};
    check_whole(courier("--behave " + file.arguments()), 2, 3);
    file.write("order_id\tquantity\titem_name\n1\t1\ta\n2\t3\tb\n3\t1\tnew\n2\t1\talso new\n");
    const outcome refused = courier(file.arguments());
    CHECK(refused.status == 2);
    CHECK_THAT(refused.text, contains("orders.tsv:3: ") && contains("2-1") && contains("nothing was enqueued"));
    CHECK_THAT(refused.text, !contains("tsv:2:") && !contains("tsv:4:") && !contains("tsv:5:"));
    CHECK(count(file / "data/jobs.db", "leasehold_job") == 2);
}

TEST_CASE("malformed lines are refused by number, all of them, and nothing is enqueued", "[courier]") {
    const orders_file file{
        "1\t1\tfine\n"                              // 2
        "1\t1\n"                                    // 3
        "1\t1\ta\tb\n"                              // 4
        "1\t0\ta\n"                                 // 5
        "1\t-1\ta\n"                                // 6
        "1\t1.5\ta\n"                               // 7
        "1\t1e3\ta\n"                               // 8
        "1\t 1\ta\n"                                // 9
        "1\t\ta\n"                                  // 10
        "1\t9223372036854775808\ta\n"               // 11
        "\t1\ta\n"                                  // 12
        "1\t1\t\n"                                  // 13
        "1\t1\t\"open\n"                            // 14
        "1\t1\t\"closed\" early\n"                  // 15
        "\n"                                        // 16
        "\xff\t1\ta\n"                              // 17
        "1\t9223372036854775807\tbeyond the sum\n"  // 18
        "1\t1\tfine again"};                        // 19, without an end of line
    const outcome refused = courier(file.arguments());
    INFO(refused.text);
    CHECK(refused.status == 2);
    for (int line = 1; line <= 19; ++line) {
        const bool bad = line >= 3 && line <= 18;
        CHECK((refused.text.find("orders.tsv:" + std::to_string(line) + ": ") != std::string::npos) == bad);
    }
    CHECK_FALSE(std::filesystem::exists(file / "data/jobs.db"));
}

TEST_CASE("quotes, tabs within quotes, brackets and other scripts come through as they are", "[courier]") {
    const orders_file file{"1\t1\t\"a\tb \"\"c\"\"\"\t[x, [y]]\r\n2\t2\t漢字 \"inside\"\t\"\"\r\n",
                           "\xEF\xBB\xBForder_id\tquantity\titem_name\tchoice\r\n"};
    check_whole(courier("--behave " + file.arguments()), 2, 3);
    SQLite::Database effects{file / "data/effects.db"};
    CHECK(effects.execAndGet("SELECT content FROM effect WHERE business_id = '1-1'").getString() ==
          "1\t1\t\"a\tb \"\"c\"\"\"\t[x, [y]]");
    CHECK(effects.execAndGet("SELECT content FROM effect WHERE business_id = '2-1'").getString() ==
          "2\t2\t漢字 \"inside\"\t\"\"");
}

TEST_CASE("order ids of any text reach the receiver as they are", "[courier]") {
    const orders_file file{"a b&id=x%20?#/+\t1\titem\nünï\t1\titem\n0012\t1\titem\n12\t1\titem\n"};
    check_whole(courier("--behave " + file.arguments()), 4, 4);
    SQLite::Database effects{file / "data/effects.db"};
    CHECK(effects.execAndGet("SELECT group_concat(business_id, '|') FROM (SELECT business_id FROM effect ORDER BY 1)")
              .getString() == "0012-1|12-1|a b&id=x%20?#/+-1|ünï-1");
}

TEST_CASE("a file that is missing, empty, or not of orders is refused plainly", "[courier]") {
    const temporary_folder folder;
    const outcome missing = courier(folder / "none.tsv");
    CHECK(missing.status == 2);
    CHECK_THAT(missing.text, contains("none.tsv cannot be read"));
    CHECK(courier(folder.path().string()).status == 2);
    const orders_file empty{"", ""};
    CHECK(courier(empty.path()).status == 2);
    CHECK_THAT(courier(empty.path()).text, contains("no order lines"));
    const orders_file header_only{""};
    CHECK(courier(header_only.path()).status == 2);
    const orders_file other{"1\t1\n", "order\tquantity\n"};
    const outcome no_column = courier(other.path());
    CHECK(no_column.status == 2);
    CHECK_THAT(no_column.text, contains("lacks order_id, item_name"));
    CHECK(courier("").status == 2);
    CHECK(courier("--no-such-option").status == 2);
    CHECK(courier("--couriers 0 " + header_only.path()).status == 2);
    CHECK(courier("--help").status == 0);
}

std::string shell(const std::string& command) { return programs::run(command).text; }

TEST_CASE("a courier whose output cannot be written says so", "[courier]") {
    CHECK_THAT(shell("exec 2>&1; " + std::string{LEASEHOLD_COURIER} + " --model >/dev/full; echo status $?"),
               contains("could not be written") && contains("status 1"));
}

TEST_CASE("many couriers at once do not get into each other's way", "[courier]") {
    check_whole(courier("--couriers 64 --behave " + std::string{LEASEHOLD_ORDERS}), 54, 112);
}

TEST_CASE("on a terminal there is a progress bar, which is gone at the end", "[courier]") {
    const std::string command = std::string{LEASEHOLD_COURIER} + " --behave " + LEASEHOLD_ORDERS;
    const std::string seen = shell("script -qec '" + command + "' /dev/null </dev/null");
    CHECK_THAT(seen, contains("\r[") && contains(" of 54") && contains("\r\033[Klines in"));
}

TEST_CASE("a courier that is interrupted leaves neither processes nor folders behind", "[courier]") {
    const temporary_folder folder;
    const std::string seen = shell("exec 2>&1; TMPDIR=" + folder.path().string() + " " + LEASEHOLD_COURIER +
                                   " --lease 3600000 --couriers 1 " + LEASEHOLD_ORDERS +
                                   " & pid=$!; sleep 0.5; kill -TERM $pid; wait $pid; echo status $?");
    CHECK_THAT(seen, contains("interrupted") && contains("status 1"));
    CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("the model compares known values, and prints four lines", "[courier]") {
    const outcome model = courier("--model");
    CHECK(model.status == 0);
    CHECK(model.text == "owned True\nexpired True\nstale ack False\ncurrent ack True\n");
}

TEST_CASE("the timeline replays the story, with another worker and with the same name", "[courier]") {
    const outcome told = courier("--timeline");
    CHECK(told.status == 0);
    for (const std::string name : {"A", "B"}) {
        CHECK_THAT(told.text,
                   contains("1000\t" + name +
                            " claims: token 2, lease_until 2000\n"
                            "1001\tA completes with token 1: rejected (superseded) at 1001: presented owner=A "
                            "token=1 lease_until=1000; row has owner=" +
                            name +
                            " token=2 lease_until=2000\n"
                            "1001\tthe row is as " +
                            name +
                            " holds it: True\n"
                            "1001\t" +
                            name + " completes with token 2: applied at 1001"));
    }
    CHECK_THAT(told.text, contains("0\tA claims: token 1, lease_until 1000\n"));
}

}  // namespace
