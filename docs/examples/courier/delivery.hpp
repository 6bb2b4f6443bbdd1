// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include <httplib.h>

#include <leasehold/sqlite.hpp>

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
    std::string jobs{};   ///< the queue's file
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
inline std::uint64_t count_open(const leasehold::lease_queue& queue) {
    std::uint64_t open = 0;
    for (const leasehold::queue_statistics& counted : queue.stats().queues) {
        open += counted.ready + counted.delayed + counted.leased;
    }
    return open;
}

/// Sends one job; half-way it may be stopped.
inline httplib::Result send(httplib::Client& receiver, const leasehold::lease& held, mischief misbehave) {
    const std::size_t split = held.payload.find('\n');
    const httplib::Params parameters{{"id", held.key},
                                     {"quantity", held.payload.substr(0, split)},
                                     {"round", to_text(static_cast<const leasehold::marker&>(held))}};
    const std::string_view body = std::string_view{held.payload}.substr(split + 1);
    const auto write = [&](std::size_t offset, std::size_t length, httplib::DataSink& sink) {
        const std::size_t half = misbehave == mischief::stall && offset == 0 ? length / 2 : length;
        sink.write(body.data() + offset, half);
        if (half < length) {
            report("stalled " + to_text(static_cast<const leasehold::marker&>(held)));
            std::raise(SIGSTOP);
        }
        return true;
    };
    return receiver.Post(httplib::append_query_params("/deliveries", parameters), body.size(), write,
                         "text/tab-separated-values");
}

/// Delivers one job and settles it by what the receiver answered.
inline leasehold::settlement deliver(leasehold::lease_queue& queue, httplib::Client& receiver,
                                     const leasehold::lease& held, mischief misbehave) {
    const auto answer = send(receiver, held, misbehave);
    if (misbehave == mischief::crash) {
        std::raise(SIGKILL);
    }
    if (!answer) {
        return queue.release(held, 200ms);  // nobody was there: not the job's fault, and no attempt of its
    }
    switch (answer->status) {
        case 200: report("resend " + held.key); return queue.finish(held, "200");
        case 201: return queue.finish(held, "201");
        case 409: return queue.quarantine(held, "the receiver knows this ID with other content");
        default: return queue.fail(held, "the receiver answered " + std::to_string(answer->status), 200ms);
    }
}

/// Works until no job is open any more.
inline int run_courier(const delivery_options& options) {
    leasehold::lease_queue queue{{options.jobs, {.busy_timeout = 30s}}};
    httplib::Client receiver{"127.0.0.1", options.port};
    receiver.set_keep_alive(true);
    receiver.set_tcp_nodelay(true);  // else a small request waits 40 ms for the last one's acknowledgement
    mischief misbehave = options.misbehave;
    for (;;) {
        // Committed, and the file's lock gone, before anything is sent.
        const auto held = queue.claim(options.owner, options.lease);
        if (!held) {
            if (count_open(queue) == 0) {
                return 0;
            }
            std::this_thread::sleep_for(20ms);
            continue;
        }
        const leasehold::settlement settled = deliver(queue, receiver, *held, misbehave);
        report(settled ? "settled" : "late " + to_text(settled));
        misbehave = mischief::none;
    }
}

}  // namespace courier
