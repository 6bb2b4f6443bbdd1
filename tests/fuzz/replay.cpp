// SPDX-License-Identifier: MIT
/// Runs a fuzz target on files that were kept: what was found once stays found, with every compiler.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "support/files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** folders) {
    std::vector<std::filesystem::path> inputs;
    for (int i = 1; i < count; ++i) {
        for (const auto& entry : std::filesystem::directory_iterator{folders[i]}) {
            inputs.push_back(entry.path());
        }
    }
    std::sort(inputs.begin(), inputs.end());
    for (const std::filesystem::path& input : inputs) {
        std::cout << input.filename().string() << std::endl;  // a crash stands behind its name
        const std::string bytes = files::read(input.string());
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
    std::cout << "figure: replay: " << inputs.size() << " kept inputs" << std::endl;
    return inputs.empty() ? 1 : 0;
}
