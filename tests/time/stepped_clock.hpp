// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>

#include <sys/mman.h>

#include <leasehold/clock.hpp>

/// A value that every process forked since it was made shares with this one.
template <class T>
std::shared_ptr<T> shared_with_children() {
    void* const memory = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        throw std::runtime_error{"no shared memory"};
    }
    return {new (memory) T{}, [](T* there) { ::munmap(there, sizeof(T)); }};
}

/// The system's clock with an offset that anybody may change, for all processes at once: a wall clock that is stepped
/// without touching the machine's. Its pace is the machine's, which no step moves. A handle.
class stepped_clock {
public:
    static constexpr leasehold::clock_axis axis = leasehold::clock_axis::wall;
    static constexpr leasehold::reach holds = leasehold::reach::network;  // all who use it here are on one machine

    std::chrono::system_clock::time_point now() const {
        return std::chrono::system_clock::now() + std::chrono::milliseconds{offset_->load()};
    }
    auto pace() const noexcept { return leasehold::wall_clock{}.pace(); }

    void step(leasehold::millis by) const { *offset_ += by.count(); }
    leasehold::millis offset() const { return std::chrono::milliseconds{offset_->load()}; }

private:
    std::shared_ptr<std::atomic<std::int64_t>> offset_ = shared_with_children<std::atomic<std::int64_t>>();
};

static_assert(leasehold::local_clock<stepped_clock>);
