// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <leasehold/job.hpp>
#include <leasehold/marker.hpp>

/// A few workers at a few jobs, small enough to be kept a million times. Instants are ticks from now; of what has
/// passed only the order is kept, so that a clock may tick as often as it likes.
namespace interleaving {

using namespace leasehold;

inline constexpr std::size_t most_workers = 3;
inline constexpr std::size_t most_jobs = 2;
inline constexpr std::array<std::string_view, most_workers> names{"A", "B", "C"};

/// A marker that a worker has; none where the token is 0.
struct hand {
    std::int8_t job = 0;
    std::int8_t token = 0;
    std::int8_t attempt = 0;
    std::int8_t until = 0;
};

struct worker {
    hand round{};  ///< the one it works on
    hand old{};    ///< the one before, which it has not forgotten: across a crash, under the same name, for one
};

struct small_row {
    std::int8_t state = 0;
    std::int8_t owner = -1;
    std::int8_t token = 0;
    std::int8_t attempt = 0;
    std::int8_t until = 0;
    std::int8_t waits = 0;
    std::int8_t vests_at = 0;
    friend bool operator==(const small_row&, const small_row&) = default;
};

enum class phase : std::int8_t { free, held, finished, set_aside };

/// What the answers alone say of a job.
struct hearsay {
    phase now = phase::free;
    std::int8_t token = 0;  ///< of the last round that was granted
    std::int8_t until = 0;  ///< while held: its end, as last told
    /// While free: from when on, at the latest, it may be taken.
    std::int8_t free_from = 0;
};

struct small_world {
    std::array<worker, most_workers> workers{};
    std::array<small_row, most_jobs> rows{};
    std::array<hearsay, most_jobs> heard{};

    std::string_view bytes() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }

    /// One tick later.
    void tick() {
        each_instant([](std::int8_t& at) { --at; });
        keep_order_of_past();
    }

    /// What has passed becomes -1, -2 and so on, in its order.
    void keep_order_of_past() {
        std::array<std::int8_t, 4 * most_workers + 4 * most_jobs> past{};
        auto end = past.begin();
        each_instant([&](std::int8_t& at) {
            if (at < 0) {
                *end++ = at;
            }
        });
        std::sort(past.begin(), end);
        end = std::unique(past.begin(), end);
        each_instant([&](std::int8_t& at) {
            if (at < 0) {
                at = static_cast<std::int8_t>(std::lower_bound(past.begin(), end, at) - end);
            }
        });
    }

private:
    template <class Visit>
    void each_instant(const Visit& visit) {
        for (worker& each : workers) {
            for (hand* const h : {&each.round, &each.old}) {
                if (h->token != 0) {
                    visit(h->until);
                }
            }
        }
        for (small_row& row : rows) {
            if (row.state == static_cast<std::int8_t>(job_state::ready)) {
                visit(row.vests_at);
            } else if (row.state == static_cast<std::int8_t>(job_state::leased)) {
                visit(row.until);
                visit(row.vests_at);
            }
        }
        for (hearsay& each : heard) {
            if (each.now == phase::held) {
                visit(each.until);
            } else if (each.now == phase::free) {
                visit(each.free_from);
            }
        }
    }
};

static_assert(std::has_unique_object_representations_v<small_world>, "compared and hashed by its bytes");

/// What may happen next: to one of the workers, or to a job.
enum class act : std::uint8_t {
    tick,
    claim,
    finish,
    renew,  ///< it remembers the marker from before as the old one
    fail,
    release,
    crash,  ///< and starts again under the same name, with the marker found in its notes
    finish_old,
    renew_old,
    fail_old,
    release_old,
    revoke,  ///< by an operator
};

inline constexpr std::array<std::string_view, 12> act_names{"the clock ticks",
                                                            "claims",
                                                            "finishes",
                                                            "renews",
                                                            "fails",
                                                            "releases",
                                                            "crashes",
                                                            "finishes with the old marker",
                                                            "renews the old",
                                                            "fails with the old marker",
                                                            "releases the old",
                                                            "is revoked"};

}  // namespace interleaving
