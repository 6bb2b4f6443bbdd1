// SPDX-License-Identifier: MIT
/// What prints, and what text from outside may be.
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/leasehold.hpp>
#include <leasehold/receiver_ledger.hpp>
#include <leasehold/sqlite.hpp>

#include "support/catch.hpp"

namespace {

using namespace leasehold;
using namespace std::chrono_literals;

template <class T>
std::string printed(const T& value) {
    std::ostringstream out;
    out << value;
    return out.str();
}

marker example() {
    marker m;
    m.store.bytes = {0x00, 0x01, 0xAB, 0xFF};
    m.id = {17};
    m.owner = "worker/7 ä";
    m.token = {3};
    m.attempt = 2;
    m.lease_until = instant{-5ms};
    return m;
}

TEST_CASE("two texts are the same where each of their bytes is, however long they are", "[text]") {
    for (std::size_t size = 0; size <= 40; ++size) {
        std::string text(size, 'x');
        INFO("of " << size << " bytes");
        REQUIRE(detail::same_bytes(text, std::string(size, 'x')));
        REQUIRE_FALSE(detail::same_bytes(text, text + 'x'));
        for (char& byte : text) {
            const std::string before = text;
            byte = '\0';
            REQUIRE_FALSE(detail::same_bytes(text, before));
            REQUIRE_FALSE(detail::same_bytes(before, text));
            byte = 'x';
        }
    }
}

TEST_CASE("ids, tokens, states, reasons and markers print readably", "[text]") {
    CHECK(printed(job_id{17}) == "17");
    CHECK(printed(claim_token{3}) == "3");
    CHECK(printed(job_state::quarantined) == "quarantined");
    CHECK(printed(ender::operator_) == "operator");
    CHECK(printed(dead_end::token_exhausted) == "token_exhausted");
    CHECK(printed(verdict::past_deadline) == "past_deadline");
    CHECK(printed(verdict::not_ended) == "not_ended");
    CHECK(printed(intake::withheld) == "withheld");
    CHECK(printed(enqueued{{17}, intake::duplicate, job_state::leased}) == "duplicate 17 leased");
    CHECK(printed(event_kind::clock_stepped_back) == "clock_stepped_back");
    CHECK(printed(clock_axis::process) == "process");
    CHECK(printed(static_cast<job_state>(77)) == "unknown");
    CHECK(printed(example()) == "0001abff000000000000000000000000/17/3/2/-5/worker/7 ä");
}

template <class Enum, std::size_t Size>
void check_names(const std::array<std::string_view, Size>& names) {
    for (std::size_t i = 0; i < Size; ++i) {
        CHECK(printed(static_cast<Enum>(i)) == names[i]);
    }
    CHECK(printed(static_cast<Enum>(Size)) == "unknown");
}

TEST_CASE("every value of an enumeration prints as its name", "[text]") {
    using names = std::string_view;
    check_names<job_state>(std::array<names, 5>{"ready", "leased", "finished", "quarantined", "cancelled"});
    check_names<ender>(std::array<names, 3>{"holder", "claim", "operator"});
    check_names<dead_end>(std::array<names, 3>{"deadline_passed", "attempts_exhausted", "token_exhausted"});
    check_names<verdict>(std::array<names, 13>{"applied", "foreign", "missing", "finished", "quarantined", "cancelled",
                                               "superseded", "not_leased", "altered", "past_deadline", "expired",
                                               "impossible_token", "not_ended"});
    check_names<clock_axis>(std::array<names, 5>{"wall", "boot", "server", "manual", "process"});
    check_names<intake>(std::array<names, 4>{"accepted", "duplicate", "conflict", "withheld"});
    check_names<delivery>(std::array<names, 4>{"applied", "duplicate", "stale", "conflict"});
    CHECK(printed(journal_mode::rollback) == "rollback journal");
    CHECK(printed(journal_mode::wal) == "write-ahead log");
}

TEST_CASE("a refusal prints both sides on one line, with what they differ in", "[text]") {
    settlement refused{.why = verdict::altered, .at = instant{5ms}, .presented = example(), .current = standing{}};
    refused.current->round = example();
    refused.current->round.attempt = 3;
    refused.current->state = job_state::finished;
    refused.current->ended_by = ender::holder;
    refused.current->deadline = instant{9ms};
    CHECK(printed(refused) ==
          "rejected (altered) at 5: presented owner=\"worker/7 ä\" token=3 attempt=2 lease_until=-5; row has "
          "owner=\"worker/7 ä\" token=3 attempt=3 lease_until=-5 state=finished ended_by=holder deadline=9");
    CHECK(printed(settlement{.why = verdict::foreign}) ==
          "rejected (foreign) at 0: presented owner=none token=0 lease_until=none; the marker is another store's");
    CHECK(printed(amendment{.why = verdict::missing, .at = instant{1ms}, .id = {7}}) ==
          "rejected (missing) at 1: job 7; there is no such job");
}

TEST_CASE("a refusal tells whether the round that was presented ended the job itself", "[text]") {
    settlement refused{.why = verdict::finished, .presented = example()};
    CHECK_FALSE(refused.ended_by_presented());
    refused.current = standing{.round = example(), .state = job_state::finished, .ended_by = ender::holder};
    CHECK(refused.ended_by_presented());
    refused.current->ended_by = ender::operator_;
    CHECK_FALSE(refused.ended_by_presented());
    refused.current->ended_by = ender::holder;
    const auto other = [&](auto change) {
        refused.presented = example();
        change(refused.presented);
        return refused.ended_by_presented();
    };
    CHECK_FALSE(other([](marker& m) { m.store.bytes[3] = 1; }));
    CHECK_FALSE(other([](marker& m) { ++m.id.value; }));
    CHECK_FALSE(other([](marker& m) { ++m.token.value; }));
    CHECK(other([](marker& m) { ++m.attempt; }));
}

TEST_CASE("a marker is read back from its text", "[text]") {
    CHECK(marker::from_text(to_text(example())) == example());
    marker odd = example();
    odd.owner =
        "100%\n\x1b[31m\xC2\x9B\xE2\x80\xAE"
        "%0a";
    CHECK_THAT(to_text(odd), contains("/100%25%0a%1b[31m%c2%9b%e2%80%ae%250a"));
    CHECK(marker::from_text(to_text(odd)) == odd);
    marker extreme = example();
    extreme.id = {std::numeric_limits<std::int64_t>::max()};
    extreme.lease_until = instant::max();
    extreme.owner = std::string(255, '/');
    CHECK(marker::from_text(to_text(extreme)) == extreme);
}

TEST_CASE("no other text is a marker", "[text]") {
    const std::string good = to_text(example());
    const std::string store = "0001abff000000000000000000000000";
    const std::vector<std::string> bad{"",
                                       "/",
                                       "/////",
                                       "//////",
                                       store,
                                       store + "/17/3/2/-5",
                                       store + "/17/3/2/-5/",
                                       store + "/017/3/2/-5/w",
                                       store + "/+17/3/2/-5/w",
                                       store + "/17 /3/2/-5/w",
                                       store + "/17/3/2/-0/w",
                                       store + "/17/3/99999999999/-5/w",
                                       store + "/99999999999999999999/3/2/-5/w",
                                       store + "/17/0x3/2/-5/w",
                                       store + "/17/3/2.5/-5/w",
                                       "0" + good,
                                       good.substr(1),
                                       "0001ABff000000000000000000000000/17/3/2/-5/w",
                                       "g001abff000000000000000000000000/17/3/2/-5/w",
                                       store + "/17/3/2/-5/" + std::string(256, 'w'),
                                       store + "/17/3/2/-5/" + std::string(766, 'w'),
                                       store + "/17/3/2/-5/\xff",
                                       store + "/17/3/2/-5/a%",
                                       store + "/17/3/2/-5/a%2",
                                       store + "/17/3/2/-5/a%zz",
                                       store + "/17/3/2/-5/a%61",
                                       store + "/17/3/2/-5/a%0A",
                                       store + "/17/3/2/-5/a\n",
                                       store + "/17/3/2/-5/a%00",
                                       store + "/17/3/2/-5/a%ff",
                                       store + "/17/3/2/-5/a" + std::string(1, '\0'),
                                       "-" + good.substr(1)};
    for (const std::string& text : bad) {
        INFO(text);
        CHECK(marker::from_text(text) == std::nullopt);
    }
    CHECK(marker::from_text(std::string(1 << 20U, '/')) == std::nullopt);
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        const auto read = marker::from_text(good.substr(0, cut));
        CHECK((!read || to_text(*read) == good.substr(0, cut)));
    }
}

TEST_CASE("text is UTF-8 without NUL, and nothing else is", "[text]") {
    using detail::is_text;
    for (const std::string_view good : {"", "a", "\x7f", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                                        "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
        CHECK(is_text(good));
        CHECK(detail::made_valid(good) == good);
    }
    for (const std::string_view bad :
         {"\x80", "\xBF", "\xC0\x80", "\xC1\xBF", "\xC2", "\xC2\x7F", "\xC2\xC0", "\xE0\x9F\xBF", "\xE0\xA0",
          "\xE1\x80\x7F", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF0\x8F\xBF\xBF", "\xF0\x90\x80", "\xF1\x80\x80\xC0",
          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "a\xFFz"}) {
        CHECK_FALSE(is_text(bad));
        CHECK(is_text(detail::made_valid(bad)));
    }
    CHECK_FALSE(is_text(std::string_view{"a\0b", 3}));
    CHECK(detail::made_valid("a\xFFz") == "a\xEF\xBF\xBDz");
    CHECK(detail::made_valid("\xE2\x82") == "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_CASE("a name in a line for people cannot be mistaken for the line", "[text]") {
    using detail::readable;
    CHECK(readable("worker-7") == "worker-7");
    CHECK(readable("grün") == "grün");
    CHECK(readable("") == "\"\"");
    CHECK(readable("a b") == "\"a b\"");
    CHECK(readable("a;b") == "\"a;b\"");
    CHECK(readable("a=b") == "\"a=b\"");
    CHECK(readable("a\xC2\x9B"
                   "b") == "\"a\\xc2\\x9bb\"");  // a control that opens an escape sequence
    CHECK(readable("a\xE2\x80\xA8"
                   "b") ==
          "\"a\\xe2\\x80\\xa8"
          "b\"");  // a separator of lines
    CHECK(readable("a\xE2\x80\xAE"
                   "b") ==
          "\"a\\xe2\\x80\\xae"
          "b\"");  // an override of direction
    CHECK(readable("a\xE2\x81\xA6"
                   "b") ==
          "\"a\\xe2\\x81\\xa6"
          "b\"");  // an isolate of direction
    for (const std::string_view turns : {"\xE2\x80\x8E", "\xE2\x80\x8F", "\xE2\x81\xA9", "\xC2\xA0", "\xD8\x9C"}) {
        CHECK(readable(turns).starts_with("\"\\x"));
    }
    for (const std::string_view harmless : {"\xE2\x80\x8D", "\xE2\x80\xAF", "\xE2\x81\xA5", "\xE2\x81\xAA",
                                            "\xE2\x82\xAC", "\xD8\x9B", "\xD8\x9D", "\xD9\x9C"}) {
        CHECK(readable(harmless) == harmless);
    }
    CHECK(readable("\xC2\xA1\xE2\x80\xA7") == "\xC2\xA1\xE2\x80\xA7");
    CHECK(readable("\xF0\x9F\x8C\xAF") == "\xF0\x9F\x8C\xAF");
    CHECK(readable("none") == "\"none\"");
    CHECK(readable("a\"\\\n\x7f\x80") == "\"a\\\"\\\\\\x0a\\x7f\\x80\"");
}

TEST_CASE("a round is read back from its text, and no other text is one", "[text]") {
    const claim_round round = example();
    CHECK(to_text(round) == to_text(round.store) + "/" + to_text(round.id) + "/" + to_text(round.token));
    CHECK(claim_round::from_text(to_text(round)) == round);
    const std::string good = to_text(round);
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
        const auto read = claim_round::from_text(good.substr(0, cut));
        CHECK((!read || to_text(*read) == good.substr(0, cut)));
    }
    for (const std::string& bad : {good + "/", good + "x", "0" + good, to_text(example()), std::string{}, good + " "}) {
        CHECK(claim_round::from_text(bad) == std::nullopt);
    }
}

}  // namespace
