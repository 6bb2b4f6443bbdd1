// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <leasehold/sqlite.hpp>

#include "history/call.hpp"
#include "history/caller.hpp"
#include "support/processes.hpp"

namespace history {

/// The machine's own pace as a queue's clock, the same in every process, which remembers its last reading: so what a
/// queue judged by can be laid beside the times of the call.
class noting_clock {
public:
    static constexpr clock_axis axis = clock_axis::process;
    static constexpr reach holds = reach::machine;

    auto pace() const noexcept { return detail::machine_pace(); }
    auto at(process_clock::paced point) const noexcept {
        const auto reading = process_clock{}.at(point);
        *last_ = std::chrono::floor<std::chrono::milliseconds>(reading);
        return reading;
    }
    auto now() const noexcept { return at(pace()); }

    void forget() const noexcept { last_->reset(); }
    std::optional<instant> last() const noexcept { return *last_; }

private:
    std::shared_ptr<std::optional<instant>> last_ = std::make_shared<std::optional<instant>>();
};

inline std::chrono::nanoseconds machine_time() { return detail::machine_pace().time_since_epoch(); }

/// A queue whose calls are noted.
class recorder {
public:
    explicit recorder(const std::string& path, sqlite_options options) : queue_{sqlite_store{path, options}, clock_} {}

    template <class Held>
    call asks(call asked, const Held& held) {
        clock_.forget();
        asked.start = machine_time();
        asked.answer = perform(queue_, asked, held);
        asked.end = machine_time();
        asked.at = clock_.last();
        return asked;
    }

    /// So many calls by chance. Now and then it waits until a lease of its own is over.
    std::string asks_by_chance(std::size_t process, std::uint64_t from, std::size_t count) {
        caller who{process, from};
        std::string all;
        for (std::size_t i = 0; i < count; ++i) {
            all += packed(asks(who.next(), [&](const marker& round) { who.keep(round); }));
            if (!who.rounds().empty() && who.now_and_then()) {
                std::this_thread::sleep_for(who.rounds().back().lease_until.time_since_epoch() - machine_time());
            }
        }
        return all;
    }

private:
    noting_clock clock_{};
    basic_lease_queue<noting_clock, sqlite_store> queue_;
};

struct recorded {
    store_id store{};
    std::vector<call> calls{};
};

/// What so many processes asked of one file, each so much, and what was left in it at last.
inline recorded record(const std::string& path, const sqlite_options& options, std::size_t count, std::size_t each,
                       std::uint64_t from) {
    recorded found;
    const auto reports = processes::run_together(
        count, [&](std::size_t) { return std::make_unique<recorder>(path, options); },
        [&](std::size_t process, recorder& noted) { return noted.asks_by_chance(process, from, each); });
    for (const std::string& report : reports) {
        if (report.starts_with("error")) {
            throw std::runtime_error{report};
        }
        std::istringstream in{report};
        for (std::string one; std::getline(in, one, end_of_call);) {
            found.calls.push_back(unpacked(one));
        }
    }
    recorder last{path, options};
    found.calls.push_back(last.asks({.process = count, .what = verb::list}, [](const marker&) {}));
    found.store = sqlite_store{path, options}.view().identity();
    return found;
}

}  // namespace history
