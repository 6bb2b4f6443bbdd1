// SPDX-License-Identifier: MIT
/// Whoever copies one file has the queue, its worker and the store; a second unit has the same.
#include "leasehold_sqlite_single.hpp"

#include <chrono>
#include <iostream>
#include <stop_token>

#ifdef SECOND_UNIT
int jobs_in(const char* path) {
    return static_cast<int>(
        leasehold::lease_queue{{path}}.list({.state = leasehold::job_state::finished}).items.size());
}
#else
int jobs_in(const char* path);

int main(int, char** arguments) {
    using namespace std::chrono_literals;
    {
        leasehold::lease_queue queue{{arguments[1]}};
        queue.enqueue({.key = "order-1", .payload = "one burrito"});
        std::stop_source stop;
        leasehold::worker work{queue, {.owner = "somebody", .lease = 30s}, [&](const leasehold::claimed_job&, auto&) {
                                   stop.request_stop();
                               }};
        work.run(stop.get_token());
    }
    const int finished = jobs_in(arguments[1]);
    std::cout << "single file: " << finished << " finished\n";
    return finished == 1 ? 0 : 1;
}
#endif
