// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <leasehold/errors.hpp>
#include <leasehold/process_of.hpp>
#include <leasehold/sqlite/file_connection.hpp>
#include <leasehold/sqlite/open_files.hpp>
#include <leasehold/sqlite/options.hpp>
#include <leasehold/sqlite/patience.hpp>
#include <leasehold/sqlite/turn.hpp>
#include <leasehold/sqlite/turnstile.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// A thread's turn in its process, and the process's at the turnstile, until it goes. In a child of a fork neither is
/// given back: both are the parent's.
class passage {
public:
    passage(turn_taken turn, turnstile* through, process_of process) noexcept
        : turn_{std::move(turn)}, through_{through}, process_{process} {}
    passage(passage&& other) noexcept
        : turn_{std::move(other.turn_)}, through_{std::exchange(other.through_, nullptr)}, process_{other.process_} {}
    passage& operator=(passage&&) = delete;
    ~passage() {
        if (!process_.is_this()) {
            turn_.keep();
        } else if (through_ != nullptr) {
            through_->leave();
        }
    }

private:
    turn_taken turn_;
    turnstile* through_;
    process_of process_;
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
    /// Throws `store_busy`, and `store_unsupported` in a child of the process.
    place take(patience::clock::time_point since = patience::clock::now()) {
        const patience until{options_.busy_timeout, since};
        passage way = pass(until);
        if (connection_ && connection_->on.saw_damage()) {
            connection_.reset();
        }
        if (!connection_) {
            connection_.emplace(path_, options_, until, turn_);
        }
        connection_->on.wait_at_most(until);
        connection_->on.settle();
        return {std::move(way), connection_->on};
    }

    /// The way alone, for another connection's use of the file.
    passage pass(patience until) {
        process_.refuse_another();
        turn_taken turn = turn_.take(until.end());
        if (!turn) {
            throw store_busy{"waiting for another thread's use of " + path_};
        }
        if (!connection_) {
            open_file::refuse_inherited(path_);
        }
        turnstile* const through = is_in_the_way() ? &turnstile_ : nullptr;
        if (through != nullptr) {
            const auto now = patience::clock::now();
            through->enter(now + (until.end() - now) / 2);  // the other half is for the database's own lock
        }
        return {std::move(turn), through, process_};
    }

private:
    struct opened {
        opened(const std::string& path, const sqlite_options& options, patience until, const turn& way)
            : on{path, options, until}, known{path, on.handle(), way} {}
        file_connection on;
        open_file known;
    };

    /// Readers of a write-ahead log wait for nobody, and nobody for them.
    bool is_in_the_way() const noexcept {
        return purpose_ == purpose::writing || !connection_ || connection_->on.has_rollback_journal();
    }

    std::string path_;
    sqlite_options options_;
    purpose purpose_;
    turn turn_{};
    turnstile turnstile_;
    std::optional<opened> connection_{};
    process_of process_{};
};

}  // namespace leasehold::inline v0_1_0::detail::sqlite
