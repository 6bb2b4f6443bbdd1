// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <httplib.h>

#include <SQLiteCpp/SQLiteCpp.h>

#include <leasehold/receiver_ledger.hpp>

#include "orders.hpp"

/// The other side of the wire. The queue cannot undo what was done outside of it, so whoever receives records the
/// business ID together with the effect, in one transaction, and adds nothing twice.
namespace courier {

/// The receiver serves so many at once.
inline constexpr std::size_t most_couriers = 64;

/// What the receiver is for: quantities in effect, in a table of its own beside the ledger's, in the same file.
inline SQLite::Database effects_file(const std::string& path) {
    SQLite::Database file{path, SQLite::OPEN_READWRITE, 5000};
    file.exec(
        "CREATE TABLE IF NOT EXISTS effect "
        "(business_id TEXT NOT NULL, quantity INTEGER NOT NULL, content BLOB NOT NULL) STRICT");
    return file;
}

inline void add_effect(SQLite::Database& file, const std::string& id, std::int64_t quantity,
                       const std::string& content) {
    SQLite::Statement insert{file, "INSERT INTO effect VALUES (?, ?, ?)"};
    insert.bind(1, id);
    insert.bind(2, quantity);
    insert.bind(3, content.data(), static_cast<int>(content.size()));
    insert.exec();
}

/// How often, and in what quantity, something is in effect under an ID.
struct effect {
    int times = 0;
    std::int64_t quantity = 0;
};

inline std::map<std::string, effect> effects_in(const std::string& path) {
    std::map<std::string, effect> all;
    SQLite::Database file = effects_file(path);
    SQLite::Statement query{file, "SELECT business_id, quantity FROM effect"};
    while (query.executeStep()) {
        effect& found = all[query.getColumn(0).getString()];
        ++found.times;
        found.quantity += query.getColumn(1).getInt64();
    }
    return all;
}

/// What is wrong with a delivery; nothing where it can be made. A sender without a round is one without a queue.
inline std::optional<std::string> refusal_of(const httplib::Request& request) {
    if (!leasehold::detail::is_name(request.get_param_value("id"))) {
        return "id: 1 to 255 bytes of UTF-8 text";
    }
    if (!positive(request.get_param_value("quantity"))) {
        return "quantity: a positive integer";
    }
    if (request.has_param("round") && !leasehold::claim_round::from_text(request.get_param_value("round"))) {
        return "round: store/id/token, as the courier has it";
    }
    return std::nullopt;
}

/// Answers `POST /deliveries?id=…&quantity=…&round=…`: 201 made, 200 made before, 409 known with other content, 400
/// what is wrong.
template <class Ledger>
void answer_delivery(Ledger& ledger, const httplib::Request& request, httplib::Response& response) {
    if (const auto wrong = refusal_of(request)) {
        response.status = 400;
        response.set_content(*wrong, "text/plain");
        return;
    }
    const std::string id = request.get_param_value("id");
    const std::int64_t quantity = *positive(request.get_param_value("quantity"));
    // The quantity belongs to the content: the same line with another quantity is another delivery.
    const auto done = ledger.apply(id, std::to_string(quantity) + '\n' + request.body,
                                   leasehold::claim_round::from_text(request.get_param_value("round")),
                                   [&](SQLite::Database& file) { add_effect(file, id, quantity, request.body); });
    response.status = done.what == leasehold::delivery::applied ? 201 : done ? 200 : 409;
    response.set_content(std::string{to_text(done.what)}, "text/plain");
}

/// Serves deliveries on loopback until standard input ends. Writes its port to standard output.
inline int run_receiver(const std::string& path) {
    leasehold::receiver_ledger ledger{path};
    effects_file(path);
    httplib::Server server;
    server.set_tcp_nodelay(true);
    // A courier keeps its connection, and one that is stopped keeps it half-way through a request: a thread for each.
    server.new_task_queue = [] { return new httplib::ThreadPool(most_couriers + 2); };
    server.set_read_timeout(300);
    server.Post("/deliveries", [&](const httplib::Request& request, httplib::Response& response) {
        answer_delivery(ledger, request, response);
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
