// SPDX-License-Identifier: MIT
/// Processes that are killed while their calls are under way at a server.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>

#include "crash/busy_thread.hpp"
#include "crash/condemned.hpp"
#include "crash/inquest.hpp"
#include "postgres/place.hpp"
#include "support/soak.hpp"

namespace {

using namespace places;
using crash::notes;

/// A database on which one process after another is killed.
class scene {
public:
    explicit scene(std::uint64_t from) : chance_{from} {}

    /// Throws what is wrong afterwards.
    void kill_a_worker() {
        notes told;
        const std::uint64_t from = chance_();
        const std::uint64_t first = ++runs_ * 10'000;
        const bool is_full = before_.size() > 40;
        // To connect takes a while; what it is killed at then is its work.
        const crash::sentence how{.after = std::chrono::microseconds{chance_() % 50'000}, .is_answered_first = true};
        crash::condemned worker{how, told, [&] {
                                    const auto queue = opened();
                                    crash::work_on(*queue, told, first, is_full, from);
                                }};
        counts.kills += worker.was_killed() ? 1U : 0U;
        counts.add(told);
        look_after(told);
    }

    crash::kill_counts counts{};

private:
    std::unique_ptr<postgres_lease_queue> opened() const {
        return std::make_unique<postgres_lease_queue>(place_.store({.busy_timeout = 30s, .answer_timeout = 40s}));
    }

    /// What the dead had under way ends when the server has noticed.
    void await_the_servers_end_of_it() {
        servers::client by = place_.caller();
        while (by.number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                         "AND pid <> pg_backend_pid() AND backend_type = 'client backend'") > 0) {
            std::this_thread::sleep_for(1ms);
        }
    }

    void look_after(const notes& told) {
        await_the_servers_end_of_it();
        const auto queue = opened();
        const crash::rows after = crash::all_of(*queue);
        if (const std::string fault = crash::inquest{before_, after, told}.fault(); !fault.empty()) {
            throw std::runtime_error{fault};
        }
        // The dead hold nothing for long: whoever comes next shall find work.
        for (const auto& [id, row] : after) {
            if (row.state == job_state::leased) {
                CHECK(queue->revoke(id, row.token));
            }
        }
        queue->prune({});
        before_ = crash::all_of(*queue);
    }

    postgres place_{};
    std::mt19937_64 chance_;
    std::uint64_t runs_ = 0;
    crash::rows before_{};
};

TEST_CASE(
    "a process that is killed has done what it was told was done, and of the rest each call whole or not at all "
    "- postgres",
    "[crash]") {
    const std::uint64_t from = seed();
    INFO("LEASEHOLD_SEED=" << from);
    scene at{from};
    while (at.counts.kills < soak(200) / crash::share) {
        INFO("kill " << at.counts.kills);
        at.kill_a_worker();
    }
    CHECK(at.counts.under_way > at.counts.kills / 2);  // else they were killed at no work
    CHECK(at.counts.acknowledged > at.counts.kills);
    std::cout << "figure: postgres kill at work: " << at.counts;
}

}  // namespace
