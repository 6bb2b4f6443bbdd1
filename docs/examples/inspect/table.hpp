// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <cwchar>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/text.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

/// What a person reads: nothing from the store reaches the terminal but through `shown`.
namespace inspect {

using leasehold::instant;
using leasehold::millis;
using leasehold::saturating_subtract;

/// The width of a line that goes nowhere narrow.
inline constexpr std::size_t unlimited = std::size_t{1} << 20U;

/// How many columns a character takes, and how many bytes it is of.
struct character {
    std::size_t bytes = 1;
    std::size_t columns = 1;
};

inline character first_of(std::string_view text) {
    wchar_t wide = 0;
    std::mbstate_t state{};
    const std::size_t bytes = std::mbrtowc(&wide, text.data(), text.size(), &state);
    if (bytes == 0 || bytes > text.size()) {
        return {};
    }
    return {bytes, static_cast<std::size_t>(std::max(::wcwidth(wide), 0))};
}

inline std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        const character next = first_of(text);
        columns += next.columns;
        text.remove_prefix(next.bytes);
    }
    return columns;
}

/// As much of a text as fits, with a mark where that is not all of it.
inline std::string cut(std::string_view text, std::size_t columns) {
    if (columns_of(text) <= columns) {
        return std::string{text};
    }
    std::string part;
    for (std::size_t left = columns - std::min<std::size_t>(columns, 1); !text.empty();) {
        const character next = first_of(text);
        if (next.columns > left) {
            break;
        }
        left -= next.columns;
        part += text.substr(0, next.bytes);
        text.remove_prefix(next.bytes);
    }
    return columns == 0 ? "" : part + "…";
}

/// Bytes of anybody's, for a terminal: what could turn or break the line stands as an escape.
inline std::string shown(std::string_view bytes, std::size_t columns = unlimited) {
    constexpr std::size_t most_looked_at = 8192;
    return cut(leasehold::detail::readable(bytes.substr(0, most_looked_at)), columns);
}

/// Words of a program's own, such as an error's: as they are, unless something in them is not for a terminal.
inline std::string prose(std::string_view words) {
    for (std::string_view rest = words; !rest.empty();) {
        const std::size_t length = leasehold::detail::sequence_length(rest);
        if (length == 0 || leasehold::detail::is_unprintable(rest.substr(0, length))) {
            return shown(words);
        }
        rest.remove_prefix(length);
    }
    return std::string{words};
}

/// `12.4 s`, `3 min`, `5 d`: as exact as a glance is.
inline std::string shown(millis length) {
    struct unit {
        std::int64_t ms;
        const char* name;
    };
    constexpr std::array units{unit{86'400'000, " d"}, unit{3'600'000, " h"}, unit{60'000, " min"}};
    const std::int64_t ms = length.count();
    for (const unit& each : units) {
        if (ms >= 2 * each.ms) {
            return std::to_string(ms / each.ms) + each.name;
        }
    }
    return ms < 1000 ? std::to_string(ms) + " ms"
                     : std::to_string(ms / 1000) + '.' + std::to_string(ms % 1000 / 100) + " s";
}

/// `12.4 s ago`, or `in 3 min`.
inline std::string shown(instant at, instant now) {
    return now < at ? "in " + shown(saturating_subtract(at, now)) : shown(saturating_subtract(now, at)) + " ago";
}

/// `2026-12-03 06:05:12.345 UTC`; the milliseconds of the epoch where there is no such date.
inline std::string date(instant at) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(at);
    const std::time_t count = seconds.time_since_epoch().count();
    std::tm parts{};
    std::array<char, 64> text{};
    if (::gmtime_r(&count, &parts) == nullptr || parts.tm_year > 8099 || parts.tm_year < -1900 ||
        std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts) == 0) {
        return leasehold::to_text(at) + " ms";
    }
    std::array<char, 8> fraction{};
    std::snprintf(fraction.data(), fraction.size(), ".%03d", static_cast<int>((at - seconds).count()));
    return std::string{text.data()} + fraction.data() + " UTC";
}

/// Columns that are as wide as what they hold. The last one may be as long as it likes.
class table {
public:
    struct column {
        std::string title{};
        bool is_number = false;
    };

    explicit table(std::vector<column> columns) : columns_{std::move(columns)} {
        std::vector<std::string> titles;
        for (const column& each : columns_) {
            titles.push_back(each.title);
        }
        add(std::move(titles));
    }

    void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    /// Belongs to the row above.
    void add_below(const std::string& line) { rows_.push_back({"    " + line}); }

    std::vector<std::string> lines() const {
        std::vector<std::size_t> widths(columns_.size());
        for (const auto& row : rows_) {
            for (std::size_t i = 0; row.size() == columns_.size() && i < row.size(); ++i) {
                widths[i] = std::max(widths[i], columns_of(row[i]));
            }
        }
        std::vector<std::string> all;
        for (const auto& row : rows_) {
            all.push_back(line_of(row, widths));
        }
        return all;
    }

private:
    std::string line_of(const std::vector<std::string>& row, const std::vector<std::size_t>& widths) const {
        std::string line = " ";
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::size_t width = row.size() == widths.size() ? widths[i] : 0;
            const std::string fill(width - std::min(width, columns_of(row[i])), ' ');
            line += ' ' + (columns_[i].is_number ? fill + row[i] : row[i] + fill) + ' ';
        }
        line.erase(line.find_last_not_of(' ') + 1);
        return line;
    }

    std::vector<column> columns_;
    std::vector<std::vector<std::string>> rows_{};
};

}  // namespace inspect
