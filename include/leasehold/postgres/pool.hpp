// SPDX-License-Identifier: MIT
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <leasehold/errors.hpp>
#include <leasehold/postgres/connection.hpp>
#include <leasehold/postgres/options.hpp>
#include <leasehold/postgres/sql.hpp>
#include <leasehold/process_of.hpp>

namespace leasehold::inline v0_1_0::detail::postgres {

/// The store's own connections: made when they are needed, kept while they are well. One that the server has ended
/// meanwhile is replaced before it is used.
class pool {
public:
    pool(std::string conninfo, const postgres_options& options, const statements& says)
        : conninfo_{std::move(conninfo)}, options_{options}, says_{says} {}
    pool(const pool&) = delete;
    pool& operator=(const pool&) = delete;
    ~pool() = default;

    /// One thread's use of a connection, until it goes.
    class place {
    public:
        place(pool& of, std::unique_ptr<connection> on) noexcept : of_{&of}, on_{std::move(on)} {}
        place(place&&) noexcept = default;
        place& operator=(place&&) = delete;
        ~place() {
            if (on_) {
                of_->give_back(std::move(on_));
            }
        }
        connection& on() const noexcept { return *on_; }

    private:
        pool* of_;
        std::unique_ptr<connection> on_;
    };

    /// Waits for one until `until`; throws `store_busy`.
    place take(deadline until) {
        process_.refuse_another();
        std::unique_ptr<connection> kept;
        {
            std::unique_lock lock{mutex_};
            if (!freed_.wait_until(lock, until, [&] { return used_ < options_.connections; })) {
                throw store_busy{"waiting for one of " + std::to_string(options_.connections) +
                                 " connections to the PostgreSQL server"};
            }
            ++used_;
            if (!idle_.empty()) {
                kept = std::move(idle_.back());
                idle_.pop_back();
            }
        }
        try {
            if (!kept || !kept->is_still_there()) {
                kept = made();
            }
        } catch (...) {
            leave();
            throw;
        }
        return place{*this, std::move(kept)};
    }
    place take() { return take(after(options_.busy_timeout)); }

    std::unique_ptr<connection> made() const {
        auto fresh = std::make_unique<connection>(conninfo_, says_, options_.answer_timeout, options_.has_session);
        if (options_.has_session) {
            fresh->ask(says_.settings, settings(false));
        }
        return fresh;
    }

    parameters settings(bool for_one_transaction) const {
        return with(std::to_string(options_.busy_timeout.count()), for_one_transaction);
    }

    const postgres_options& options() const noexcept { return options_; }
    const statements& says() const noexcept { return says_; }

private:
    void give_back(std::unique_ptr<connection> used) noexcept {
        if (!process_.is_this()) {
            return;
        }
        if (used->is_idle() && !used->has_gathered()) {
            try {
                const std::lock_guard lock{mutex_};
                idle_.push_back(std::move(used));
            } catch (...) {  // NOLINT(bugprone-empty-catch): without memory it is closed
            }
        }
        leave();
    }

    void leave() noexcept {
        {
            const std::lock_guard lock{mutex_};
            --used_;
        }
        freed_.notify_one();
    }

    process_of process_{};
    std::string conninfo_;
    const postgres_options& options_;
    const statements& says_;
    std::mutex mutex_{};
    std::condition_variable freed_{};
    std::size_t used_ = 0;
    std::vector<std::unique_ptr<connection>> idle_{};
};

}  // namespace leasehold::inline v0_1_0::detail::postgres
