// SPDX-License-Identifier: MIT
/// What becomes of a call when the server, the connection or another transaction fails it.
#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "postgres/place.hpp"
#include "postgres/proxy.hpp"

namespace {

using namespace places;

/// What the call throws, and after how long.
template <class Error, class Call>
std::chrono::milliseconds time_until(const Call& call) {
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS_AS(call(), Error);
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start);
}

std::string what_is_thrown(const std::function<void()>& call) {
    try {
        call();
    } catch (const std::exception& error) {
        return error.what();
    }
    return {};
}

void kill_backends(servers::client& by) {
    by.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
        "AND datname = current_database()");
}

TEST_CASE("a backend that was killed while its connection was idle is not even noticed", "[failure]") {
    postgres place;
    postgres_lease_queue queue{place.store()};
    queue.enqueue({.payload = "x"});
    servers::client other = place.caller();
    kill_backends(other);
    while (other.number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()") > 1) {
    }
    CHECK(queue.claim("A", 1h));
}

TEST_CASE("a backend that is killed at work ends the call in an error, and the next call connects anew", "[failure]") {
    postgres place;
    postgres_lease_queue queue{place.store()};
    queue.enqueue({.payload = "x"});
    const std::optional<lease> held = queue.claim("A", 1h);
    REQUIRE(held);
    servers::client other = place.caller();
    other.begin();
    other.run("SELECT 1 FROM leasehold.leasehold_job FOR UPDATE");
    std::future<settlement> finish = std::async(std::launch::async, [&] { return queue.finish(*held); });
    servers::client third = place.caller();
    while (third.number("SELECT count(*) FROM pg_locks WHERE NOT granted") == 0) {
    }
    third.run("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE NOT granted");
    try {
        (void)finish.get();
        FAIL("no error");
    } catch (const store_unknown&) {
        FAIL("it had not begun to commit");
    } catch (const store_error& error) {
        CHECK(error.transaction_lost());
    }
    other.roll_back();
    CHECK(queue.finish(*held));
}

TEST_CASE("a server that is down is an error at once, and one that is up again is used", "[failure]") {
    servers::server mine;
    const servers::database data{mine};
    postgres_lease_queue queue{{data.conninfo()}};
    queue.enqueue({.payload = "x"});
    mine.stop(SIGQUIT);
    CHECK(time_until<store_error>([&] { return queue.claim("A", 1h); }) < 2s);
    CHECK_THROWS_AS(queue.claim("A", 1h), store_error);
    mine.start();
    CHECK(queue.claim("A", 1h));
}

TEST_CASE("where packets are dropped, a call ends within the timeout, and the next connects anew", "[failure]") {
    postgres place;
    servers::proxy between{servers::common().port()};
    postgres_lease_queue queue{{servers::common().conninfo_by_tcp(place.data.name(), between.port()),
                                {.busy_timeout = 100ms, .answer_timeout = 300ms}}};
    queue.enqueue({.payload = "x"});
    between.drop_all();
    const auto time = time_until<store_error>([&] { return queue.claim("A", 1h); });
    CHECK(time >= 290ms);
    CHECK(time < 3s);
    CHECK(time_until<store_error>([&] { return queue.claim("A", 1h); }) < 3s);  // nor can it connect
    between.drop_all(false);
    CHECK(queue.claim("A", 1h));
}

TEST_CASE("a commit whose answer was lost is unknown; the token tells what became of it", "[failure]") {
    postgres place;
    servers::proxy between{servers::common().port()};
    postgres_lease_queue queue{{servers::common().conninfo_by_tcp(place.data.name(), between.port()),
                                {.has_session = false}}};  // its statements go out as text, for the proxy to see
    const std::string commit{"COMMIT", 7};                 // the statement alone, with its end
    queue.enqueue({.payload = "x"});
    between.cut_answer_to(commit);
    CHECK_THROWS_AS(queue.claim("A", 1h), store_unknown);
    CHECK(between.has_cut());
    const record row = queue.list().items.at(0);
    CHECK(row.token == claim_token{1});  // it stands: whoever asked has that round, if the owner is theirs alone
    CHECK(row.owner == "A");
    marker mine = row.marker();
    CHECK(queue.refresh(mine));
    between.cut_answer_to(commit);
    CHECK_THROWS_AS(queue.finish(mine, "done"), store_unknown);
    const settlement again = queue.finish(mine, "done");
    CHECK(again.why == verdict::finished);
    CHECK(again.ended_by_presented());
}

TEST_CASE("a row that another holds too long is busy, and nothing has changed", "[failure]") {
    postgres place;
    postgres_lease_queue queue{place.store({.busy_timeout = 100ms})};
    queue.enqueue({.payload = "x"});
    const std::optional<lease> held = queue.claim("A", 1h);
    REQUIRE(held);
    servers::client other = place.caller();
    other.begin();
    other.run("SELECT 1 FROM leasehold.leasehold_job FOR UPDATE");
    CHECK(time_until<store_busy>([&] { return queue.finish(*held); }) < 3s);
    other.roll_back();
    CHECK(queue.finish(*held));
}

TEST_CASE("a call that the server ends because of a deadlock runs again", "[failure]") {
    postgres place;
    postgres_lease_queue queue{place.store()};
    queue.enqueue_many(std::vector<job>(2, {.payload = "x"}));
    std::vector<lease> held = queue.claim_many("A", 1h, 2);
    REQUIRE(held.size() == 2);
    servers::client other = place.caller();
    servers::client watching = place.caller();
    const auto waiting = [&] { return watching.number("SELECT count(*) FROM pg_locks WHERE NOT granted"); };
    other.begin();
    other.run("SET LOCAL deadlock_timeout = '60s'");  // the queue's backend finds it first
    other.run("SELECT 1 FROM leasehold.leasehold_job WHERE id = " + to_text(held[1].id) + " FOR UPDATE");
    auto finish = std::async(std::launch::async, [&] { return queue.finish_many(held); });
    while (waiting() < 1) {
        std::this_thread::sleep_for(1ms);
    }
    other.run("SELECT 1 FROM leasehold.leasehold_job WHERE id = " + to_text(held[0].id) + " FOR UPDATE");
    other.roll_back();
    for (const settlement& each : finish.get()) {
        CHECK(each);
    }
    watching.run("SELECT pg_stat_force_next_flush()");
    CHECK(watching.number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") > 0);
}

TEST_CASE("batches with the same keys in opposite orders never wait for each other", "[failure]") {
    postgres place;
    postgres_lease_queue queue{place.store()};
    postgres_lease_queue rival{place.store()};
    std::vector<job> up;
    for (int i = 0; i < 2000; ++i) {
        up.push_back({.key = std::to_string(i), .payload = "x"});
    }
    const std::vector<job> down{up.rbegin(), up.rend()};
    servers::client other = place.caller();
    const auto deadlocks = [&] {
        other.run("SELECT pg_stat_force_next_flush()");
        return other.number("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
    };
    const long before = deadlocks();
    for (int round = 0; round < 10; ++round) {
        auto theirs = std::async(std::launch::async, [&] { return rival.enqueue_many(down); });
        const auto mine = queue.enqueue_many(up);
        const auto all = theirs.get();
        const auto is_new = [](const enqueued& each) { return each.answer == intake::accepted; };
        CHECK(std::count_if(mine.begin(), mine.end(), is_new) + std::count_if(all.begin(), all.end(), is_new) == 2000);
        CHECK(other.number("SELECT count(*) FROM leasehold.leasehold_job") == 2000);
        other.run("DELETE FROM leasehold.leasehold_job");
    }
    CHECK(deadlocks() == before);
}

TEST_CASE("no error's text holds anything of the connection string", "[failure]") {
    const std::string secret = " password=hunter2 application_name=s3cret user=nobody_knows dbname=hidden_db";
    const std::string here = "port=" + std::to_string(servers::common().port());
    for (const std::string& conninfo :
         {"host=/nowhere_at_all" + secret, "host=" + servers::common().folder() + " " + here + secret,
          "host=127.0.0.1 port=1" + secret, "host = = nonsense" + secret,
          std::string{"postgresql://nobody_knows:hunter2@/hidden_db?host=/nowhere_at_all"},
          std::string{"hidden_db://hunter2="}}) {
        const std::string text = what_is_thrown([&] { postgres_lease_queue{{conninfo}}; });
        INFO(text);
        CHECK_FALSE(text.empty());
        for (const char* part : {"hunter2", "s3cret", "nobody_knows", "hidden_db", "nowhere", "127.0.0.1"}) {
            CHECK_THAT(text, !contains(part));
        }
    }
}

TEST_CASE("many programs may make the schema at once, each in a schema of its own or in the same", "[schema]") {
    postgres place;
    std::vector<std::future<store_id>> making;
    for (int i = 0; i < 8; ++i) {
        making.push_back(std::async(std::launch::async, [&] {
            postgres_lease_queue queue{place.store()};
            queue.enqueue({.payload = "x"});
            return queue.list().items.at(0).store;
        }));
    }
    std::vector<store_id> ids;
    for (auto& each : making) {
        ids.push_back(each.get());
    }
    CHECK(std::count(ids.begin(), ids.end(), ids.front()) == 8);
    postgres_lease_queue elsewhere{place.store({.schema = "another_one"})};
    CHECK(elsewhere.list().items.empty());
    servers::client other = place.caller();
    CHECK(other.number("SELECT count(*) FROM leasehold.leasehold_job") == 8);
    other.run("SET client_min_messages = error; DROP SCHEMA another_one CASCADE");
}

TEST_CASE("a newer schema is refused, and a name that is none", "[schema]") {
    postgres place;
    { const postgres_lease_queue queue{place.store()}; }
    servers::client other = place.caller();
    other.run("UPDATE leasehold.leasehold_meta SET schema_version = 2");
    CHECK_THROWS_AS(postgres_lease_queue{place.store()}, store_unsupported);
    for (const char* name : {"", "Upper", "a b", "a;b", "a\"b", "1a", "pg_own", "\xC3\xA9"}) {
        CAPTURE(name);
        CHECK_THROWS_AS(place.store({.schema = name}), std::invalid_argument);
    }
}

TEST_CASE("instants and texts come back exactly, whatever the session's settings are", "[schema]") {
    postgres place;
    servers::client other = place.caller();
    other.run("ALTER DATABASE " + place.data.name() + " SET timezone = 'Asia/Kathmandu'");
    other.run("ALTER DATABASE " + place.data.name() + " SET default_transaction_isolation = 'serializable'");
    other.run("ALTER DATABASE " + place.data.name() + " SET bytea_output = 'escape'");
    other.run("ALTER DATABASE " + place.data.name() + " SET client_encoding = 'LATIN1'");
    basic_lease_queue<manual_clock, postgres_store> queue{place.store(), manual_clock{at(1)}};
    queue.enqueue({.key = "\xC3\xA9", .payload = std::string{"\0\xff", 2}, .deadline = at(9'000'000'000'000'000'000)});
    const std::optional<lease> held = queue.claim("\xE2\x82\xAC", 1h);
    REQUIRE(held);
    CHECK(held->key == "\xC3\xA9");
    CHECK(held->payload == std::string{"\0\xff", 2});
    CHECK(held->deadline == at(9'000'000'000'000'000'000));
    CHECK(queue.fail(*held, std::string{"a\0b\xff", 4}));
    CHECK(queue.find(held->id)->last_error ==
          "a\xEF\xBF\xBD"
          "b\xEF\xBF\xBD");
    for (const char* name : {"timezone", "default_transaction_isolation", "bytea_output", "client_encoding"}) {
        other.run("ALTER DATABASE " + place.data.name() + " RESET " + name);
    }
}

}  // namespace
