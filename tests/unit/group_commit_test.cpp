// SPDX-License-Identifier: MIT
/// Calls of several threads in one commit.
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>

#include "support/faulty_vfs.hpp"
#include "support/places.hpp"

namespace {

using namespace places;

/// A store that counts its write transactions.
struct counting_store : sqlite_store {
    counting_store(sqlite_store store, std::atomic<int>& to) : sqlite_store{std::move(store)}, begun{&to} {}

    template <local_clock Clock>
    auto begin(const Clock& clock, std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now()) {
        ++*begun;
        return sqlite_store::begin(clock, since);
    }

    std::atomic<int>* begun;
};

/// A queue whose file somebody else can lock, so that calls gather.
struct crowded {
    explicit crowded(queue_options how = {.group_limit = 64}, millis busy_timeout = 30s,
                     synchronous_mode mode = synchronous_mode::off)
        : queue{counting_store{sqlite_store{path(), {.synchronous = mode, .busy_timeout = busy_timeout}}, begun}, clock,
                std::move(how)},
          other{path(), SQLite::OPEN_READWRITE, 30'000} {}  // its commit may meet who looks for the lock

    std::string path() const { return folder / "jobs.db"; }

    /// Calls `work(i)` on so many threads while the file is locked, which it is until all wait. What each threw.
    std::vector<std::exception_ptr> gather(std::size_t threads, const std::function<void(std::size_t)>& work) {
        begun = 0;
        other.exec("BEGIN IMMEDIATE");
        std::vector<std::exception_ptr> thrown(threads);
        std::atomic<std::size_t> started = 0;
        std::vector<std::thread> all;
        for (std::size_t i = 0; i < threads; ++i) {
            all.emplace_back([&, i] {
                ++started;
                try {
                    work(i);
                } catch (...) {
                    thrown[i] = std::current_exception();
                }
            });
        }
        while (started < threads) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(50ms);
        before_unlock();
        other.exec("COMMIT");
        for (std::thread& each : all) {
            each.join();
        }
        return thrown;
    }

    std::function<void()> before_unlock = [] {};
    temporary_folder folder{};
    manual_clock clock{};
    std::atomic<int> begun = 0;
    basic_lease_queue<manual_clock, counting_store> queue;
    SQLite::Database other;
};

std::string text_of(const std::exception_ptr& thrown) {
    if (!thrown) {
        return "nothing";
    }
    try {
        std::rethrow_exception(thrown);
    } catch (const store_unknown& error) {
        return std::string{"unknown: "} + error.what();
    } catch (const store_busy& error) {
        return std::string{"busy: "} + error.what();
    } catch (const std::exception& error) {
        return error.what();
    }
}

TEST_CASE("calls that come while another waits or commits share the next transaction", "[group]") {
    crowded q;
    const auto thrown = q.gather(8, [&](std::size_t i) { q.queue.enqueue({.key = std::to_string(i)}); });
    CHECK(q.begun <= 3);  // one, if all were there in time
    CHECK(q.queue.stats().queues[0].ready == 8);
    for (const auto& each : thrown) {
        CHECK(text_of(each) == "nothing");
    }
}

TEST_CASE("no more calls share a commit than the options say", "[group]") {
    crowded alone{{.group_limit = 1}};
    alone.gather(8, [&](std::size_t i) { alone.queue.enqueue({.key = std::to_string(i)}); });
    CHECK(alone.begun == 8);
    crowded two{{.group_limit = 2}};
    two.gather(8, [&](std::size_t i) { two.queue.enqueue({.key = std::to_string(i)}); });
    CHECK(two.begun >= 4);
    CHECK(two.queue.stats().queues[0].ready == 8);
}

TEST_CASE("each job of a group goes to one claim, and each settlement is judged by itself", "[group]") {
    crowded q;
    std::vector<job> jobs(8);
    q.queue.enqueue_many(jobs);
    std::vector<std::optional<lease>> held(8);
    q.gather(8, [&](std::size_t i) { held[i] = q.queue.claim("W", 1000ms); });
    std::set<std::int64_t> ids;
    for (const auto& each : held) {
        REQUIRE(each);
        CHECK(each->token == claim_token{1});
        ids.insert(each->id.value);
    }
    CHECK(ids.size() == 8);
    std::vector<verdict> answers(8);
    CHECK(q.queue.revoke(held[3]->id, held[3]->token));
    q.gather(8, [&](std::size_t i) { answers[i] = q.queue.finish(*held[i]).why; });
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK(answers[i] == (i == 3 ? verdict::not_leased : verdict::applied));
    }
}

TEST_CASE("a call that fails takes nobody with it: each runs again alone", "[group]") {
    crowded q;
    q.clock.set(at(100));
    // The deadline is judged by the clock, and so after the lock.
    const auto thrown = q.gather(
        8, [&](std::size_t i) { q.queue.enqueue({.key = std::to_string(i), .deadline = i == 5 ? at(100) : at(200)}); });
    for (std::size_t i = 0; i < 8; ++i) {
        CHECK_THAT(text_of(thrown[i]), contains(i == 5 ? "deadline: 100 is not after now" : "nothing"));
        CHECK(q.queue.find("default", std::to_string(i)).has_value() == (i != 5));
    }
}

TEST_CASE("a commit that fails is the same error for all, and what became of it is the same too", "[group]") {
    faulty_vfs disk;
    crowded q{{.group_limit = 64}, 30s, synchronous_mode::full};
    q.before_unlock = [&] { disk.fail(faulty_vfs::operation::sync, 0, SQLITE_IOERR_FSYNC); };
    // The lock is held by one that has written nothing: its commit needs no disk.
    const auto thrown = q.gather(8, [&](std::size_t i) { q.queue.enqueue({.key = std::to_string(i)}); });
    disk.heal();
    std::size_t unknown = 0;
    for (const auto& each : thrown) {
        const std::string text = text_of(each);
        unknown += text.starts_with("unknown: ") ? 1U : 0U;
        CHECK(text != "nothing");
    }
    CHECK(unknown > 1);
    CHECK(q.queue.list().items.empty());
    CHECK(q.queue.enqueue({.key = "later"}).answer == intake::accepted);
}

TEST_CASE("each call waits for the lock as long as its own timeout says, and not for those before it", "[group]") {
    crowded q{{.group_limit = 64}, 300ms};
    q.other.exec("BEGIN IMMEDIATE");
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> all;
    std::atomic<int> busy = 0;
    for (int i = 0; i < 16; ++i) {
        all.emplace_back([&] {
            try {
                q.queue.enqueue({.payload = "x"});
            } catch (const store_busy&) {
                ++busy;
            }
        });
    }
    for (std::thread& each : all) {
        each.join();
    }
    CHECK(busy == 16);
    CHECK(std::chrono::steady_clock::now() - start < 16 * 300ms);
    q.other.exec("ROLLBACK");
    CHECK(q.queue.list().items.empty());
    CHECK(q.queue.enqueue({.payload = "x"}).answer == intake::accepted);
}

/// What this thread has enqueued.
thread_local std::string mine;

TEST_CASE("events of a group are told to each call's own thread, after the commit", "[group]") {
    std::atomic<int> right = 0;
    std::atomic<int> told = 0;
    crowded* self = nullptr;
    const auto listen = [&](const event& what) {
        ++told;
        right += what.key == mine && self->queue.find("default", mine) ? 1 : 0;
    };
    crowded q{{.on_event = listen, .group_limit = 64}};
    self = &q;
    q.gather(8, [&](std::size_t i) {
        mine = std::to_string(i);
        q.queue.enqueue({.key = mine});
    });
    CHECK(told == 8);
    CHECK(right == 8);
}

TEST_CASE("threads that claim, finish and enqueue together lose nothing and do nothing twice", "[group]") {
    crowded q;
    constexpr int jobs = 1000;
    std::atomic<int> enqueued = 0;
    std::atomic<int> finished = 0;
    std::vector<std::thread> all;
    for (int i = 0; i < 8; ++i) {
        all.emplace_back([&] {
            while (finished < jobs) {
                if (const int next = enqueued++; next < jobs) {
                    q.queue.enqueue({.key = std::to_string(next)});
                }
                if (const auto held = q.queue.claim("W", 1h)) {
                    finished += q.queue.finish(*held) ? 1 : 0;
                }
            }
        });
    }
    for (std::thread& each : all) {
        each.join();
    }
    CHECK(finished == jobs);
    CHECK(q.queue.stats().queues[0].finished == jobs);
}

}  // namespace
