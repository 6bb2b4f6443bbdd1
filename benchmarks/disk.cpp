// SPDX-License-Identifier: MIT
/// The disk's own limit: how often a second a block of 4 KiB can be written and synced, appended to a file and in place
/// of one that is there. No durable commit is faster.
#include <array>
#include <cstddef>
#include <iterator>
#include <stdexcept>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "comparison.hpp"
#include "measuring.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace bench;

constexpr std::size_t writes = 1000;
constexpr std::array<char, 4096> block{'x'};

class synced_file {
public:
    explicit synced_file(const std::string& path) : descriptor_{::open(path.c_str(), O_CREAT | O_WRONLY, 0600)} {}
    synced_file(const synced_file&) = delete;
    synced_file& operator=(const synced_file&) = delete;
    ~synced_file() { ::close(descriptor_); }

    void write_at(off_t at) const {
        if (::pwrite(descriptor_, block.data(), block.size(), at) != static_cast<ssize_t>(block.size()) ||
            ::fdatasync(descriptor_) != 0) {
            throw std::runtime_error{"the disk does not take a block"};
        }
    }

private:
    int descriptor_;
};

void measure_disk(figures& to) {
    const places::temporary_folder folder;
    const synced_file appended{folder / "appended"};
    const synced_file overwritten{folder / "overwritten"};
    off_t end = 0;
    const auto append = [&] {
        return rate_of(writes, [&] {
            for (std::size_t i = 0; i < writes; ++i, end += ssize(block)) {
                appended.write_at(end);
            }
        });
    };
    const auto overwrite = [&] {
        return rate_of(writes, [&] {
            for (std::size_t i = 0; i < writes; ++i) {
                overwritten.write_at(0);
            }
        });
    };
    const auto rates = in_turn<double>(5, {append, overwrite});
    to["fdatasync_append_per_second"] = median(rates[0]);
    to["fdatasync_overwrite_per_second"] = median(rates[1]);
}

const bool registered = measured_once({{"disk", measure_disk}});

}  // namespace
