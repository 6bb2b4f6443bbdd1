// SPDX-License-Identifier: MIT
#include "failing_new.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

thread_local long allocations_left = -1;

namespace {

void* allocated(std::size_t size) noexcept {
    if (allocations_left == 0) {
        allocations_left = -1;
        return nullptr;
    }
    allocations_left -= allocations_left > 0 ? 1 : 0;
    return std::malloc(size == 0 ? 1 : size);
}

void* allocated_or_thrown(std::size_t size) {
    if (void* const made = allocated(size)) {
        return made;
    }
    throw std::bad_alloc{};
}

}  // namespace

// All of a kind: a sanitizer has its own for each that is left out.
void* operator new(std::size_t size) { return allocated_or_thrown(size); }
void* operator new[](std::size_t size) { return allocated_or_thrown(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocated(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocated(size); }
void operator delete(void* gone) noexcept { std::free(gone); }
void operator delete[](void* gone) noexcept { std::free(gone); }
void operator delete(void* gone, std::size_t) noexcept { std::free(gone); }
void operator delete[](void* gone, std::size_t) noexcept { std::free(gone); }
void operator delete(void* gone, const std::nothrow_t&) noexcept { std::free(gone); }
void operator delete[](void* gone, const std::nothrow_t&) noexcept { std::free(gone); }
