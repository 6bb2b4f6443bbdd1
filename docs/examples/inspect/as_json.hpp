// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <leasehold/job.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/text.hpp>

#include "overview.hpp"

/// What a machine reads: ASCII alone, instants and lengths as whole milliseconds, what is not there as null.
namespace inspect {

using json = nlohmann::ordered_json;

inline std::string one_line(const json& document) { return document.dump(-1, ' ', true); }

/// Exactly those bytes: as a string where they are UTF-8, and else under another name in hexadecimal digits.
inline void put(json& object, const std::string& name, std::string_view bytes) {
    std::string_view rest = bytes;
    for (std::size_t length = 1; !rest.empty() && length > 0; rest.remove_prefix(length)) {
        length = rest.front() == '\0' ? 1 : leasehold::detail::sequence_length(rest);
    }
    if (rest.empty()) {
        object[name] = bytes;
    } else {
        std::string digits;
        leasehold::detail::add_escaped(digits, "", bytes);
        object[name + "_hex"] = digits;
    }
}

inline json in_json(const std::optional<instant>& at) {
    return at ? json(at->time_since_epoch().count()) : json(nullptr);
}

inline json in_json(const leasehold::receipt& left) {
    json object{{"token", left.token.value}};
    put(object, "owner", left.owner);
    object["at"] = in_json(left.at);
    put(object, "note", left.note);
    return object;
}

/// `time_left_ms`: of a lease that is over, below zero or zero.
inline json in_json(const record& job, instant now) {
    json object{{"id", job.id.value}};
    put(object, "queue", job.queue);
    put(object, "key", job.key);
    object["state"] = to_text(job.state);
    object["priority"] = job.priority;
    put(object, "owner", job.owner);
    object["token"] = job.token.value;
    object["attempt"] = job.attempt;
    object["max_attempts"] = job.max_attempts;
    object["failures"] = job.failures;
    object["lapses"] = job.lapses;
    object["enqueued_at"] = in_json(job.enqueued_at);
    object["vests_at"] = in_json(job.vests_at);
    object["waits"] = job.waits;
    object["lease_until"] = in_json(job.lease_until);
    if (job.state == job_state::leased && job.lease_until) {
        object["time_left_ms"] = saturating_subtract(*job.lease_until, now).count();
    }
    object["deadline"] = in_json(job.deadline);
    object["ended_at"] = in_json(job.ended_at);
    object["ended_by"] = job.ended_by ? json(to_text(*job.ended_by)) : json(nullptr);
    put(object, "reason", job.reason);
    put(object, "last_error", job.last_error);
    object["payload_size"] = job.payload_size;
    object["result_size"] = job.result_size;
    object["checkpoint_size"] = job.checkpoint_size;
    object["receipts"] = json::array();
    for (const auto& left : job.receipts) {
        object["receipts"].push_back(in_json(left));
    }
    return object;
}

/// With its bytes.
inline json whole_in_json(const record& job, instant now) {
    json object = in_json(job, now);
    put(object, "payload", job.payload);
    put(object, "result", job.result);
    put(object, "checkpoint", job.checkpoint);
    return object;
}

inline json in_json(const leasehold::queue_statistics& of) {
    json object = json::object();
    put(object, "queue", of.queue);
    object["ready"] = of.ready;
    object["delayed"] = of.delayed;
    object["leased"] = of.leased;
    object["finished"] = of.finished;
    object["quarantined"] = of.quarantined;
    object["cancelled"] = of.cancelled;
    object["oldest_ready"] = in_json(of.oldest_ready);
    return object;
}

inline json in_json(const overview& seen) {
    json object{{"now", in_json(seen.now)},
                {"queues", json::array()},
                {"leases", json::array()},
                {"quarantined", json::array()}};
    for (const auto& of : seen.queues) {
        object["queues"].push_back(in_json(of));
    }
    for (const record& job : seen.leases) {
        object["leases"].push_back(in_json(job, seen.now));
    }
    for (const record& job : seen.quarantined) {
        object["quarantined"].push_back(in_json(job, seen.now));
    }
    return object;
}

inline json in_json(const leasehold::amendment& came_to) {
    return {{"id", came_to.id.value}, {"verdict", to_text(came_to.why)}, {"at", in_json(came_to.at)}};
}

}  // namespace inspect
