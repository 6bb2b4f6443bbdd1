// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <leasehold/job.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/settlement.hpp>

/// Answers in full, on one line each: what is not printed is not compared.
namespace model {

using namespace leasehold;

inline std::string line(std::optional<instant> at) { return at ? to_text(*at) : "never"; }

inline std::string line(const marker& m) {
    return "job " + to_text(m.id) + " owner=" + m.owner + " token=" + to_text(m.token) +
           " attempt=" + std::to_string(m.attempt) + " until=" + to_text(m.lease_until);
}

inline std::string line(const std::vector<receipt>& receipts) {
    std::string text;
    for (const receipt& each : receipts) {
        text += " receipt(" + to_text(each.token) + ' ' + each.owner + ' ' + to_text(each.at) + ' ' + each.note + ')';
    }
    return text;
}

inline std::string line(const lease& held) {
    return line(static_cast<const marker&>(held)) + " granted=" + to_text(held.granted) +
           " local=" + std::to_string(held.local_until.time_since_epoch().count()) + " queue=" + held.queue +
           " key=" + held.key + " payload=" + held.payload + " deadline=" + line(held.deadline) +
           " checkpoint=" + held.checkpoint + line(held.receipts);
}

inline std::string line(const std::optional<lease>& held) { return held ? line(*held) : "nothing"; }

inline std::string line(const record& job) {
    return line(job.marker()) + ' ' + std::string{to_text(job.state)} + " of " + job.queue + " key=" + job.key +
           " priority=" + std::to_string(job.priority) + " max=" + std::to_string(job.max_attempts) +
           (job.waits ? " waits until " : " in line at ") + to_text(job.vests_at) + " deadline=" + line(job.deadline) +
           " failures=" + std::to_string(job.failures) + " lapses=" + std::to_string(job.lapses) +
           " ended_by=" + (job.ended_by ? std::string{to_text(*job.ended_by)} : "nobody") + " at " +
           line(job.ended_at) + " reason=" + job.reason + " last_error=" + job.last_error +
           " enqueued_at=" + to_text(job.enqueued_at) + " payload=" + job.payload + " result=" + job.result +
           " checkpoint=" + job.checkpoint + " sizes=" + std::to_string(job.payload_size) + '/' +
           std::to_string(job.result_size) + '/' + std::to_string(job.checkpoint_size) + line(job.receipts);
}

inline std::string line(const std::optional<record>& job) { return job ? line(*job) : "none"; }

inline std::string line(const std::optional<standing>& now) {
    if (!now) {
        return "no row";
    }
    return line(now->round) + ' ' + std::string{to_text(now->state)} +
           (now->ended_by ? " by " + std::string{to_text(*now->ended_by)} : "") + " deadline=" + line(now->deadline);
}

inline std::string line(const settlement& s) {
    return std::string{to_text(s.why)} + " at " + to_text(s.at) + "; presented " + line(s.presented) + "; row has " +
           line(s.current);
}

inline std::string line(const amendment& a) {
    return std::string{to_text(a.why)} + " at " + to_text(a.at) + ": job " + to_text(a.id) + "; row has " +
           line(a.current);
}

inline std::string line(const enqueued& answer) { return to_text(answer); }

template <class T>
std::string line(const std::vector<T>& all) {
    std::string text = all.empty() ? "nothing" : "";
    for (const T& each : all) {
        text += (text.empty() ? "" : "\n  and ") + line(each);
    }
    return text;
}

inline std::string line(const page<record>& page) {
    return line(page.items) + (page.next ? "; more after " + to_text(*page.next) : "");
}

inline std::string line(const statistics& counted) {
    std::string text;
    for (const queue_statistics& q : counted.queues) {
        text += q.queue + ": ready " + std::to_string(q.ready) + ", delayed " + std::to_string(q.delayed) +
                ", leased " + std::to_string(q.leased) + ", finished " + std::to_string(q.finished) + ", quarantined " +
                std::to_string(q.quarantined) + ", cancelled " + std::to_string(q.cancelled) + ", oldest " +
                line(q.oldest_ready) + "; ";
    }
    return text;
}

}  // namespace model
