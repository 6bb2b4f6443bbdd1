// SPDX-License-Identifier: MIT
/// What a claim and a finish of a job with a large payload write, by the kernel's own count: the payload is not among
/// it.
#include <algorithm>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>

#include <leasehold/sqlite.hpp>

#include "measuring.hpp"
#include "work.hpp"

namespace {

using namespace bench;

/// Bytes that this process has given to the kernel to write so far.
double bytes_written() {
    std::ifstream io{"/proc/self/io"};
    std::string name;
    double value = 0;
    while (io >> name >> value) {
        if (name == "wchar:") {
            return value;
        }
    }
    throw std::runtime_error{"/proc/self/io has no wchar"};
}

/// The worse of both journals.
void measure_payload(figures& to) {
    double most = 0;
    for (const journal_mode journal : both_journals) {
        const file_of_jobs file{journal, 0};
        lease_queue queue{{file.path()}};
        queue.enqueue({.payload = std::string(std::size_t{16} << 20U, 'x')});
        const double before = bytes_written();
        claim_and_finish(queue);
        most = std::max(most, bytes_written() - before);
    }
    to["payload_16mib_written"] = most;
}

const bool registered = measured_once({{"payload", measure_payload}});

}  // namespace
