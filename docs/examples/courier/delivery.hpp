// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <httplib.h>

#include <leasehold/worker.hpp>

#include "../common/any_store.hpp"

/// One courier: a process that claims lines, delivers each by HTTP, and says that it is done.
namespace courier {

using namespace std::chrono_literals;

/// How a courier misbehaves, once, on purpose.
enum class mischief : std::uint8_t {
    none,
    stall,  ///< is stopped when half of its request is sent, until its job is another's
    crash,  ///< is killed after the receiver has answered, before it can say so
};

inline const std::map<std::string, mischief> mischief_names{
    {"none", mischief::none}, {"stall", mischief::stall}, {"crash", mischief::crash}};

struct delivery_options {
    std::string jobs{};   ///< where the queue is
    int port = 0;         ///< the receiver's, on loopback
    std::string owner{};  ///< a name; the next one to bear it may be another process
    std::chrono::milliseconds lease{1000};
    mischief misbehave = mischief::none;
};

/// A job's payload: the quantity on a line of its own, then the order line.
inline std::string payload_of(const std::string& quantity, const std::string& text) { return quantity + '\n' + text; }

/// What the parent reads, a line each.
inline void report(const std::string& what) { std::cout << what << std::endl; }

/// How many jobs are still ready or leased.
template <class Queue>
std::uint64_t count_open(const Queue& queue) {
    std::uint64_t open = 0;
    for (const leasehold::queue_statistics& counted : queue.stats().queues) {
        open += counted.ready + counted.delayed + counted.leased;
    }
    return open;
}

/// Sends one job; half-way it may be stopped.
inline httplib::Result send(httplib::Client& receiver, const leasehold::claimed_job& job, mischief misbehave) {
    const std::size_t split = job.payload.find('\n');
    const httplib::Params parameters{
        {"id", job.key}, {"quantity", job.payload.substr(0, split)}, {"round", to_text(job.round)}};
    const std::string_view body = std::string_view{job.payload}.substr(split + 1);
    const auto write = [&](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        const std::size_t half = misbehave == mischief::stall && offset == 0 ? length / 2 : length;
        sink.write(body.data() + offset, half);
        if (half < length) {
            report("stalled " + to_text(job.round));
            std::raise(SIGSTOP);
        }
        return true;
    };
    return receiver.Post(httplib::append_query_params("/deliveries", parameters), body.size(), write,
                         "text/tab-separated-values");
}

/// Delivers one job, and says what it has come to by what the receiver answered.
inline leasehold::outcome deliver(httplib::Client& receiver, const leasehold::claimed_job& job, mischief misbehave) {
    const auto answer = send(receiver, job, misbehave);
    if (misbehave == mischief::crash) {
        std::raise(SIGKILL);
    }
    if (!answer) {
        return leasehold::release_unspent{.after = 200ms};  // nobody was there: not the job's fault
    }
    const std::string status = std::to_string(answer->status);
    switch (answer->status) {
        case 200: report("resend " + job.key); [[fallthrough]];
        case 201: return leasehold::done{.result = status, .receipt = "the receiver answered " + status};
        case 409: return leasehold::set_aside{"the receiver knows this ID with other content"};
        default: return leasehold::retry{.after = 200ms, .error = "the receiver answered " + status};
    }
}

/// Works on a queue until standard input ends.
template <class Queue>
int deliver_from(Queue& queue, const delivery_options& options) {
    httplib::Client receiver{"127.0.0.1", options.port};
    receiver.set_keep_alive(true);
    receiver.set_tcp_nodelay(true);  // else a small request waits 40 ms for the last one's acknowledgement
    mischief misbehave = options.misbehave;
    // A job is claimed and its lock gone before anything is sent; its lease is renewed while that takes time.
    leasehold::worker worker{
        queue,
        {.owner = options.owner,
         .lease = options.lease,
         .on_error = [](const leasehold::worker_error& error) { std::cerr << error << '\n'; },
         .on_loss = [](const leasehold::settlement& refused) { report("late " + to_text(refused)); }},
        [&](const leasehold::claimed_job& job, auto&) {
            return deliver(receiver, job, std::exchange(misbehave, mischief::none));
        }};
    const std::jthread working{[&](const std::stop_token& stop) { worker.run(stop); }};
    while (std::getchar() != EOF) {
    }
    return 0;
}

inline int run_courier(const delivery_options& options) {
    const auto tell = [](const leasehold::event& what) {
        if (what.what == leasehold::event_kind::finished || what.what == leasehold::event_kind::quarantined) {
            report("settled");
        }
    };
    // Half a lease: a renewal that had to wait for the lock can be tried again.
    return any_store::with_queue(options.jobs, {.busy_timeout = options.lease / 2, .on_event = tell},
                                 [&](auto& queue) { return deliver_from(queue, options); });
}

}  // namespace courier
