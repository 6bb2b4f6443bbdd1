// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "fuzz/bytes.hpp"
#include "support/files.hpp"
#include "support/hostile_files.hpp"
#include "support/temporary_folder.hpp"

/// Database files to begin with, and what a fuzzer's bytes make of them: raw bytes alone would seldom be more than no
/// database.
namespace fuzz {

/// A file, and what lies beside it.
struct image {
    std::string database{};
    std::string suffix{};  ///< `-wal`, `-journal`, or none
    std::string beside{};
};

inline image wal_image(const std::string& path) {
    SQLite::Database reader{path, SQLite::OPEN_READWRITE};  // the last one to go would clear the log
    return {files::read(path), "-wal", files::read(path + "-wal")};
}

/// In the middle of a transaction of which a part is in the file already.
inline image hot_image(const std::string& path) {
    SQLite::Database writer{path, SQLite::OPEN_READWRITE};
    writer.exec("PRAGMA cache_size = 1; PRAGMA synchronous = FULL; BEGIN IMMEDIATE");
    writer.exec("UPDATE leasehold_job SET lapses = lapses + 1; DELETE FROM leasehold_payload WHERE id % 2 = 0");
    image hot{files::read(path), "-journal", files::read(path + "-journal")};
    writer.exec("ROLLBACK");
    return hot;
}

inline std::vector<image> make_images() {
    using leasehold::journal_mode;
    const places::temporary_folder folder;
    int made = 0;
    const auto fresh = [&](journal_mode journal, int page_size = 512) {
        std::string path = folder / (std::to_string(made++) + ".db");
        hostile::make_good_file(path, journal, page_size);
        return path;
    };
    std::vector<image> all(1);  // the first is nothing but what the input says
    all.push_back({files::read(fresh(journal_mode::rollback))});
    {
        const std::string path = folder / "wal.db";
        hostile::make_good_file(path, journal_mode::wal);
        SQLite::Database writer{path, SQLite::OPEN_READWRITE};
        writer.exec("UPDATE leasehold_job SET lapses = lapses + 1 WHERE state = 1");
        all.push_back(wal_image(path));
    }
    all.push_back(hot_image(fresh(journal_mode::rollback)));
    all.push_back({files::read(fresh(journal_mode::rollback, 4096))});
    for (const char* const change : hostile::schema_changes) {
        const std::string path = fresh(journal_mode::rollback);
        SQLite::Database{path, SQLite::OPEN_READWRITE}.exec(change);
        all.push_back({files::read(path)});
    }
    return all;
}

/// So that what was changed in a write-ahead log is believed. Source: sqlite.org/fileformat2.html, section 4.2.
inline void sign_wal(std::string& log) {
    constexpr std::size_t head = 32;
    constexpr std::size_t frame_head = 24;
    if (log.size() < head) {
        return;
    }
    const auto word = [&](std::size_t at, bool big) {
        std::uint32_t value = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            value |= std::uint32_t{static_cast<std::uint8_t>(log[at + i])} << (8 * (big ? 3 - i : i));
        }
        return value;
    };
    const bool big = (word(0, true) & 1U) != 0;
    const std::size_t page = word(8, true);
    if (page < 512 || page > 65536) {
        return;
    }
    std::uint32_t one = 0;
    std::uint32_t two = 0;
    const auto add = [&](std::size_t at, std::size_t size) {
        for (std::size_t i = 0; i + 8 <= size; i += 8) {
            one += word(at + i, big) + two;
            two += word(at + i + 4, big) + one;
        }
    };
    add(0, 24);
    hostile::put(log, 24, one, 4);
    hostile::put(log, 28, two, 4);
    for (std::size_t at = head; at + frame_head + page <= log.size(); at += frame_head + page) {
        add(at, 8);
        add(at + frame_head, page);
        hostile::put(log, at + 16, one, 4);
        hostile::put(log, at + 20, two, 4);
    }
}

/// One change that a fuzzer asks for.
inline void patch(std::string& file, bytes& in) {
    if (file.empty()) {
        return;
    }
    constexpr std::size_t page = 512;
    const std::size_t pages = file.size() / page + 1;
    const std::size_t at = (in.below(pages) * page + in.below(page)) % file.size();
    switch (in.below(6)) {
        case 0: {
            const std::string_view over = in.text(1 + in.below(24));
            std::copy_n(over.begin(), std::min(over.size(), file.size() - at),
                        file.begin() + static_cast<std::ptrdiff_t>(at));
            break;
        }
        case 1: {
            const std::size_t width = 1U << in.below(3);
            if (at + width <= file.size()) {
                hostile::put(file, at, in.number<std::uint32_t>(), width);
            }
            break;
        }
        case 2: {  // a page over another
            const std::string copied = file.substr(in.below(pages) * page % file.size(), page);
            file.replace(at / page * page, page, copied);
            break;
        }
        case 3: file.resize(at); break;
        case 4: file.append(in.below(4 * page), '\0'); break;
        default: file[at] = static_cast<char>(static_cast<std::uint8_t>(file[at]) ^ (1U << in.below(8))); break;
    }
}

/// The image that the input asks for, with the changes that it asks for.
inline image changed_image(const std::vector<image>& all, bytes& in) {
    image made = all.at(in.below(all.size()));
    if (made.database.empty()) {
        made.database = in.text(in.number<std::uint16_t>());
    }
    for (std::size_t left = in.below(12); left > 0; --left) {
        patch(!made.beside.empty() && in.flag() ? made.beside : made.database, in);
    }
    if (made.suffix == "-wal" && in.flag()) {
        sign_wal(made.beside);
    }
    return made;
}

}  // namespace fuzz
