// SPDX-License-Identifier: MIT
#include "failing_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

thread_local long allocations_left = -1;

void* operator new(std::size_t size) {
    if (allocations_left == 0) {
        allocations_left = -1;
        throw std::bad_alloc{};
    }
    allocations_left -= allocations_left > 0 ? 1 : 0;
    if (void* const made = std::malloc(size == 0 ? 1 : size)) {
        return made;
    }
    throw std::bad_alloc{};
}

void operator delete(void* gone) noexcept { std::free(gone); }
void operator delete(void* gone, std::size_t) noexcept { std::free(gone); }
