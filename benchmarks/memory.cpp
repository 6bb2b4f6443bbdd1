// SPDX-License-Identifier: MIT
/// Jobs in memory: claims and finishes a second. And the memory that a process needs to claim from a file of many jobs.
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <leasehold/memory_store.hpp>
#include <leasehold/sqlite.hpp>

#include "backlog.hpp"
#include "fresh_process.hpp"
#include "measuring.hpp"
#include "support/processes.hpp"
#include "work.hpp"

namespace {

using namespace bench;

void measure_memory_store(figures& to) {
    constexpr std::size_t ready = 100'000;
    std::vector<double> rates;
    for (int round = 0; round < 7; ++round) {
        basic_lease_queue<process_clock, memory_store> queue{memory_store{}};
        add_jobs(queue, ready);
        rates.push_back(rate_of(ready, [&] {
            for (std::size_t i = 0; i < ready; ++i) {
                claim_and_finish(queue);
            }
        }));
    }
    to["memory_rate"] = median(rates);
}

/// A value of /proc/self/status, in KiB.
std::size_t status_kib(const std::string& name) {
    std::ifstream status{"/proc/self/status"};
    std::string word;
    while (status >> word) {
        if (word == name + ":") {
            std::size_t kib = 0;
            status >> kib;
            return kib;
        }
    }
    throw std::runtime_error{"/proc/self/status has no " + name};
}

void measure_resident(figures& to) {
    const backlog_file file{backlog_kind::ready, 1'000'000};
    processes::pipe_ends answer;
    processes::child claiming{[&] {
        ::dup2(answer.writing(), STDOUT_FILENO);
        ::execl("/proc/self/exe", "leasehold_bench", claim_from_option.data(), file.path().c_str(), nullptr);
        throw std::runtime_error{"the program cannot be started anew"};
    }};
    const std::string kib = answer.read_all();
    if (claiming.wait() != 0) {
        throw std::runtime_error{"the claiming process failed"};
    }
    to["rss_1m_mib"] = std::stod(kib) / 1024;
}

const bool registered = measured_once({{"memory_store", measure_memory_store}, {"resident", measure_resident}});

}  // namespace

int bench::claim_from(const char* path) {
    try {
        lease_queue queue{{path}};
        for (int i = 0; i < 1000; ++i) {
            claim_and_finish(queue);
        }
        std::cout << status_kib("VmHWM") << '\n';
        return EXIT_SUCCESS;
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return EXIT_FAILURE;
    }
}
