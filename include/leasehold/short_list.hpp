// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace leasehold::inline v0_1_0::detail {

/// Room for as many values as it is made for. Most calls are about one job: room for one takes no memory.
template <class T>
class short_list {
public:
    explicit short_list(std::size_t size) : many_(size > 1 ? size : 0), all_{size > 1 ? many_.data() : &one_, size} {}
    short_list(const short_list&) = delete;
    short_list& operator=(const short_list&) = delete;
    ~short_list() = default;

    std::span<T> all() noexcept { return all_; }

private:
    T one_{};
    std::vector<T> many_;
    std::span<T> all_;
};

}  // namespace leasehold::inline v0_1_0::detail
