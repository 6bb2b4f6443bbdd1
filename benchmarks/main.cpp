// SPDX-License-Identifier: MIT
/// Runs all benchmarks, each registered by its own file; or is the child process of one of them.
#include <cstdlib>
#include <string_view>

#include <benchmark/benchmark.h>

#include "fresh_process.hpp"

int main(int argc, char** argv) {
    if (argc == 3 && std::string_view{argv[1]} == bench::claim_from_option) {
        return bench::claim_from(argv[2]);
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return EXIT_FAILURE;
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return EXIT_SUCCESS;
}
