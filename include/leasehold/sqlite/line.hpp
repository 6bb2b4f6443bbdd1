// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <leasehold/errors.hpp>
#include <leasehold/sqlite/file_connection.hpp>
#include <leasehold/sqlite/options.hpp>
#include <leasehold/sqlite/patience.hpp>
#include <leasehold/sqlite/turn.hpp>
#include <leasehold/sqlite/turnstile.hpp>

namespace leasehold::detail::sqlite {

/// A thread's turn in its process, and the process's at the turnstile, until it goes.
class passage {
public:
    passage(turn_taken turn, turnstile* through) noexcept : turn_{std::move(turn)}, through_{through} {}
    passage(passage&& other) noexcept
        : turn_{std::move(other.turn_)}, through_{std::exchange(other.through_, nullptr)} {}
    passage& operator=(passage&&) = delete;
    ~passage() {
        if (through_ != nullptr) {
            through_->leave();
        }
    }

private:
    turn_taken turn_;
    turnstile* through_;
};

/// A connection that is made when it is needed, and the way to it: one thread of the process uses it at a time, and
/// processes come one after the other.
class line {
public:
    enum class purpose : std::uint8_t { reading, writing };

    line(std::string path, const sqlite_options& options, purpose what)
        : path_{std::move(path)}, options_{options}, purpose_{what}, turnstile_{path_} {}

    struct place {
        passage way;
        file_connection& on;
    };

    /// Waits for the turn and has the connection ready, within the timeout of the options, which runs from `since`.
    /// Throws `store_busy`.
    place take(patience::clock::time_point since = patience::clock::now()) {
        const patience until{options_.busy_timeout, since};
        passage way = pass(until);
        if (!connection_) {
            connection_.emplace(path_, options_, until);
        }
        connection_->wait_at_most(until);
        connection_->settle();
        return {std::move(way), *connection_};
    }

    /// The way alone, for another connection's use of the file.
    passage pass(patience until) {
        turn_taken turn = turn_.take(until.end());
        if (!turn) {
            throw store_busy{"waiting for another thread's use of " + path_};
        }
        turnstile* const through = is_in_the_way() ? &turnstile_ : nullptr;
        if (through != nullptr) {
            const auto now = patience::clock::now();
            through->enter(now + (until.end() - now) / 2);  // the other half is for the database's own lock
        }
        return {std::move(turn), through};
    }

private:
    /// Readers of a write-ahead log wait for nobody, and nobody for them.
    bool is_in_the_way() const noexcept {
        return purpose_ == purpose::writing || !connection_ || connection_->has_rollback_journal();
    }

    std::string path_;
    sqlite_options options_;
    purpose purpose_;
    turn turn_{};
    turnstile turnstile_;
    std::optional<file_connection> connection_{};
};

}  // namespace leasehold::detail::sqlite
