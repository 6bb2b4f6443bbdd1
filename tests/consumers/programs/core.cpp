// SPDX-License-Identifier: MIT
/// The core as somebody else has it: nothing but its headers.
#include <chrono>
#include <iostream>

#include <leasehold/leasehold.hpp>
#include <leasehold/manual_clock.hpp>
#include <leasehold/memory_store.hpp>

int main() {
    using namespace std::chrono_literals;
    leasehold::basic_lease_queue queue{leasehold::memory_store{}, leasehold::manual_clock{}};
    queue.enqueue({.key = "order-1", .payload = "one burrito"});
    const auto held = queue.claim("somebody", 30s);
    const bool is_finished = held && held->payload == "one burrito" && queue.finish(*held);
    std::cout << "core " << LEASEHOLD_VERSION_MAJOR << '.' << LEASEHOLD_VERSION_MINOR << '.' << LEASEHOLD_VERSION_PATCH
              << (is_finished ? ": finished\n" : ": not finished\n");
    return is_finished ? 0 : 1;
}
