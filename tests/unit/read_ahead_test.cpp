// SPDX-License-Identifier: MIT
/// A transaction that carries several calls reads candidates ahead: whatever its calls do, each claim takes what it
/// would have taken without.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <leasehold/session.hpp>

#include "support/places.hpp"

namespace {

using namespace places;

/// One open transaction, whose verbs are told how many more calls are to come.
class carrier {
public:
    explicit carrier(std::size_t expected) : expected_{expected}, store_{place_.store()}, open_{attached()} {}

    std::string enqueue(std::int32_t priority, millis delay, std::string_view queue) {
        const job work{.queue = std::string{queue}, .priority = priority, .delay = delay};
        return to_text(verbs().enqueue(std::span{&work, 1}, on_conflict::keep_others, false).front().id);
    }
    std::string claim(std::size_t limit, millis lease_for, std::string_view queue) {
        std::string ids;
        for (lease& taken : verbs().claim("A", lease_for, std::span{&queue, 1}, limit).leases) {
            ids += to_text(taken.id) + ' ';
            held_.push_back(std::move(taken));
        }
        return ids;
    }
    /// Something that becomes of one of the leases, or of any job.
    std::string_view change(unsigned what, std::size_t which) {
        if (what == 0) {
            return to_text(verbs().cancel(job_id{static_cast<std::int64_t>(which) + 1}, {}).why);
        }
        if (held_.empty()) {
            return "none held";
        }
        const marker& round = held_[which % held_.size()];
        switch (what) {
            case 1: return to_text(verbs().finish(round, {}).why);
            case 2: return to_text(verbs().release(round, {}).why);
            case 3: return to_text(verbs().fail(round, "it failed", std::chrono::milliseconds{which % 2}).why);
            default: return to_text(verbs().revoke(round.id, round.token).why);
        }
    }

private:
    detail::session<transaction_of<sqlite_store, manual_clock>> verbs() {
        open_.expect(expected_);
        return detail::session{open_};
    }

    transaction_of<sqlite_store, manual_clock> attached() {
        store_.attach(manual_clock::axis);
        return store_.begin(clock_);
    }

    std::size_t expected_;
    places::rollback_file place_{};
    sqlite_store store_;
    manual_clock clock_{};
    transaction_of<sqlite_store, manual_clock> open_;
    std::vector<lease> held_{};
};

TEST_CASE("what is read ahead is never another row than a look would have found", "[group]") {
    std::minstd_rand random{11};  // NOLINT(cert-msc51-cpp): the same every time
    const auto below = [&](unsigned end) { return static_cast<unsigned>(random() % end); };
    for (int round = 0; round < 40; ++round) {
        carrier ahead{1 + below(6)};
        carrier plain{0};
        for (int job = 0; job < 100; ++job) {  // enough that the line does not run dry
            REQUIRE(ahead.enqueue(job % 3, {}, "default") == plain.enqueue(job % 3, {}, "default"));
        }
        for (int step = 0; step < 120; ++step) {
            INFO("round " << round << ", step " << step);
            const std::string_view queue = below(4) == 0 ? "other" : "default";
            const unsigned what = below(10);
            if (what < 4) {
                const std::size_t limit = 1 + below(3);
                const std::chrono::milliseconds lease_for{1 + below(2)};
                REQUIRE(ahead.claim(limit, lease_for, queue) == plain.claim(limit, lease_for, queue));
            } else if (what < 7) {
                const auto priority = static_cast<std::int32_t>(below(3));
                const std::chrono::milliseconds delay{below(2)};
                REQUIRE(ahead.enqueue(priority, delay, queue) == plain.enqueue(priority, delay, queue));
            } else {
                const unsigned how = below(5);
                const std::size_t which = below(100);
                REQUIRE(ahead.change(how, which) == plain.change(how, which));
            }
        }
    }
}

}  // namespace
