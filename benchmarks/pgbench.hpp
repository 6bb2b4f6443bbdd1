// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "postgres/server.hpp"
#include "support/temporary_folder.hpp"

namespace bench {

/// A statement with something else in the place of its parameters.
inline std::string filled(std::string text, const std::vector<std::string>& values) {
    for (std::size_t number = values.size(); number > 0; --number) {
        const std::string mark = "$" + std::to_string(number);
        for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at)) {
            text.replace(at, mark.size(), values[number - 1]);
            at += values[number - 1].size();
        }
    }
    return text;
}

/// The server's own benchmark, one client with prepared statements, on a script of ours.
class pgbench {
public:
    pgbench(const servers::server& on, const servers::database& in, const std::string& script) : on_{on}, in_{in} {
        std::ofstream{folder_ / "script.sql"} << script;
    }

    /// Transactions a second, without the time it takes to connect.
    double rate(std::size_t count) const {
        const std::string command =
            "PGOPTIONS='-c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off -c jit=off "
            "-c plan_cache_mode=force_generic_plan' " +
            servers::server::program("pgbench") + " -n -M prepared -c 1 -t " + std::to_string(count) + " -f " +
            (folder_ / "script.sql") + " -h " + on_.folder() + " -p " + std::to_string(on_.port()) + " -U leasehold " +
            in_.name() + " 2>&1";
        const std::string said = output_of(command);
        constexpr std::string_view label = "tps = ";
        const std::size_t at = said.find(label);
        const bool is_whole = said.find(std::to_string(count) + "/" + std::to_string(count)) != std::string::npos;
        if (at == std::string::npos || !is_whole) {
            throw std::runtime_error{"pgbench: " + said};
        }
        return std::stod(said.substr(at + label.size()));
    }

private:
    static std::string output_of(const std::string& command) {
        const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe{::popen(command.c_str(), "r"), ::pclose};
        std::string all;
        std::array<char, 4096> some{};
        while (pipe && std::fgets(some.data(), static_cast<int>(some.size()), pipe.get()) != nullptr) {
            all += some.data();
        }
        return all;
    }

    const servers::server& on_;
    const servers::database& in_;
    places::temporary_folder folder_{};
};

}  // namespace bench
