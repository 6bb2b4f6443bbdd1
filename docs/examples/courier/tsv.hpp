// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace courier {

/// The fields of one line of tab-separated values. A field that begins with a quote goes on to the quote that ends it,
/// tabs included; two quotes inside stand for one. Nothing where a quote is never closed, or is followed by more:
/// `wrong` is the number of that field, from 1.
inline std::optional<std::vector<std::string>> fields_of(std::string_view line, std::size_t& wrong) {
    std::vector<std::string> fields(1);
    std::size_t at = 0;
    while (at < line.size()) {
        std::string& field = fields.back();
        if (line[at] == '"' && field.empty()) {
            for (++at;; ++at) {
                if (at == line.size()) {
                    wrong = fields.size();
                    return std::nullopt;
                }
                if (line[at] == '"' && line.substr(at, 2) != "\"\"") {
                    ++at;
                    break;
                }
                at += line[at] == '"' ? 1U : 0U;
                field += line[at];
            }
            if (at < line.size() && line[at] != '\t') {
                wrong = fields.size();
                return std::nullopt;
            }
        } else if (line[at] != '\t') {
            field += line[at++];
            continue;
        }
        if (at < line.size()) {  // at a tab
            fields.emplace_back();
            ++at;
        }
    }
    return fields;
}

}  // namespace courier
