// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <string>

#include <unistd.h>

#include <leasehold/clock.hpp>
#include <leasehold/process_of.hpp>

namespace leasehold::inline v0_1_0 {

/// Which start of the machine this is, and by whose reckoning the time since then is counted.
struct boot_identity {
    std::string boot_id{};         ///< another after every start; empty where the system does not say it
    std::string time_namespace{};  ///< processes in another one are shown another time; empty where there are none
    friend bool operator==(const boot_identity&, const boot_identity&) = default;
};

namespace detail::sqlite {

/// What a boot clock is made of: the machine that the process runs on. A test has one of its own.
struct this_machine {
    /// Since the machine was started, time asleep included.
    std::chrono::nanoseconds since_boot() const noexcept { return machine_pace().time_since_epoch(); }
    std::chrono::system_clock::time_point wall() const noexcept { return std::chrono::system_clock::now(); }

    /// Of this process. Asked of the system once a thread: no process lives to see another, but its child may.
    const boot_identity& boot() const {
        thread_local process_of asked_in{};
        thread_local boot_identity known = ask();
        if (!asked_in.is_this()) {
            known = ask();
            asked_in = {};
        }
        return known;
    }

private:
    static boot_identity ask() {
        boot_identity found;
#ifdef CLOCK_BOOTTIME  // else time asleep does not count
        std::ifstream{"/proc/sys/kernel/random/boot_id"} >> found.boot_id;
        std::array<char, 64> name{};
        const ::ssize_t size = ::readlink("/proc/self/ns/time", name.data(), name.size());
        found.time_namespace.assign(name.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
#endif
        return found;
    }
};

}  // namespace detail::sqlite
}  // namespace leasehold::inline v0_1_0
