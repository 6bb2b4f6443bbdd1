// SPDX-License-Identifier: MIT
/// Any bytes as a file of orders, and as a delivery to the receiver: refused with what is wrong and where, or read.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "../../docs/examples/courier/delivery.hpp"
#include "../../docs/examples/courier/orders.hpp"
#include "../../docs/examples/courier/receiver.hpp"
#include "fuzz/bytes.hpp"
#include "fuzz/signals.hpp"
#include "support/temporary_folder.hpp"

namespace {

using fuzz::require;

/// Every line but the header's is either read or named as bad, once; what is read is a job that a queue takes.
void read_file(std::string_view text) {
    std::istringstream in{std::string{text}};
    const courier::orders read = courier::read_orders(in);
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) +
                       (text.empty() || text.ends_with('\n') ? 0 : 1);
    std::set<std::size_t> numbers;
    for (const courier::bad_line& line : read.bad) {
        require(0 < line.number && line.number <= lines && !line.why.empty(), "a refusal without its line or reason");
        require(numbers.insert(line.number).second, "a line refused twice");
    }
    std::set<std::string> keys;
    std::int64_t left = std::numeric_limits<std::int64_t>::max();
    for (const courier::order_line& line : read.lines) {
        require(1 < line.number && line.number <= lines, "a line that is not there");
        require(numbers.insert(line.number).second, "a line read and refused");
        require(keys.insert(line.key).second && leasehold::detail::is_name(line.key), "a key that is none of its own");
        require(0 < line.quantity && line.quantity <= left, "a quantity that is none");
        left -= line.quantity;
        leasehold::detail::check_job({.key = line.key, .payload = line.text});
    }
    const bool has_header = !read.bad.empty() ? read.bad.front().number > 1 : lines > 0;
    require(numbers.size() == (has_header ? lines - 1 : std::min<std::size_t>(lines, 1)), "a line that went unseen");
}

/// What the receiver says is what it has done: once made, an ID stays made.
void deliver(bytes& in) {
    static const places::temporary_folder folder;
    static leasehold::receiver_ledger ledger{folder / "effects.db",
                                             {.file = {.synchronous = leasehold::synchronous_mode::off}}};
    static SQLite::Database effects = courier::effects_file(folder / "effects.db");
    httplib::Request request;
    for (const char* const name : {"id", "quantity", "round"}) {
        if (in.below(8) != 0) {
            request.params.emplace(name, in.some_text());
        }
    }
    request.body = in.rest();
    const auto answer = [&] {
        httplib::Response response;
        courier::answer_delivery(ledger, request, response);
        require(!response.body.empty(), "an answer that says nothing");
        return response.status;
    };
    const int first = answer();
    const int second = answer();
    require(first == 400 ? second == 400 : first == 409 ? second == 409 : second == 200, "another answer");
    effects.exec("DELETE FROM effect; DELETE FROM leasehold_ledger");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    bytes in{data, size};
    try {
        if (in.below(4) != 0) {
            read_file(in.rest());
        } else {
            deliver(in);
        }
    } catch (const std::exception& error) {
        fuzz::fail(error.what());
    }
    return 0;
}
