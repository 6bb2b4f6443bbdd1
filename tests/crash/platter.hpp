// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "crash/recorded_disk.hpp"
#include "support/files.hpp"

namespace crash {

/// Which of the changes that were not synced a power cut leaves, in the order in which they were asked for.
enum class survival : std::uint8_t {
    none,
    all,
    all_but_last,
    only_last,
    prefix,
    torn,  ///< a prefix whose last sector is half old, half new
    some,  ///< any of them
};

constexpr std::array every_survival{survival::none,   survival::all,  survival::all_but_last, survival::only_last,
                                    survival::prefix, survival::torn, survival::some};

constexpr std::string_view to_text(survival which) noexcept {
    constexpr std::array<std::string_view, 7> names{"none", "all", "all but the last", "only the last", "prefix",
                                                    "torn", "some"};
    return names.at(static_cast<std::size_t>(which));
}

/// What is found in a folder after a cut: files and folders by their paths in it.
struct image {
    std::map<std::string, std::string> files{};
    std::vector<std::string> folders{};  ///< outer ones first

    void write_to(const std::filesystem::path& empty_folder) const {
        for (const std::string& name : folders) {
            std::filesystem::create_directory(empty_folder / name);
        }
        for (const auto& [name, bytes] : files) {
            files::write(empty_folder / name, bytes);
        }
    }
};

inline std::size_t hash_of(const image& seen) {
    std::size_t sum = 0;
    for (const std::string& name : seen.folders) {
        sum = sum * 31 + std::hash<std::string>{}(name);
    }
    for (const auto& [name, bytes] : seen.files) {
        sum = (sum * 31 + std::hash<std::string>{}(name)) * 31 + std::hash<std::string>{}(bytes);
    }
    return sum;
}

/// What is on the disk for good, and what may be there: the model of a disk that loses, at a power cut, any part of
/// what was not synced. A file's bytes and length last once the file is synced; its name lasts once its folder is,
/// whatever became of the file. Until then each sector and each name is there or not, whatever the order was, and a
/// length may have grown before its bytes came.
class platter {
public:
    using random = std::mt19937_64;

    void apply(const disk_event& event) {
        std::visit([this](const auto& what) { take(what); }, event);
    }

    std::size_t pending() const noexcept { return pending_.size(); }

    image after_cut(survival which, random& chance) const {
        platter left;
        left.lasting_ = lasting_;
        const std::vector<fate> fates = decided(which, chance);
        for (std::size_t i = 0; i < pending_.size(); ++i) {
            if (fates[i] == fate::kept) {
                left.perform(pending_[i].what);
            } else if (fates[i] == fate::torn) {
                left.perform(torn(pending_[i].what));
            } else if (which == survival::some || which == survival::prefix) {
                left.grow_without_bytes(pending_[i].what, chance);
            }
        }
        image seen;
        left.list(0, "", seen, chance);
        return seen;
    }

private:
    static constexpr std::size_t sector = 512;

    enum class fate : std::uint8_t { lost, kept, torn };
    using change = std::variant<bytes_written, cut_to_length, entry_made, entry_removed>;
    struct pending_change {
        node of{};  ///< whose sync makes it last
        change what{};
    };
    struct named_node {
        node which{};
        bool is_folder = false;
    };
    struct contents {
        std::map<node, std::string> files{};
        std::map<node, std::map<std::string, named_node>> folders{};
    };

    void take(const bytes_written& what) {
        for (std::size_t at = 0; at < what.bytes.size();) {
            const std::size_t length = std::min(sector - (what.offset + at) % sector, what.bytes.size() - at);
            pending_.push_back({what.file, bytes_written{what.file, what.offset + at, what.bytes.substr(at, length)}});
            at += length;
        }
    }
    void take(const cut_to_length& what) { pending_.push_back({what.file, what}); }
    void take(const entry_made& what) { pending_.push_back({what.folder, what}); }
    void take(const entry_removed& what) { pending_.push_back({what.folder, what}); }
    void take(const synced& done) {
        settle(done.what, [] { return true; });
    }
    void take(const sync_failed& failed) {
        random chance{failed.chance};
        settle(failed.what, [&] { return chance() % 2 == 0; });
    }

    template <class Reaches>
    void settle(node which, const Reaches& reaches_the_disk) {
        const auto mine = std::stable_partition(pending_.begin(), pending_.end(),
                                                [which](const pending_change& each) { return each.of != which; });
        std::for_each(mine, pending_.end(), [&](const pending_change& each) {
            if (reaches_the_disk()) {
                perform(each.what);
            }
        });
        pending_.erase(mine, pending_.end());
    }

    void perform(const change& what) {
        std::visit([this](const auto& known) { make(known); }, what);
    }
    void make(const bytes_written& what) {
        std::string& file = lasting_.files[what.file];
        file.resize(std::max(file.size(), what.offset + what.bytes.size()));
        file.replace(what.offset, what.bytes.size(), what.bytes);
    }
    void make(const cut_to_length& what) { lasting_.files[what.file].resize(what.length); }
    void make(const entry_made& what) { lasting_.folders[what.folder][what.name] = {what.named, what.is_folder}; }
    void make(const entry_removed& what) { lasting_.folders[what.folder].erase(what.name); }

    static change torn(const change& what) {
        change half = what;
        if (auto* const bytes = std::get_if<bytes_written>(&half)) {
            bytes->bytes.resize(bytes->bytes.size() / 2);
        }
        return half;
    }

    /// The file system has noted the new length, and whatever was on the disk there before is the file's now.
    void grow_without_bytes(const change& what, random& chance) {
        const auto* const bytes = std::get_if<bytes_written>(&what);
        if (bytes == nullptr || bytes->offset < lasting_.files[bytes->file].size() || chance() % 2 == 0) {
            return;
        }
        std::string garbage(bytes->bytes.size(), '\0');
        if (chance() % 2 == 0) {
            std::generate(garbage.begin(), garbage.end(), [&] { return static_cast<char>(chance()); });
        }
        make(bytes_written{bytes->file, bytes->offset, garbage});
    }

    static const std::string& garbage_of_a_page() {
        static const std::string bytes = [] {
            random chance;
            std::string made(32768, '\0');
            std::generate(made.begin(), made.end(), [&] { return static_cast<char>(chance()); });
            return made;
        }();
        return bytes;
    }

    std::vector<fate> decided(survival which, random& chance) const {
        const std::size_t count = pending_.size();
        std::vector<fate> fates(count,
                                which == survival::all || which == survival::all_but_last ? fate::kept : fate::lost);
        if (count == 0) {
            return fates;
        }
        switch (which) {
            case survival::none:
            case survival::all: break;
            case survival::all_but_last: fates.back() = fate::lost; break;
            case survival::only_last: fates.back() = fate::kept; break;
            case survival::prefix:
            case survival::torn: {
                const auto end = static_cast<std::ptrdiff_t>(chance() % count);
                std::fill(fates.begin(), fates.begin() + end, fate::kept);
                fates[static_cast<std::size_t>(end)] = which == survival::torn ? fate::torn : fate::lost;
                break;
            }
            case survival::some:
                std::generate(fates.begin(), fates.end(), [&] { return chance() % 2 == 0 ? fate::kept : fate::lost; });
                break;
        }
        return fates;
    }

    void list(node folder, const std::string& prefix, image& seen, random& chance) const {
        const auto entries = lasting_.folders.find(folder);
        if (entries == lasting_.folders.end()) {
            return;
        }
        for (const auto& [name, named] : entries->second) {
            if (named.is_folder) {
                seen.folders.push_back(prefix + name);
                list(named.which, prefix + name + "/", seen, chance);
                continue;
            }
            std::string& bytes = seen.files[prefix + name];
            if (name.ends_with("-shm")) {  // shared memory: written past what is watched here, and never synced
                bytes = chance() % 2 == 0 ? "" : garbage_of_a_page();
            } else if (const auto found = lasting_.files.find(named.which); found != lasting_.files.end()) {
                bytes = found->second;
            }
        }
    }

    contents lasting_{};
    std::vector<pending_change> pending_{};
};

}  // namespace crash
