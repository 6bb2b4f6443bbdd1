// SPDX-License-Identifier: MIT
/// json_orders FILE: enqueues the lines of standard input as they are, works on those that are orders, and shows what
/// became of the others.
#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <leasehold/sqlite.hpp>
#include <leasehold/typed_queue.hpp>
#include <leasehold/worker.hpp>

namespace {

using namespace leasehold;

struct order {
    std::string item{};
    unsigned quantity = 1;
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(order, item, quantity)

/// Any type that nlohmann/json can read and write, as text of JSON. Its objects are sorted by their keys, so that equal
/// values are equal texts.
template <class T>
struct json_codec {
    static std::string encode(const T& value) { return nlohmann::json(value).dump(); }
    static decoded<T> decode(std::string_view text) {
        try {
            return nlohmann::json::parse(text).get<T>();
        } catch (const nlohmann::json::exception& refused) {
            return undecodable{refused.what()};
        }
    }
};

using order_queue = typed_queue<order, lease_queue, json_codec<order>>;

int run(const char* path) {
    lease_queue queue{{path}};
    const order_queue orders{queue};
    orders.enqueue({"burrito", 2}, {.key = "the first of the day"});
    for (std::string line; std::getline(std::cin, line);) {
        queue.enqueue({.payload = line});  // another program's: nobody has looked at it yet
    }

    worker kitchen{queue, {.owner = "kitchen"}, orders.handler([](const order& what, const claimed_job&, auto&) {
                       std::cout << what.quantity << " x " << detail::readable(what.item) << '\n';
                   })};
    while (kitchen.claim() || kitchen.handle()) {
    }

    for (const record& each : queue.list({.state = job_state::quarantined, .limit = 1000}).items) {
        std::cout << "set aside " << each.id << ": " << detail::readable(each.reason) << '\n';
    }
    return 0;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::cerr << "usage: json_orders FILE < LINES\n";
        return 2;
    }
    try {
        return run(arguments[1]);
    } catch (const std::exception& error) {
        std::cerr << "json_orders: " << error.what() << '\n';
        return 1;
    }
}
