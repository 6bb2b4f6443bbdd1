// SPDX-License-Identifier: MIT
/// The store in a file as somebody else has it. The file is the only argument.
#include <chrono>
#include <iostream>

#include <leasehold/sqlite.hpp>

int main(int, char** arguments) {
    using namespace std::chrono_literals;
    { leasehold::lease_queue{{arguments[1]}}.enqueue({.payload = "one burrito"}); }
    leasehold::lease_queue again{{arguments[1]}};
    const auto held = again.claim("somebody", 30s);
    const bool is_finished = held && held->payload == "one burrito" && again.finish(*held);
    std::cout << (is_finished ? "sqlite: finished\n" : "sqlite: not finished\n");
    return is_finished ? 0 : 1;
}
