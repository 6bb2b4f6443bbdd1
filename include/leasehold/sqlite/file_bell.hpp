// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include <leasehold/process_of.hpp>
#include <leasehold/sqlite/futex.hpp>
#include <leasehold/sqlite/gate_file.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// Tells the processes that wait for work of every commit that may have made a job ready, by a word of the gate.
/// Without a gate they look for themselves, a little later.
class file_bell {
public:
    explicit file_bell(const std::string& database) : gate_{database} {}

    /// The word; 0 where there is none.
    std::uint32_t read() {
        process_.refuse_another();
        const std::lock_guard lock{mutex_};
        return gate_.look() ? gate_.word(gate_word::commits) : 0;
    }

    /// Changes the word and wakes who waits for that. To be called after the commit: whoever wakes, sees it.
    void ring() noexcept {
        if (!process_.is_this()) {
            return;  // nothing was committed here
        }
        const std::lock_guard lock{mutex_};
        if (!gate_.look()) {
            return;
        }
        // Not a count: two processes could count to the same number. Of the clock's nanoseconds they cannot have one.
        std::uint32_t next = static_cast<std::uint32_t>(std::chrono::steady_clock::now().time_since_epoch().count());
        next += next == gate_.word(gate_word::commits) ? 1U : 0U;
        if (gate_.write(gate_word::commits, next)) {
            futex_wake_all(gate_.address(gate_word::commits));
        }
    }

    /// Waits until the word is another than `seen`, or for `at_most`; may come back sooner.
    void wait(std::uint32_t seen, std::chrono::milliseconds at_most) {
        void* at = nullptr;
        {
            const std::lock_guard lock{mutex_};
            if (gate_.look()) {
                if (gate_.word(gate_word::commits) != seen) {
                    return;
                }
                at = gate_.address(gate_word::commits);
            }
        }
        // Should the gate be closed meanwhile, the kernel finds no such address, or another word than the one seen.
        if (at == nullptr || !futex_wait(at, seen, at_most)) {
            std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(at_most, blind_look));
        }
    }

private:
    /// How often one looks who has no gate to wait at.
    static constexpr std::chrono::milliseconds blind_look{20};

    process_of process_{};
    std::mutex mutex_{};
    gate_file gate_;
};

}  // namespace leasehold::inline v0_1_0::detail::sqlite
