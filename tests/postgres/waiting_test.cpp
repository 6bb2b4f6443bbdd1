// SPDX-License-Identifier: MIT
/// Who waits for a job, who tells them, and what becomes of both behind a pooler.
#include <chrono>
#include <fstream>
#include <future>
#include <stop_token>
#include <string>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include "postgres/place.hpp"
#include "support/processes.hpp"

namespace {

using namespace places;

const claim_terms patient{.owner = "W", .lease_for = 1h};

/// A thread that waits at a queue of its own for one job; ready once it listens, or looks.
std::future<std::optional<lease>> waiting_at(postgres_lease_queue& queue, const std::stop_source& stop) {
    return std::async(std::launch::async,
                      [&queue, token = stop.get_token()] { return queue.wait_claim(token, patient); });
}

/// Says when somebody has said that he listens.
bool is_listened(servers::client& by) {
    return by.run("SELECT listened_until > 0 FROM leasehold.leasehold_meta") == "t";
}

long notifications(servers::client& by) {
    long count = 0;
    by.run("SELECT 1");
    while (PGnotify* const one = ::PQnotifies(by.connection())) {
        ::PQfreemem(one);
        ++count;
    }
    return count;
}

TEST_CASE("who waits is told of a commit at once, whoever commits", "[waiting]") {
    const postgres place;
    postgres_lease_queue queue{place.store()};
    postgres_lease_queue elsewhere{place.store()};
    servers::client other = place.caller();
    std::stop_source stop;
    std::chrono::nanoseconds worst{};
    for (int round = 0; round < 5; ++round) {
        auto waiting = waiting_at(queue, stop);
        while (!is_listened(other)) {
            std::this_thread::sleep_for(1ms);
        }
        std::this_thread::sleep_for(20ms);  // so that it mostly waits already: it is quick either way
        const auto start = std::chrono::steady_clock::now();
        elsewhere.enqueue({.payload = "x"});
        REQUIRE(waiting.get());
        worst = std::max(worst, std::chrono::steady_clock::now() - start);
    }
    CHECK(worst < 400ms);  // a look without being told comes after half a second
}

TEST_CASE("a stop ends a wait at once", "[waiting]") {
    const postgres place;
    postgres_lease_queue queue{place.store()};
    servers::client other = place.caller();
    std::stop_source stop;
    auto waiting = waiting_at(queue, stop);
    while (!is_listened(other)) {
        std::this_thread::sleep_for(1ms);
    }
    const auto start = std::chrono::steady_clock::now();
    stop.request_stop();
    CHECK_FALSE(waiting.get());
    CHECK(std::chrono::steady_clock::now() - start < 400ms);
}

TEST_CASE("commits tell once a transaction, only while somebody listens, and not at all where that is off",
          "[waiting]") {
    const postgres place;
    postgres_lease_queue queue{place.store()};
    postgres_lease_queue silent{place.store({.notify = false})};
    servers::client other = place.caller();
    other.run("LISTEN leasehold");
    queue.enqueue({.payload = "x"});
    CHECK(notifications(other) == 0);
    const postgres_store listening = place.store();
    (void)listening.changes();
    queue.enqueue_many(std::vector<job>(10, {.payload = "x"}));
    CHECK(notifications(other) == 1);
    CHECK(queue.claim("A", 1h));
    CHECK(notifications(other) == 0);  // nothing has become ready
    silent.enqueue({.payload = "x"});
    CHECK(notifications(other) == 0);
}

TEST_CASE("who waits where the server went away and came again gets the next job", "[waiting]") {
    servers::server mine;
    const servers::database data{mine};
    postgres_lease_queue queue{{data.conninfo()}};
    const postgres_store listening{data.conninfo()};
    const std::uint32_t before = listening.changes();
    mine.stop(SIGQUIT);
    (void)listening.changes();  // no error: it hears nothing
    listening.await(before, 50ms);
    mine.start();
    (void)listening.changes();
    const std::uint32_t seen = listening.changes();
    auto waiting = std::async(std::launch::async, [&] { listening.await(seen, 20s); });
    queue.enqueue({.payload = "x"});
    CHECK(waiting.wait_for(10s) == std::future_status::ready);
}

TEST_CASE("an order of the caller's and its job stand together, or neither does", "[joining]") {
    const postgres place;
    postgres_lease_queue queue{place.store()};
    servers::client shop = place.caller();
    shop.run("CREATE TABLE orders (id int)");
    shop.begin();
    {
        auto session = queue.join(shop.connection());
        shop.run("INSERT INTO orders VALUES (1)");
        session.enqueue({.key = "order 1", .payload = "x"});
    }
    shop.roll_back();
    CHECK(shop.number("SELECT count(*) FROM orders") == 0);
    CHECK_FALSE(queue.find("default", "order 1"));
    shop.begin();
    {
        auto session = queue.join(shop.connection());
        session.enqueue({.key = "order 1", .payload = "x"});
        shop.run("INSERT INTO orders VALUES (1)");  // between and after the verbs the connection is the caller's
        CHECK(session.enqueue({.key = "order 1", .payload = "x"}).answer == intake::duplicate);
    }
    shop.commit();
    CHECK(shop.number("SELECT count(*) FROM orders") == 1);
    CHECK(queue.find("default", "order 1"));
    queue.transact([&](auto& session) {
        session.enqueue({.key = "order 2"});
        PGresult* const made = ::PQexec(session.native(), "INSERT INTO orders VALUES (2)");
        CHECK(::PQresultStatus(made) == PGRES_COMMAND_OK);
        ::PQclear(made);
    });
    CHECK(shop.number("SELECT count(*) FROM orders") == 2);
    shop.run("DROP TABLE orders");
}

/// PgBouncer in transaction mode, with fewer sessions than its clients have connections.
class pooler {
public:
    explicit pooler(const servers::server& to) {
        if (::geteuid() == 0 && ::chmod(folder_.path().c_str(), 0777) != 0) {
            throw std::runtime_error{"no folder for the pooler"};
        }
        std::ofstream{folder_ / "users"} << "\"leasehold\" \"\"\n";
        std::ofstream{folder_ / "pooler.ini"}
            << "[databases]\n* = host=" << to.folder() << " port=" << to.port()
            << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_
            << "\nunix_socket_dir =\nauth_type = trust\nauth_file = " << (folder_ / "users")
            << "\npool_mode = transaction\ndefault_pool_size = 2\n";
        running_ = std::make_unique<processes::child>([&] {
            servers::run_unprivileged({LEASEHOLD_PGBOUNCER, folder_ / "pooler.ini"}, folder_ / "log");
        });
    }
    ~pooler() {
        running_->signal(SIGKILL);
        running_->wait();
    }
    pooler(const pooler&) = delete;
    pooler& operator=(const pooler&) = delete;

    std::string conninfo(const std::string& database) const {
        const std::string text = servers::common().conninfo_by_tcp(database, port_);
        for (int tries = 0; ::PQping(text.c_str()) != PQPING_OK && tries < 1000; ++tries) {
            std::this_thread::sleep_for(10ms);
        }
        return text;
    }

private:
    temporary_folder folder_{};
    int port_ = servers::free_port();
    std::unique_ptr<processes::child> running_{};
};

TEST_CASE("through a pooler in transaction mode all verbs work, and who waits looks from time to time", "[pooler]") {
    if (std::string{LEASEHOLD_PGBOUNCER}.empty()) {
        WARN("skipped: PgBouncer is not here");
        return;
    }
    const postgres place;
    const pooler between{servers::common()};
    const std::string conninfo = between.conninfo(place.data.name());
    const auto open = [&] { return postgres_store{conninfo, {.has_session = false}}; };
    postgres_lease_queue queue{open()};
    queue.enqueue_many(std::vector<job>(200, {.payload = "x"}));
    std::vector<std::future<int>> working;
    for (int i = 0; i < 6; ++i) {
        working.push_back(std::async(std::launch::async, [&] {
            postgres_lease_queue mine{open()};
            int done = 0;
            while (const auto held = mine.claim("A", 1h)) {
                done += held->token == claim_token{1} && mine.finish(*held) ? 1 : 0;
            }
            return done;
        }));
    }
    int done = 0;
    for (auto& each : working) {
        done += each.get();
    }
    CHECK(done == 200);
    std::stop_source stop;
    auto waiting = waiting_at(queue, stop);
    postgres_lease_queue{open()}.enqueue({.payload = "later"});
    const std::optional<lease> held = waiting.get();
    REQUIRE(held);
    CHECK(held->payload == "later");
    CHECK(queue.fail(*held, "e"));
    CHECK(queue.stats().queues.at(0).finished == 200);
}

}  // namespace
