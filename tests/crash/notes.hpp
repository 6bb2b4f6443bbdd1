// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include <sys/mman.h>

#include "crash/payloads.hpp"

namespace crash {

/// One call of a process that may be killed: noted before it is made, answered after it has returned.
struct noted_call {
    enum class verb : std::uint8_t {
        enqueue,
        enqueue_many,
        claim,
        renew,
        checkpoint,
        leave_receipt,
        fail,
        finish,
        finish_and_claim
    };
    enum class stage : std::uint8_t { none, begun, answered, threw };

    std::atomic<stage> at = stage::none;
    verb what{};
    std::uint64_t number = 0;  ///< of this call alone: its owner, result, error, note and first key are named by it
    std::size_t jobs = 0;      ///< of enqueue, enqueue_many
    std::int64_t id = 0;       ///< the round that was presented
    std::int64_t token = 0;
    bool is_long = false;  ///< whether that round's lease lasted far longer than the process

    bool is_applied = false;  ///< the answer of what was presented
    std::int64_t got_id = 0;  ///< what was enqueued, or claimed; 0: nothing
    std::int64_t got_token = 0;
    std::int64_t got_until = 0;  ///< the lease's end, also of a renewal

    bool is_open() const noexcept { return at == stage::begun; }
    bool is_answered() const noexcept { return at == stage::answered; }
    bool claims() const noexcept { return what == verb::claim || what == verb::finish_and_claim; }
    bool finishes() const noexcept { return what == verb::finish || what == verb::finish_and_claim; }
};

/// What a process noted, in memory that outlives it.
class notes {
public:
    static constexpr std::size_t threads = 3;
    static constexpr std::size_t calls = 48;  ///< of each thread at most
    using page = std::array<noted_call, calls>;

    notes() {
        void* const at = ::mmap(nullptr, sizeof(content), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) {
            throw std::runtime_error{"no shared memory"};
        }
        content_ = new (at) content{};
    }
    notes(const notes&) = delete;
    notes& operator=(const notes&) = delete;
    ~notes() { ::munmap(content_, sizeof(content)); }

    page& of_thread(std::size_t number) { return content_->pages.at(number); }
    std::atomic<bool>& is_under_way() { return content_->is_under_way; }

    /// All calls, each thread's in their order.
    template <class Visit>
    void each(const Visit& visit) const {
        for (const page& one : content_->pages) {
            for (const noted_call& call : one) {
                if (call.at != noted_call::stage::none) {
                    visit(call);
                }
            }
        }
    }

private:
    struct content {
        std::array<page, threads> pages{};
        std::atomic<bool> is_under_way = false;
    };

    content* content_;
};

inline std::string key_of(std::uint64_t number) { return "key " + std::to_string(number); }
inline std::string owner_of(std::uint64_t number) { return "owner " + std::to_string(number); }

/// Bytes that tell which call they are of, from a few to several pages.
inline std::string bytes_of(std::uint64_t number) {
    constexpr std::array<std::size_t, 4> sizes{20, 300, 3'000, 11'000};
    return payload_of(std::to_string(number), sizes.at(number % sizes.size()));
}

}  // namespace crash
