// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include <httplib.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include "orders.hpp"

/// The other side of the wire. The queue cannot undo what was done outside of it, so whoever receives records the
/// business ID together with the effect, in one transaction, and adds nothing twice.
namespace courier {

/// The receiver serves so many at once.
inline constexpr std::size_t most_couriers = 64;

/// What a delivery came to: the first of its kind, the same once more, or something else under a known ID.
enum class receipt_answer { applied, duplicate, conflict };

class ledger {
public:
    explicit ledger(const std::string& path) : database_{path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE} {
        database_.setBusyTimeout(5000);
        database_.exec(
            "CREATE TABLE IF NOT EXISTS effect "
            "(business_id TEXT PRIMARY KEY, quantity INTEGER NOT NULL, content BLOB NOT NULL) STRICT");
    }

    receipt_answer record(const std::string& business_id, std::int64_t quantity, const std::string& content) {
        const std::lock_guard lock{mutex_};
        SQLite::Transaction transaction{database_, SQLite::TransactionBehavior::IMMEDIATE};
        SQLite::Statement insert{database_, "INSERT INTO effect VALUES (?, ?, ?) ON CONFLICT DO NOTHING"};
        insert.bind(1, business_id);
        insert.bind(2, quantity);
        insert.bind(3, content.data(), static_cast<int>(content.size()));
        if (insert.exec() == 1) {
            transaction.commit();
            return receipt_answer::applied;
        }
        SQLite::Statement known{database_, "SELECT quantity = ? AND content = ? FROM effect WHERE business_id = ?"};
        known.bind(1, quantity);
        known.bind(2, content.data(), static_cast<int>(content.size()));
        known.bind(3, business_id);
        known.executeStep();
        return known.getColumn(0).getInt() != 0 ? receipt_answer::duplicate : receipt_answer::conflict;
    }

    /// The quantity in effect under each business ID.
    std::map<std::string, std::int64_t> effects() {
        std::map<std::string, std::int64_t> all;
        SQLite::Statement query{database_, "SELECT business_id, quantity FROM effect"};
        while (query.executeStep()) {
            all.emplace(query.getColumn(0).getString(), query.getColumn(1).getInt64());
        }
        return all;
    }

private:
    std::mutex mutex_{};
    SQLite::Database database_;
};

/// Serves `POST /deliveries?id=…&quantity=…` on loopback until standard input ends. Writes its port to standard output.
inline int run_receiver(const std::string& path) {
    ledger effects{path};
    httplib::Server server;
    server.set_tcp_nodelay(true);
    // A courier keeps its connection, and one that is stopped keeps it half-way through a request: a thread for each.
    server.new_task_queue = [] { return new httplib::ThreadPool(most_couriers + 2); };
    server.set_read_timeout(300);
    server.Post("/deliveries", [&](const httplib::Request& request, httplib::Response& response) {
        const std::string id = request.get_param_value("id");
        const auto quantity = positive(request.get_param_value("quantity"));
        if (id.empty() || !quantity) {
            response.status = 400;
            response.set_content("id or quantity is missing", "text/plain");
            return;
        }
        switch (effects.record(id, *quantity, request.body)) {
            case receipt_answer::applied: response.status = 201; break;
            case receipt_answer::duplicate: response.status = 200; break;
            case receipt_answer::conflict: response.status = 409; break;
        }
    });
    const int port = server.bind_to_any_port("127.0.0.1");
    if (port < 0) {
        std::cerr << "receiver: no port on 127.0.0.1\n";
        return 1;
    }
    std::cout << port << std::endl;
    const std::jthread stopper{[&server] {
        while (std::getchar() != EOF) {
        }
        server.stop();
    }};
    return server.listen_after_bind() ? 0 : 1;
}

}  // namespace courier
