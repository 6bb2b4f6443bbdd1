// SPDX-License-Identifier: MIT
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace places {

/// A folder that goes with the object.
class temporary_folder {
public:
    explicit temporary_folder(const std::filesystem::path& in = std::filesystem::temp_directory_path()) {
        std::string made = (in / "leasehold-XXXXXX").string();
        if (::mkdtemp(made.data()) == nullptr) {
            throw std::runtime_error{"no temporary folder"};
        }
        path_ = made;
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    std::string operator/(const std::string& name) const { return (path_ / name).string(); }
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_{};
};

}  // namespace places
