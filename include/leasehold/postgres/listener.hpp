// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <leasehold/errors.hpp>
#include <leasehold/postgres/connection.hpp>
#include <leasehold/postgres/pool.hpp>
#include <leasehold/process_of.hpp>

namespace leasehold::inline v0_1_0::detail::postgres {

/// Hears of every commit that may have made a job ready, on a connection of its own that LISTENs while somebody waits.
/// One of the threads that wait watches that connection for all of them. Where the server cannot tell, as behind a
/// pooler, a wait ends after a while, so that whoever waits looks.
class listener {
public:
    explicit listener(pool& of) : pool_{of} {
        if (::pipe2(wake_.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
            throw store_error{"no pipe to wake a thread by"};
        }
    }
    listener(const listener&) = delete;
    listener& operator=(const listener&) = delete;
    ~listener() {
        ::close(wake_[0]);
        ::close(wake_[1]);
    }

    /// A number that is another after every commit that has been told of.
    std::uint32_t read() {
        process_.refuse_another();
        std::unique_lock lock{mutex_};
        if (!is_watched_ && can_hear()) {
            is_watched_ = true;
            lock.unlock();
            const bool has_heard = ask();
            lock.lock();
            is_watched_ = false;
            heard(has_heard);
        }
        return rung_;
    }

    /// For who waits in this store.
    void ring() noexcept {
        if (!process_.is_this()) {
            return;
        }
        const std::lock_guard lock{mutex_};
        heard(true);
        (void)!::write(wake_[1], "", 1);
    }

    /// Waits until the number is another than `seen`, or for `at_most`; may come back sooner.
    void wait(std::uint32_t seen, std::chrono::milliseconds at_most) {
        process_.refuse_another();
        const deadline until = after(at_most);
        std::unique_lock lock{mutex_};
        while (rung_ == seen && std::chrono::steady_clock::now() < until) {
            if (is_watched_) {
                changed_.wait_until(lock, until);
                continue;
            }
            if (!can_hear() || !on_ || !on_->is_well()) {
                changed_.wait_until(lock, std::min(until, after(pool_.options().look_every)),
                                    [&] { return rung_ != seen; });
                heard(rung_ == seen);
                return;
            }
            is_watched_ = true;
            lock.unlock();
            watch(until);
            lock.lock();
            is_watched_ = false;
            heard(on_->notified() > 0 || !on_->is_well());
        }
    }

private:
    static constexpr std::chrono::seconds between_sayings{20};

    bool can_hear() const noexcept { return pool_.options().has_session && pool_.options().notify; }

    /// With the mutex held.
    void heard(bool something) noexcept {
        rung_ += something ? 1U : 0U;
        changed_.notify_all();
    }

    /// Whether there were messages, by an answer after which none from before it is on its way. A server that does not
    /// answer has nothing to tell, and the next call asks again.
    bool ask() noexcept {
        try {
            const auto now = std::chrono::steady_clock::now();
            const bool is_new = !on_ || !on_->take_in();
            if (is_new) {
                on_ = pool_.made();
                on_->gather(pool_.says().listen);
            }
            if (is_new || now - said_ > between_sayings) {
                on_->gather(pool_.says().say_listening);
                said_ = now;
            }
            on_->ask(pool_.says().read_clock);
            return on_->notified() > 0 || is_new;
        } catch (...) {
            on_.reset();
            return false;
        }
    }

    /// Until something comes from the server, or somebody rings.
    void watch(deadline until) noexcept {
        std::array<pollfd, 2> both{pollfd{::PQsocket(on_->handle()), POLLIN, 0}, pollfd{wake_[0], POLLIN, 0}};
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
        const auto most = std::min<std::chrono::milliseconds>(left, between_sayings);
        ::poll(both.data(), both.size(), static_cast<int>(std::max<std::int64_t>(most.count(), 0)));
        std::array<char, 64> dropped{};
        while (::read(wake_[0], dropped.data(), dropped.size()) > 0) {
        }
        on_->take_in();
    }

    process_of process_{};
    pool& pool_;
    std::array<int, 2> wake_{-1, -1};
    std::mutex mutex_{};
    std::condition_variable changed_{};
    std::uint32_t rung_ = 0;
    bool is_watched_ = false;  ///< whether a thread is using the connection
    std::unique_ptr<connection> on_{};
    std::chrono::steady_clock::time_point said_{};
};

}  // namespace leasehold::inline v0_1_0::detail::postgres
