// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <leasehold/sqlite/boot_clock.hpp>

/// A machine whose clocks a test sets, and which it starts anew: what a boot clock is made of. A handle.
class made_up_machine {
public:
    explicit made_up_machine(leasehold::instant wall) { now_->wall = wall; }

    // What a boot clock asks of it.
    std::chrono::nanoseconds since_boot() const noexcept { return now_->since_boot; }
    std::chrono::system_clock::time_point wall() const noexcept { return now_->wall; }
    const leasehold::boot_identity& boot() const noexcept { return now_->boot; }

    /// Awake or asleep.
    void pass(std::chrono::nanoseconds time) const {
        now_->since_boot += time;
        now_->wall += time;
    }
    void step_wall(std::chrono::milliseconds by) const { now_->wall += by; }
    void set_wall(leasehold::instant to) const { now_->wall = to; }
    /// Off, and some milliseconds after its start the wall clock shows `wall`.
    void start_again(leasehold::instant wall) const {
        now_->boot.boot_id = "boot " + std::to_string(++now_->starts);
        now_->since_boot = std::chrono::milliseconds{7};
        now_->wall = wall;
    }
    void enter(const std::string& time_namespace) const { now_->boot.time_namespace = time_namespace; }
    void forget_its_boot() const { now_->boot.boot_id.clear(); }

private:
    struct state {
        std::chrono::nanoseconds since_boot = std::chrono::hours{100};
        std::chrono::sys_time<std::chrono::nanoseconds> wall{};
        leasehold::boot_identity boot{"boot 1", "namespace 1"};
        int starts = 1;
    };
    std::shared_ptr<state> now_ = std::make_shared<state>();
};
