// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <istream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <leasehold/text.hpp>

#include "tsv.hpp"

namespace courier {

/// One line of an order: what shall be delivered once.
struct order_line {
    std::size_t number = 0;     ///< in the file, from 1
    std::string key{};          ///< `<order_id>-<line within the order>`: the business ID
    std::int64_t quantity = 0;  ///< above zero
    std::string text{};         ///< the line as it stands in the file
};

struct bad_line {
    std::size_t number = 0;
    std::string why{};
};

struct orders {
    std::vector<order_line> lines{};
    std::vector<bad_line> bad{};
};

/// Where the columns that matter stand.
struct header {
    std::size_t order_id = 0;
    std::size_t quantity = 0;
    std::size_t item_name = 0;
    std::size_t width = 0;
};

inline std::string quote_not_closed(std::size_t field) {
    return "field " + std::to_string(field) + ": a quote is not closed where its field ends";
}

inline std::optional<header> read_header(const std::string& line, std::string& why) {
    std::size_t wrong = 0;
    const auto read = fields_of(line, wrong);
    if (!read) {
        why = quote_not_closed(wrong);
        return std::nullopt;
    }
    const std::vector<std::string>& names = *read;
    std::string missing;
    header found;
    found.width = names.size();
    const auto locate = [&](std::string_view name, std::size_t& at) {
        const auto here = std::find(names.begin(), names.end(), name);
        at = static_cast<std::size_t>(here - names.begin());
        if (here == names.end()) {
            missing += (missing.empty() ? "" : ", ") + std::string{name};
        }
    };
    locate("order_id", found.order_id);
    locate("quantity", found.quantity);
    locate("item_name", found.item_name);
    if (!missing.empty()) {
        why = "the header lacks " + missing;
        return std::nullopt;
    }
    return found;
}

/// A whole number above zero, in decimal digits alone.
inline std::optional<std::int64_t> positive(std::string_view digits) {
    std::int64_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [stopped, error] = std::from_chars(digits.data(), end, value);
    return error == std::errc{} && stopped == end && value > 0 ? std::optional{value} : std::nullopt;
}

/// Reads order lines with a header. An order whose lines are not contiguous is counted on. Every bad line is named.
inline orders read_orders(std::istream& from) {
    orders all;
    std::optional<header> columns;
    std::map<std::string, std::int64_t> lines_of_order;
    std::int64_t total = 0;
    std::string line;
    for (std::size_t number = 1; std::getline(from, line); ++number) {
        const auto refuse = [&](std::string why) { all.bad.push_back({number, std::move(why)}); };
        if (line.ends_with('\r')) {
            line.pop_back();
        }
        if (!columns) {
            if (number == 1 && line.starts_with("\xEF\xBB\xBF")) {
                line.erase(0, 3);
            }
            std::string why;
            columns = read_header(line, why);
            if (!columns) {
                refuse(why);
                return all;
            }
            continue;
        }
        std::size_t wrong = 0;
        const auto fields = fields_of(line, wrong);
        if (!fields) {
            refuse(quote_not_closed(wrong));
            continue;
        }
        if (fields->size() != columns->width) {
            refuse(std::to_string(fields->size()) + " fields, not " + std::to_string(columns->width));
            continue;
        }
        const std::string& order = (*fields)[columns->order_id];
        const std::string& item = (*fields)[columns->item_name];
        const auto quantity = positive((*fields)[columns->quantity]);
        if (order.empty() || item.empty()) {
            refuse(order.empty() ? "order_id is empty" : "item_name is empty");
            continue;
        }
        if (!quantity) {
            refuse("quantity " + leasehold::detail::readable((*fields)[columns->quantity]) +
                   " is not a positive integer");
            continue;
        }
        if (*quantity > std::numeric_limits<std::int64_t>::max() - total) {
            refuse("the quantities' sum is beyond 64 bits");
            continue;
        }
        const std::string key = order + '-' + std::to_string(lines_of_order[order] + 1);
        if (!leasehold::detail::is_name(key)) {
            refuse("order_id " + leasehold::detail::readable(order) + " is no UTF-8 text of up to 255 bytes");
            continue;
        }
        ++lines_of_order[order];
        total += *quantity;
        all.lines.push_back({number, key, *quantity, line});
    }
    return all;
}

}  // namespace courier
