// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <csignal>
#include <iostream>
#include <string>
#include <thread>

#include <httplib.h>

#include <leasehold/sqlite.hpp>

/// One courier: a process that claims lines, delivers each by HTTP, and says that it is done.
namespace courier {

using namespace std::chrono_literals;

/// How a courier misbehaves, once, on purpose.
enum class mischief {
    none,
    stall,  ///< is stopped in mid-delivery, until its job is another's
    crash,  ///< is killed after the receiver has answered, before it can say so
};

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

/// Whether any job is still ready or leased, so that it pays to wait.
inline bool any_open(leasehold::lease_queue& queue) {
    for (const leasehold::queue_statistics& counted : queue.stats().queues) {
        if (counted.ready + counted.delayed + counted.leased > 0) {
            return true;
        }
    }
    return false;
}

/// Delivers one job and settles it by what the receiver answered.
inline leasehold::settlement deliver(leasehold::lease_queue& queue, httplib::Client& receiver,
                                     const leasehold::lease& held, mischief misbehave) {
    const std::size_t split = held.payload.find('\n');
    const httplib::Params parameters{{"id", held.key}, {"quantity", held.payload.substr(0, split)}};
    const auto answer = receiver.Post(httplib::append_query_params("/deliveries", parameters),
                                      held.payload.substr(split + 1), "text/tab-separated-values");
    if (misbehave == mischief::crash) {
        std::raise(SIGKILL);
    }
    if (!answer) {
        return queue.fail(held, "no answer: " + httplib::to_string(answer.error()), 200ms);
    }
    if (answer->status == 409) {
        return queue.quarantine(held, "the receiver knows this ID with other content");
    }
    if (answer->status != 200 && answer->status != 201) {
        return queue.fail(held, "the receiver answered " + std::to_string(answer->status), 200ms);
    }
    if (answer->status == 200) {
        report("resend " + held.key);
    }
    return queue.finish(held, std::to_string(answer->status));
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
            if (!any_open(queue)) {
                return 0;
            }
            std::this_thread::sleep_for(20ms);
            continue;
        }
        if (misbehave == mischief::stall) {
            report("stalled " + to_text(static_cast<const leasehold::marker&>(*held)));
            std::raise(SIGSTOP);
        }
        const leasehold::settlement settled = deliver(queue, receiver, *held, misbehave);
        report(settled ? "settled" : "late " + to_text(settled));
        misbehave = mischief::none;
    }
}

}  // namespace courier
