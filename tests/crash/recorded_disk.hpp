// SPDX-License-Identifier: MIT
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <sys/stat.h>

#include "system_calls.hpp"

namespace crash {

using node = std::size_t;  ///< a file or a folder: what an entry names

/// What changed on the disk, in the order in which it was asked for.
struct bytes_written {
    node file{};
    std::size_t offset = 0;
    std::string bytes{};
};
struct cut_to_length {
    node file{};
    std::size_t length = 0;
};
struct entry_made {
    node folder{};
    std::string name{};
    node named{};
    bool is_folder = false;
};
struct entry_removed {
    node folder{};
    std::string name{};
};
struct synced {
    node what{};
};
/// The kernel answered an error, and takes for clean what it had for the file: some of it reached the disk.
struct sync_failed {
    node what{};
    std::uint64_t chance = 0;
};
using disk_event = std::variant<bytes_written, cut_to_length, entry_made, entry_removed, synced, sync_failed>;

/// Watches everything that is done below a folder, which must be empty, and writes it down. For one thread.
class recorded_disk : public onlooker {
public:
    explicit recorded_disk(const std::filesystem::path& below) { know(below, 0); }

    const std::vector<disk_event>& events() const noexcept { return events_; }
    /// Of files.
    std::size_t syncs() const noexcept { return syncs_; }

    /// Answers EIO to the sync of a file after so many, once. (Of a folder SQLite ignores it.)
    void fail_sync(std::size_t after, std::uint64_t chance) {
        failing_ = syncs_ + after;
        chance_ = chance;
    }
    bool has_failed() const noexcept { return has_failed_; }

    int before(const system_call& call) override {
        if (call.what != system_call::kind::sync) {
            return 0;
        }
        const std::optional<node> what = known(call.descriptor);
        if (!what || is_folder(call.descriptor) || syncs_++ != failing_) {
            return 0;
        }
        has_failed_ = true;
        events_.emplace_back(sync_failed{*what, chance_});
        return EIO;
    }

    void after(const system_call& call) override {
        using kind = system_call::kind;
        switch (call.what) {
            case kind::open:
                if (call.is_made) {
                    made(call.path, false);
                }
                break;
            case kind::make_folder: made(call.path, true); break;
            case kind::link:
                if (const std::optional<node> file = known(call.path)) {
                    add_entry(call.path, *file, false);
                }
                break;
            case kind::remove:
            case kind::remove_folder: removed(call.descriptor, call.path); break;
            case kind::write:
                if (const std::optional<node> file = known(call.descriptor)) {
                    events_.emplace_back(bytes_written{*file,
                                                       static_cast<std::size_t>(call.offset),
                                                       {static_cast<const char*>(call.bytes), call.size}});
                }
                break;
            case kind::truncate:
                if (const std::optional<node> file = known(call.descriptor)) {
                    events_.emplace_back(cut_to_length{*file, static_cast<std::size_t>(call.offset)});
                }
                break;
            case kind::sync:
                if (const std::optional<node> what = known(call.descriptor)) {
                    events_.emplace_back(synced{*what});
                }
                break;
            case kind::lock: break;
        }
    }

private:
    using identity = std::pair<dev_t, ino_t>;

    static std::optional<identity> identity_of(int answer, const struct stat& found) {
        return answer == 0 ? std::optional{identity{found.st_dev, found.st_ino}} : std::nullopt;
    }
    std::optional<node> known(const std::optional<identity>& which) const {
        const auto found = which ? nodes_.find(*which) : nodes_.end();
        return found == nodes_.end() ? std::nullopt : std::optional{found->second};
    }
    static bool is_folder(int descriptor) {
        struct stat found {};
        return ::fstat(descriptor, &found) == 0 && S_ISDIR(found.st_mode);
    }
    std::optional<node> known(int descriptor) const {
        struct stat found {};
        return known(identity_of(::fstat(descriptor, &found), found));
    }
    std::optional<node> known(const std::filesystem::path& path) const {
        struct stat found {};
        return known(identity_of(::stat(path.c_str(), &found), found));
    }
    void know(const std::filesystem::path& path, node as) {
        struct stat found {};
        if (const auto which = identity_of(::stat(path.c_str(), &found), found)) {
            nodes_[*which] = as;  // a number that is used again is another file from here on
        }
    }

    void made(const std::filesystem::path& path, bool is_folder) {
        if (known(path.parent_path())) {
            know(path, ++last_);
            add_entry(path, last_, is_folder);
        }
    }
    void add_entry(const std::filesystem::path& path, node named, bool is_folder) {
        if (const std::optional<node> folder = known(path.parent_path())) {
            events_.emplace_back(entry_made{*folder, path.filename().string(), named, is_folder});
        }
    }
    void removed(int from, const std::filesystem::path& path) {
        if (const std::optional<node> folder = path.has_parent_path() ? known(path.parent_path()) : known(from)) {
            events_.emplace_back(entry_removed{*folder, path.filename().string()});
        }
    }

    std::map<identity, node> nodes_{};
    node last_ = 0;
    std::vector<disk_event> events_{};
    std::size_t syncs_ = 0;
    std::optional<std::size_t> failing_{};
    std::uint64_t chance_ = 0;
    bool has_failed_ = false;
};

}  // namespace crash
