// SPDX-License-Identifier: MIT
/// A look into a store, run as a person and as a machine would run it.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include <leasehold/sqlite/boot_clock.hpp>
#include <leasehold/text.hpp>

#include "support/files.hpp"
#include "support/places.hpp"
#include "support/programs.hpp"

namespace {

using namespace places;
using nlohmann::json;
using programs::outcome;

/// Turns the terminal, clears it, names its window, reverses the line, and is no text.
const std::string evil =
    "\x1B[2J\x1B]0;pwned\x07\r\n\xC2\x9B"
    "31m\xE2\x80\xAEtxt\xD8\x9C\x7F";

/// A store with a job in each state, as other programs leave it behind.
struct shop : temporary_folder {
    shop() {
        queue.enqueue({.queue = "letters", .key = "late", .payload = "to Ada"});
        queue.enqueue({.queue = "letters", .delay = 1h});
        late = queue.claim("postman", 1ms, "letters")->token;  // nobody comes back for it
        queue.enqueue({.key = "order-1", .payload = "one burrito", .priority = 5});
        (void)!queue.finish(*queue.claim("till", 1h), std::string_view{"\0\xFF", 2});
        queue.enqueue({.key = evil, .payload = evil + '\0' + "\xFF", .max_attempts = 1});
        const auto lost = queue.claim(evil, 1h);
        (void)!queue.leave_receipt(*lost, "sent " + evil);
        (void)!queue.fail(*lost, "no answer " + evil);
        queue.enqueue({.key = "held", .payload = "x"});
        (void)!queue.checkpoint(*queue.claim("courier-1", 1h), "half way");
        queue.enqueue({.key = "waiting"});
        queue.enqueue({.key = "cancelled"});
        (void)!queue.cancel(job_id{7});
    }

    std::string path() const { return *this / "jobs.db"; }
    std::string command(const std::string& arguments) const {
        return std::string{LEASEHOLD_INSPECT} + " " + path() + " " + arguments;
    }
    /// Both streams, as they reach a terminal.
    outcome inspect(const std::string& arguments = "") const { return programs::run(command(arguments) + " 2>&1"); }
    json in_json(const std::string& arguments) const {
        const outcome seen = programs::run(command("--json " + arguments));
        INFO(seen.text);
        CHECK(seen.status == 0);
        CHECK(std::count(seen.text.begin(), seen.text.end(), '\n') == 1);
        CHECK(std::all_of(seen.text.begin(), seen.text.end(),
                          [](char c) { return c == '\n' || (' ' <= c && c <= '~'); }));
        return json::parse(seen.text);
    }
    record find(std::int64_t id) const { return *queue.find(job_id{id}); }

    mutable lease_queue queue{{path(), {.synchronous = synchronous_mode::off}}};
    claim_token late{};
};

/// What could turn or break a line.
bool is_harmless(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = detail::sequence_length(text);
        const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
        if (length == 0 || (character != "\n" && detail::is_unprintable(character))) {
            return false;
        }
        text.remove_prefix(length);
    }
    return true;
}

/// The line that has a text in it.
std::string line_with(const outcome& of, const std::string& part) {
    std::istringstream lines{of.text};
    for (std::string line; std::getline(lines, line);) {
        if (line.find(part) != std::string::npos) {
            return line;
        }
    }
    FAIL(part << " is nowhere in\n" << of.text);
    return {};
}

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream in{line};
    return {std::istream_iterator<std::string>{in}, {}};
}

TEST_CASE("the overview shows counts, leases with the time that is left, and what was set aside, with receipts",
          "[inspect]") {
    const shop s;
    const outcome seen = s.inspect();
    INFO(seen.text);
    CHECK(seen.status == 0);
    using row = std::vector<std::string>;
    CHECK(words_of(line_with(seen, "cancelled")) ==
          row{"queue", "ready", "delayed", "leased", "finished", "quarantined", "cancelled", "oldest", "waits"});
    const row counted = words_of(line_with(seen, "  default"));
    REQUIRE(counted.size() == 9);
    CHECK(row(counted.begin(), counted.begin() + 7) == row{"default", "1", "0", "1", "1", "1", "1"});
    CHECK(words_of(line_with(seen, "  letters")) == row{"letters", "0", "1", "1", "0", "0", "0", "-"});
    CHECK_THAT(seen.text, contains("\nleases (2)\n") && contains("\nquarantined (1)\n"));
    CHECK_THAT(line_with(seen, "courier-1"),
               contains("default") && contains("held") && contains("1 of 5") && contains(" min"));
    CHECK_THAT(line_with(seen, "postman"),
               contains("letters") && contains("late") && contains("over ") && contains(" ago"));
    CHECK_THAT(line_with(seen, "attempts_exhausted"), contains("1 of 1") && contains(" ago"));
    CHECK_THAT(line_with(seen, "last error"), contains("no answer \\x1b[2J"));
    CHECK_THAT(line_with(seen, "receipt of round 1"), contains("sent \\x1b[2J"));
}

TEST_CASE("nothing from the store reaches the terminal raw, whatever is asked", "[inspect]") {
    const shop s;
    const std::string evil_key =
        "--key \"$(printf '\\033[2J\\033]0;pwned\\007\\r\\n\\302\\23331m\\342\\200\\256txt\\330\\234\\177')\"";
    for (const std::string& arguments :
         {std::string{}, std::string{"--watch --every 10ms & sleep 1; kill $!"}, std::string{"job 4"},
          "job " + evil_key, std::string{"requeue 4 </dev/null"}, std::string{"requeue 4 --yes"},
          std::string{"cancel 4 --yes"}, std::string{"revoke 4 5 --yes"}}) {
        const outcome seen = s.inspect(arguments);
        INFO(arguments << '\n' << seen.text);
        CHECK(!seen.text.empty());
        CHECK(is_harmless(seen.text));
    }
    CHECK(!is_harmless("\x1B[0m"));

    // The engine's own words may hold a name that somebody put into the file.
    {
        SQLite::Database file{s.path(), SQLite::OPEN_READWRITE};
        file.exec("CREATE TABLE \"\x1B[2J\" (x)");
        file.exec("PRAGMA writable_schema = ON");
        file.exec("UPDATE sqlite_schema SET sql = 'CREATE TABLE (' WHERE name = '\x1B[2J'");
    }
    const outcome damaged = s.inspect();
    INFO(damaged.text);
    CHECK(damaged.status == 1);
    CHECK_THAT(damaged.text, contains("malformed") && contains("\\x1b[2J"));
    CHECK(is_harmless(damaged.text));
    const outcome named = programs::run("cd " + s.path().substr(0, s.path().rfind('/')) + "; " + LEASEHOLD_INSPECT +
                                        " \"$(printf '\\033[2Jx')\" 2>&1");
    CHECK(named.status == 1);
    CHECK(is_harmless(named.text));
}

TEST_CASE("the row of one job tells all there is, by its id and by its key", "[inspect]") {
    const shop s;
    const outcome seen = s.inspect("job 5");
    INFO(seen.text);
    CHECK(seen.status == 0);
    const std::string by_key = s.inspect("job --key held").text;
    CHECK(seen.text.substr(0, seen.text.find("  enqueued")) == by_key.substr(0, by_key.find("  enqueued")));
    CHECK_THAT(seen.text, contains("job 5\n  queue         default\n  key           held\n  state         leased\n"
                                   "  priority      0\n  owner         courier-1\n  token         1\n"
                                   "  attempt       1 of 5\n  failures      0\n  lapses        0\n"));
    CHECK_THAT(line_with(seen, "lease until"), contains(" UTC, in 59 min"));
    CHECK_THAT(line_with(seen, "payload"), contains("1 byte: x"));
    CHECK_THAT(line_with(seen, "checkpoint"), contains("8 bytes: \"half way\""));
    CHECK_THAT(line_with(s.inspect("job 3"), "result"), contains("2 bytes: \"\\x00\\xff\""));
    CHECK_THAT(s.inspect("job 3").text, contains("state         finished, by the holder"));
    CHECK_THAT(line_with(s.inspect("--queue letters job --key late"), "payload"), contains("\"to Ada\""));
    CHECK(s.inspect("job 99").status == 1);
    CHECK(s.inspect("job --key late").status == 1);
}

/// As the program says it, from what the queue says.
json expected(const record& job, instant now) {
    const auto ms = [](const std::optional<instant>& at) {
        return at ? json(at->time_since_epoch().count()) : json(nullptr);
    };
    json all{{"id", job.id.value},
             {"queue", job.queue},
             {"key", job.key},
             {"state", to_text(job.state)},
             {"priority", job.priority},
             {"owner", job.owner},
             {"token", job.token.value},
             {"attempt", job.attempt},
             {"max_attempts", job.max_attempts},
             {"failures", job.failures},
             {"lapses", job.lapses},
             {"enqueued_at", ms(job.enqueued_at)},
             {"vests_at", ms(job.vests_at)},
             {"waits", job.waits},
             {"lease_until", ms(job.lease_until)},
             {"deadline", ms(job.deadline)},
             {"ended_at", ms(job.ended_at)},
             {"ended_by", job.ended_by ? json(to_text(*job.ended_by)) : json(nullptr)},
             {"reason", job.reason},
             {"last_error", job.last_error},
             {"payload_size", job.payload_size},
             {"result_size", job.result_size},
             {"checkpoint_size", job.checkpoint_size},
             {"receipts", json::array()}};
    for (const receipt& left : job.receipts) {
        all["receipts"].push_back(
            {{"token", left.token.value}, {"owner", left.owner}, {"at", ms(left.at)}, {"note", left.note}});
    }
    if (job.state == job_state::leased) {
        all["time_left_ms"] = (*job.lease_until - now).count();
    }
    return all;
}

TEST_CASE("for machines there is one exact document, hostile texts included", "[inspect]") {
    const shop s;
    const json seen = s.in_json("");
    const instant now = at(seen["now"].get<std::int64_t>());
    CHECK(now <= s.queue.now());
    CHECK(s.queue.now() - now < 1min);
    json queues = json::array();
    for (const queue_statistics& of : s.queue.stats().queues) {
        queues.push_back(
            {{"queue", of.queue},
             {"ready", of.ready},
             {"delayed", of.delayed},
             {"leased", of.leased},
             {"finished", of.finished},
             {"quarantined", of.quarantined},
             {"cancelled", of.cancelled},
             {"oldest_ready", of.oldest_ready ? json(of.oldest_ready->time_since_epoch().count()) : json()}});
    }
    CHECK(seen == json{{"now", now.time_since_epoch().count()},
                       {"queues", queues},
                       {"leases", {expected(s.find(1), now), expected(s.find(5), now)}},
                       {"quarantined", {expected(s.find(4), now)}}});
    CHECK(seen["leases"][0]["time_left_ms"] <= 0);
    CHECK(seen["quarantined"][0]["key"] == evil);
    CHECK(seen["quarantined"][0]["receipts"][0]["note"] == "sent " + evil);
}

TEST_CASE("one job's document has its bytes: as text where they are, and else in hexadecimal digits", "[inspect]") {
    const shop s;
    for (const std::int64_t id : {1, 2, 3, 4, 5, 6, 7}) {
        json seen = s.in_json("job " + std::to_string(id));
        const record job = s.find(id);
        if (id == 4) {
            std::string digits;
            detail::add_escaped(digits, "", job.payload);
            CHECK(seen["payload_hex"] == digits);
            CHECK(!seen.contains("payload"));
        } else {
            CHECK(seen["payload"] == job.payload);
        }
        CHECK((id == 3 ? seen["result_hex"] == "00ff" : seen["result"] == job.result));
        CHECK(seen["checkpoint"] == job.checkpoint);
        instant now{};
        if (job.state == job_state::leased) {
            now = *job.lease_until - std::chrono::milliseconds{seen["time_left_ms"].get<std::int64_t>()};
        }
        for (const char* name : {"payload", "payload_hex", "result", "result_hex", "checkpoint"}) {
            seen.erase(name);
        }
        CHECK(seen == expected(job, now));
    }
    // A NUL is a character like others.
    s.queue.enqueue({.payload = std::string{"a\0b", 3}});
    CHECK(s.in_json("job 8")["payload"] == std::string{"a\0b", 3});
}

TEST_CASE("one queue may be looked at alone, and only so many jobs", "[inspect]") {
    const shop s;
    const json letters = s.in_json("--queue letters");
    CHECK(letters["queues"].size() == 1);
    CHECK(letters["leases"].size() == 1);
    CHECK(letters["leases"][0]["key"] == "late");
    CHECK(letters["quarantined"].empty());
    CHECK(s.in_json("--limit 1")["leases"].size() == 1);
    const outcome seen = s.inspect("--limit 1");
    CHECK_THAT(seen.text, contains("leases (2)\n") && contains("\n  … 1 more\n"));
    CHECK_THAT(s.inspect("--limit 0").text, contains("leases (2)\n  … 2 more\n"));

    const std::vector<job> many(2500, job{.queue = "many"});
    s.queue.enqueue_many(many);
    for (int i = 0; i < 3; ++i) {
        s.queue.claim_many("A", 1h, 1000, "many");
    }
    CHECK(s.in_json("--queue many --limit 5000")["leases"].size() == 2500);
    CHECK(s.in_json("--queue many --limit 1001")["leases"].size() == 1001);
}

TEST_CASE("an operator's verb asks first, names what it is about, and does nothing unless it hears yes", "[inspect]") {
    const shop s;
    for (const std::string no : {"n", "no", "", "Y E S", "yess"}) {
        const outcome asked = programs::run("echo '" + no + "' | " + s.command("requeue 4") + " 2>&1");
        INFO(asked.text);
        CHECK(asked.status == 1);
        CHECK_THAT(asked.text, contains("job 4: quarantined, queue default") && contains("Requeue it? [y/N]") &&
                                   contains("nothing was done"));
        CHECK(s.find(4).state == job_state::quarantined);
    }
    CHECK(s.inspect("requeue 4 </dev/null").status == 1);
    const outcome done = programs::run("echo y | " + s.command("requeue 4") + " 2>/dev/null");
    CHECK(done.status == 0);
    CHECK_THAT(done.text, contains("applied at ") && contains("job 4"));
    CHECK(s.find(4).state == job_state::ready);
    CHECK(s.find(4).attempt == 0);
}

TEST_CASE("requeue, cancel and revoke do what the queue does, to several jobs in one go", "[inspect]") {
    const shop s;
    CHECK_THAT(s.inspect("revoke 5 --yes").text, contains("applied") && !contains("[y/N]"));
    CHECK(s.find(5).state == job_state::ready);
    CHECK(s.find(5).lapses == 1);
    const outcome both = s.inspect("cancel 5 6 --yes");
    CHECK(both.status == 0);
    CHECK(s.find(5).state == job_state::cancelled);
    CHECK(s.find(6).state == job_state::cancelled);

    CHECK(s.inspect("requeue 5 --delay 2h --expires-in 3d --yes").status == 0);
    const record later = s.find(5);
    CHECK(later.waits);
    CHECK(later.vests_at - s.queue.now() > 119min);
    CHECK(*later.deadline - s.queue.now() > 71h);

    // What is refused is said, and is no success; the others are done all the same.
    const outcome some = s.inspect("cancel 3 6 5 --yes");
    CHECK(some.status == 1);
    CHECK_THAT(some.text, contains("rejected (finished)") && contains("rejected (cancelled)") && contains("applied"));
    CHECK(s.find(5).state == job_state::cancelled);
    const json answers = s.in_json("requeue 7 --yes");
    CHECK(answers["id"] == 7);
    CHECK(answers["verdict"] == "applied");

    // A job that is not there: nothing is done to any.
    CHECK(s.inspect("requeue 5 99 --yes").status == 1);
    CHECK(s.find(5).state == job_state::cancelled);
}

TEST_CASE("a job that went on while the question stood is left alone", "[inspect]") {
    const shop s;
    const std::string asked = s / "asked";
    const std::string go = s / "go";
    outcome answered;
    std::jthread asking{[&] {
        answered = programs::run("(until [ -e " + go + " ]; do sleep 0.01; done; echo y) | " +
                                 s.command("revoke 1 2> " + asked));
    }};
    while (files::read(asked).find("[y/N]") == std::string::npos) {
        std::this_thread::yield();
    }
    const auto taken = s.queue.claim("another", 1h, "letters");
    REQUIRE(taken);
    files::write(go, "");
    asking.join();
    CHECK(answered.status == 1);
    CHECK_THAT(answered.text, contains("rejected (superseded)") && contains("owner=another token=2"));
    CHECK(s.find(1).token == taken->token);
    CHECK(s.find(1).state == job_state::leased);
}

TEST_CASE("prune erases what has ended so long ago, and what was set aside only when told so", "[inspect]") {
    const shop s;
    CHECK(s.inspect("prune --yes").status == 2);
    CHECK_THAT(s.inspect("prune --older-than 1h --yes").text, contains("erased 0"));
    CHECK(programs::run("echo n | " + s.command("prune --older-than 0s")).status == 1);
    CHECK(s.queue.find(job_id{3}));
    CHECK(s.in_json("prune --older-than 0s --yes") == json{{"erased", 2}});
    CHECK(!s.queue.find(job_id{3}));
    CHECK(!s.queue.find(job_id{7}));
    CHECK(s.queue.find(job_id{4}));
    const outcome asked = programs::run("echo y | " + s.command("prune --older-than 0s --quarantined") + " 2>&1");
    CHECK_THAT(asked.text, contains("SET ASIDE") && contains("erased 1"));
    CHECK(!s.queue.find(job_id{4}));

    const std::vector<job> many(2500);
    s.queue.enqueue_many(many);
    for (auto held = s.queue.claim_many("A", 1h, 1000); !held.empty(); held = s.queue.claim_many("A", 1h, 1000)) {
        s.queue.finish_many(held);
    }
    CHECK(s.in_json("prune --older-than 0s --yes") == json{{"erased", 2501}});
}

TEST_CASE("who looks makes nothing: no file, and no table in a file that is another's", "[inspect]") {
    const temporary_folder folder;
    const auto inspect = [&](const std::string& name) {
        return programs::run(std::string{LEASEHOLD_INSPECT} + " " + (folder / name) + " 2>&1");
    };
    CHECK(inspect("none.db").status == 1);
    CHECK(std::filesystem::is_empty(folder.path()));
    SQLite::Database{folder / "other.db", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE}.exec("CREATE TABLE t (x)");
    const std::string before = files::read(folder / "other.db");
    CHECK_THAT(inspect("other.db").text, contains("is no store"));
    CHECK(files::read(folder / "other.db") == before);
    files::write(folder / "text", "hello");
    CHECK(inspect("text").status == 1);
    CHECK(files::read(folder / "text") == "hello");
}

TEST_CASE("a file of an older schema is upgraded only when that is asked for", "[inspect]") {
    const shop of;
    SQLite::Database{of.path(), SQLite::OPEN_READWRITE}.exec(
        "DROP TABLE leasehold_anchor; UPDATE leasehold_meta SET schema_version = 1");
    const outcome refused = of.inspect();
    CHECK(refused.status == 1);
    CHECK(refused.text.find("is not to be upgraded") != std::string::npos);
    CHECK(of.inspect("--upgrade").status == 0);
    CHECK(of.inspect().status == 0);
}

TEST_CASE("a file that keeps time by another clock is looked into with that, where there is one", "[inspect]") {
    const temporary_folder folder;
    const auto inspect = [&](const std::string& name) {
        return programs::run(std::string{LEASEHOLD_INSPECT} + " " + (folder / name) + " 2>&1");
    };
    {
        basic_lease_queue<boot_clock, sqlite_store> queue{{folder / "boot.db"}};
        queue.enqueue({.payload = "x"});
        queue.claim("A", 1h);
    }
    CHECK(inspect("boot.db").status == 0);
    CHECK_THAT(inspect("boot.db").text, contains("leases (1)") && contains("59 min"));
    basic_lease_queue{sqlite_store{folder / "manual.db"}, manual_clock{}};
    CHECK(inspect("manual.db").status == 1);
    CHECK_THAT(inspect("manual.db").text, contains("manual clock"));
}

TEST_CASE("a command line that makes no sense is refused, and says why", "[inspect]") {
    const shop s;
    for (const char* arguments :
         {"--no-such-option", "--every 5", "--limit -1", "job", "job 5 --key held", "job x", "requeue", "cancel --yes",
          "requeue 4 --delay 5", "requeue 4 --delay -5s --yes", "prune --older-than soon", "--watch job 5",
          "--queue letters requeue 4 --yes", "--queue letters prune --older-than 0s --yes", "job 5 requeue 4"}) {
        const outcome refused = s.inspect(arguments);
        INFO(arguments << '\n' << refused.text);
        CHECK(refused.status == 2);
        CHECK(!refused.text.empty());
    }
    CHECK(s.inspect("--help").status == 0);
    CHECK(programs::run(LEASEHOLD_INSPECT " 2>&1").status == 2);
}

/// What a terminal of 24 lines and 60 columns is sent, and then shows.
TEST_CASE("a watch draws frames in place, no line longer than the terminal, and leaves it as it was", "[inspect]") {
    const shop s;
    const std::string watching =
        "stty rows 12 cols 60; " + programs::interrupted(s.command("--watch --every 100ms"), 1, "INT");
    const outcome seen = programs::run("script -qec '" + watching + "' /dev/null </dev/null");
    INFO(seen.text);
    CHECK(seen.text.substr(0, 14) == "\033[?1049h\033[?25l");
    CHECK_THAT(seen.text, contains("\033[?25h\033[?1049l"));
    std::size_t frames = 0;
    std::string text = seen.text.substr(14, seen.text.rfind("\033[?25h") - 14);
    for (std::size_t at = 0; (at = text.find("\033[H", at)) != std::string::npos; ++at) {
        ++frames;
        const std::string frame = text.substr(at + 3, text.find("\033[J", at) - at - 3);
        CHECK(std::count(frame.begin(), frame.end(), '\n') <= 11);
        std::istringstream lines{frame};
        for (std::string line; std::getline(lines, line);) {
            const auto is_character = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; };
            const std::string shown = line.substr(0, line.find("\033[K"));
            CHECK(std::count_if(shown.begin(), shown.end(), is_character) <= 60);
            CHECK(is_harmless(shown));
        }
    }
    CHECK(frames >= 3);
    CHECK_THAT(text, contains("more lines"));

    // In a pipe frames follow each other, without a word to a terminal; for machines, a document a line.
    const outcome piped = programs::run(programs::interrupted(s.command("--watch --every 100ms"), 1, "TERM"));
    CHECK(piped.text.find('\033') == std::string::npos);
    CHECK(piped.text.find("leases (2)") != piped.text.rfind("leases (2)"));
    const outcome for_machines =
        programs::run(programs::interrupted(s.command("--json --watch --every 100ms"), 1, "TERM"));
    std::istringstream documents{for_machines.text};
    std::size_t count = 0;
    for (std::string line; std::getline(documents, line); ++count) {
        CHECK(json::parse(line)["leases"].size() == 2);
    }
    CHECK(count >= 3);
}

TEST_CASE("output that cannot be written is an error", "[inspect]") {
    const shop s;
    CHECK(programs::run(s.command("> /dev/full 2>/dev/null")).status == 1);
    CHECK(programs::run(s.command("--watch --every 10ms > /dev/full 2>/dev/null")).status == 1);
}

}  // namespace
