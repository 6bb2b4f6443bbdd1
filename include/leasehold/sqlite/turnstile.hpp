// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <sys/file.h>

#include <leasehold/sqlite/futex.hpp>
#include <leasehold/sqlite/gate_file.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// Where processes stand in line before they ask for the database's lock: the engine itself gives that to whoever asks
/// at the right moment, and some processes never do.
///
/// It only orders. Whose turn it is has the file lock of the gate, which ends with its process. Who leaves wakes the
/// one that has waited longest, and stands behind it when it comes again, or it would be faster every time. The wait is
/// bounded, and a turn that does not end is passed over by all, until it ends: what protects is the database's lock
/// alone. One thread uses the object at a time.
class turnstile {
public:
    using clock = std::chrono::steady_clock;

    /// How often one looks who waits in line: nobody is woken by a process that was killed.
    static constexpr std::chrono::milliseconds between_looks{100};

    explicit turnstile(const std::string& database) : gate_{database} {}

    /// Waits for the turn, but not longer than until then. Whether it was had; the caller may go on in any case.
    bool enter(clock::time_point until) noexcept {
        bool behind = true;  // whom it has woken, if that one had no turn yet
        std::optional<std::uint32_t> seen;
        clock::time_point changed{};
        while (gate_.look()) {
            const std::uint32_t turns = gate_.word(gate_word::turns);
            behind = behind && turns == handed_over_;
            if (!behind && try_lock(turns)) {
                return true;
            }
            const auto now = clock::now();
            if (turns != seen) {
                seen = turns;
                changed = now;
            }
            if (now - changed >= longest_turn) {
                passed_over_ = turns;
            }
            if (turns == passed_over_ || now >= until) {
                return false;
            }
            sleep(turns, until - now);
            behind = false;
        }
        return false;
    }

    /// Ends the turn, if it was had.
    void leave() noexcept {
        if (!turn_) {
            return;
        }
        ::flock(gate_.descriptor(), LOCK_UN);
        const long woken = futex_step(gate_.address(gate_word::turns));
        handed_over_ = woken > 0 ? std::optional{*turn_ + 1} : std::nullopt;
        turn_.reset();
        if (woken < 0) {
            gate_.close();
        }
    }

private:
    /// A turn that lasts longer is not waited for: its process was stopped, or has a long transaction, and then the
    /// database's own lock says when that is over.
    static constexpr std::chrono::milliseconds longest_turn{250};

    bool try_lock(std::uint32_t turns) noexcept {
        if (::flock(gate_.descriptor(), LOCK_EX | LOCK_NB) != 0) {
            return false;
        }
        turn_ = turns;
        return true;
    }

    /// Sleeps until somebody leaves.
    void sleep(std::uint32_t turns, clock::duration at_most) noexcept {
        const auto span = std::min<clock::duration>(at_most, between_looks);
        if (!futex_wait(gate_.address(gate_word::turns), turns, span)) {
            gate_.close();
        }
    }

    gate_file gate_;
    std::optional<std::uint32_t> turn_{};         ///< the word when it was entered
    std::optional<std::uint32_t> handed_over_{};  ///< the word as long as the one that was woken has no turn yet
    std::optional<std::uint32_t> passed_over_{};  ///< the word as long as a turn lasts that nobody waits for
};

}  // namespace leasehold::inline v0_1_0::detail::sqlite
