// SPDX-License-Identifier: MIT
/// metrics ADDRESS STORE: works on the jobs of a store until standard input ends, and lets Prometheus see how it goes.
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

#include <prometheus/exposer.h>

#include <leasehold/worker.hpp>

#include "../common/any_store.hpp"
#include "series.hpp"

namespace {

using namespace leasehold;
using namespace std::chrono_literals;

/// Stands for work of one's own: does what the payload says.
outcome work(const claimed_job& job, const std::stop_token& lost) {
    if (job.payload == "fail") {
        throw std::runtime_error{"as the payload says"};
    }
    if (job.payload == "aside") {
        return set_aside{"as the payload says"};
    }
    while (job.payload == "stall" && !lost.stop_requested()) {
        std::this_thread::sleep_for(10ms);
    }
    return done{};
}

template <class Queue>
void serve(Queue& queue, metrics::seen_here& seen, const std::string& address) {
    const auto there = std::make_shared<metrics::standing_there<Queue>>(queue);
    prometheus::Exposer exposer{address};
    exposer.RegisterCollectable(seen.collectable());
    exposer.RegisterCollectable(there);
    worker works{queue,
                 {.owner = "metrics",
                  .lease = 300ms,
                  .retry_after = {.first = 10ms},
                  .on_error = seen.on_error(),
                  .on_loss = seen.on_loss()},
                 seen.timed([](const claimed_job& job, auto& context) { return work(job, context.stop_token()); })};
    const std::jthread working{[&](const std::stop_token& stop) { works.run(stop); }};
    std::cout << exposer.GetListeningPorts().front() << std::endl;
    while (std::getchar() != EOF) {
    }
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 3) {
        std::cerr << "usage: metrics ADDRESS STORE, such as 127.0.0.1:9464 jobs.db; port 0 for any that is free\n";
        return 2;
    }
    try {
        metrics::seen_here seen{{"default"}};
        any_store::with_queue(arguments[2], {.on_event = seen.on_event()},
                              [&](auto& queue) { serve(queue, seen, arguments[1]); });
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "metrics: " << error.what() << '\n';
        return 1;
    }
}
