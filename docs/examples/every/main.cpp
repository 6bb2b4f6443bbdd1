// SPDX-License-Identifier: MIT
/// every PERIOD FILE: says a line once a period, however many of these programs are started on the file.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <exception>
#include <iostream>
#include <map>
#include <stop_token>
#include <string>
#include <thread>

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <leasehold/periodic.hpp>
#include <leasehold/sqlite.hpp>
#include <leasehold/worker.hpp>

namespace {

using namespace leasehold;
using namespace std::chrono_literals;

/// Blocked in every thread, to be waited for in one.
sigset_t asked_to_stop() {
    sigset_t which;
    ::sigemptyset(&which);
    ::sigaddset(&which, SIGINT);
    ::sigaddset(&which, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &which, nullptr);
    return which;
}

void run(const std::string& file, millis period, std::int64_t make_up) {
    const sigset_t asked = asked_to_stop();
    const std::string me = "process " + std::to_string(::getpid());
    lease_queue queue{{file}};
    const periodic every{{.name = "every", .every = period, .make_up = make_up}};
    worker says{queue, {.owner = me, .lease = 10s}, [&](const claimed_job& job, auto&) {
                    every.enqueue_next(queue, job.key);  // first: the chain goes on whatever becomes of this run
                    std::cout << job.key << " by " + me + '\n' << std::flush;
                }};
    const std::jthread working{[&](const std::stop_token& stop) { says.run(stop); }};

    const std::int64_t ms = period.count();
    const std::timespec once_a_period{ms / 1000, static_cast<long>(ms % 1000 * 1'000'000)};
    do {
        every.enqueue_next(queue);  // begins the chain, and mends it where somebody has cancelled a job of it
    } while (::sigtimedwait(&asked, nullptr, &once_a_period) < 0);
}

}  // namespace

int main(int count, char** arguments) {
    CLI::App app{"Says a line once a period, however many of these programs are started on the file.", "every"};
    std::string file;
    std::int64_t period = 0;
    std::int64_t make_up = 0;
    app.add_option("period", period, "500ms, 10s, 5m, 1h, 1d")
        ->required()
        ->transform(CLI::AsNumberWithUnit(
            std::map<std::string, std::int64_t>{
                {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}},
            CLI::AsNumberWithUnit::UNIT_REQUIRED));
    app.add_option("file", file, "The queue; made where it is not there")->required();
    app.add_option("--make-up", make_up, "So many missed periods are made up for")->capture_default_str();
    CLI11_PARSE(app, count, arguments);
    try {
        run(file, std::chrono::milliseconds{period}, make_up);
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "every: " << error.what() << '\n';
        return 1;
    }
}
