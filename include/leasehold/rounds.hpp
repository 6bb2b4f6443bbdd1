// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <iterator>
#include <type_traits>
#include <utility>
#include <vector>

#include <leasehold/lease.hpp>
#include <leasehold/marker.hpp>

/// What the batch verbs take: any range of markers, leases, completions, or pointers to the first two.
namespace leasehold::inline v0_1_0::detail {

/// A range whose elements stay where they are while it is walked, and can be seen as a T.
template <class Range, class T>
concept range_of = std::is_lvalue_reference_v<decltype(*std::begin(std::declval<Range&>()))> && requires(Range& range) {
    { *std::begin(range) } -> std::convertible_to<const T&>;
    std::end(range);
};

template <class Range>
concept range_of_markers = range_of<Range, marker>;

template <class Range>
concept range_of_completions = range_of<Range, completion>;

/// A range of pointers to markers or leases, to be changed through.
template <class Range>
concept range_of_pointers = requires(Range& range) {
    { *std::begin(range) } -> std::convertible_to<marker*>;
    std::end(range);
};

template <range_of_markers Range>
std::vector<const marker*> pointers_to(const Range& rounds) {
    std::vector<const marker*> pointers;
    for (const marker& each : rounds) {
        pointers.push_back(&each);
    }
    return pointers;
}

}  // namespace leasehold::inline v0_1_0::detail
