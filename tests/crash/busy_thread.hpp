// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <leasehold/leasehold.hpp>

#include "crash/notes.hpp"

namespace crash {

using namespace leasehold;
using namespace std::chrono_literals;

/// One thread's work: calls of every kind, each noted.
template <class Queue>
class busy_thread {
public:
    busy_thread(Queue& queue, notes::page& on, std::uint64_t first_number, bool is_full, std::uint64_t from)
        : queue_{queue}, on_{on}, next_{first_number}, is_full_{is_full}, chance_{from} {}

    void run() {
        for (noted_call& call : on_) {
            call.number = next_;
            next_ += 10;  // a call's jobs have numbers of their own
            choose(call);
            call.at = noted_call::stage::begun;
            try {
                make(call);
                call.at = noted_call::stage::answered;
            } catch (const std::exception&) {
                call.at = noted_call::stage::threw;
                return;
            }
        }
    }

private:
    using verb = noted_call::verb;

    void choose(noted_call& call) {
        constexpr std::array held{verb::renew,  verb::checkpoint, verb::leave_receipt,    verb::fail,
                                  verb::finish, verb::finish,     verb::finish_and_claim, verb::finish_and_claim};
        constexpr std::array free{verb::enqueue, verb::enqueue_many, verb::claim, verb::claim};
        if (held_) {
            call.what = held.at(chance_() % held.size());
            call.id = held_->id.value;
            call.token = held_->token.value;
            call.is_long = is_long_;
        } else {
            call.what = free.at(is_full_ ? 2 : chance_() % free.size());
            call.jobs = call.what == verb::enqueue ? 1 : call.what == verb::enqueue_many ? 5 : 0;
        }
    }

    void make(noted_call& call) {
        const std::string bytes = bytes_of(call.number);
        switch (call.what) {
            case verb::enqueue:
            case verb::enqueue_many: enqueue(call); break;
            case verb::claim:
                is_long_ = chance_() % 4 != 0;
                hold(call, queue_.claim(owner_of(call.number), is_long_ ? millis{1h} : millis{1ms}));
                break;
            case verb::renew:
                answer(call, queue_.renew(*held_, 2h));
                call.got_until = held_->lease_until.time_since_epoch().count();
                is_long_ = true;
                break;
            case verb::checkpoint: answer(call, queue_.checkpoint(*held_, bytes)); break;
            case verb::leave_receipt: answer(call, queue_.leave_receipt(*held_, key_of(call.number))); break;
            case verb::fail:
                answer(call, queue_.fail(*held_, key_of(call.number)));
                held_.reset();
                break;
            case verb::finish:
                answer(call, queue_.finish(*held_, bytes));
                held_.reset();
                break;
            case verb::finish_and_claim: {
                auto both = queue_.finish_and_claim(*held_, bytes, {.owner = owner_of(call.number), .lease_for = 1h});
                answer(call, both.finished);
                is_long_ = true;
                hold(call, std::move(both.next));
                break;
            }
        }
    }
    void enqueue(noted_call& call) {
        std::vector<job> jobs;
        for (std::size_t i = 0; i < call.jobs; ++i) {
            jobs.push_back(
                {.key = key_of(call.number + i), .payload = bytes_of(call.number + i), .max_attempts = 1'000'000});
        }
        call.got_id = (jobs.size() == 1 ? queue_.enqueue(jobs.front()) : queue_.enqueue_many(jobs).front()).id.value;
    }
    void answer(noted_call& call, const settlement& said) {
        call.is_applied = static_cast<bool>(said);
        if (!said) {
            held_.reset();
        }
    }
    void hold(noted_call& call, std::optional<lease> got) {
        held_ = std::move(got);
        if (held_) {
            call.got_id = held_->id.value;
            call.got_token = held_->token.value;
            call.got_until = held_->lease_until.time_since_epoch().count();
        }
    }

    Queue& queue_;
    notes::page& on_;
    std::uint64_t next_;
    bool is_full_;
    std::mt19937_64 chance_;
    std::optional<lease> held_{};
    bool is_long_ = false;
};

/// Several threads on one queue.
template <class Queue>
void work_on(Queue& queue, notes& on, std::uint64_t first_number, bool is_full, std::uint64_t from) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < notes::threads; ++i) {
        threads.emplace_back([&, i] {
            busy_thread<Queue>{queue, on.of_thread(i), first_number + i * 1'000, is_full, from + i}.run();
        });
    }
    for (std::thread& each : threads) {
        each.join();
    }
}

}  // namespace crash
