// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <leasehold/job.hpp>
#include <leasehold/settlement.hpp>

#include "as_json.hpp"
#include "overview.hpp"

/// What an operator does to jobs: shown first, asked for, and done only to the round that was shown.
namespace inspect {

struct asking {
    bool is_sure = false;  ///< is not asked
    bool in_json = false;
};

/// Standard output is for what came of it; the question goes beside that.
inline bool confirmed(const std::string& question, const asking& how) {
    if (how.is_sure) {
        return true;
    }
    std::cerr << question << " [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    const bool yes = answer == "y" || answer == "yes";
    if (!yes) {
        std::cerr << "inspect: nothing was done\n";
    }
    return yes;
}

/// `verb(id, token)` on each of the jobs. Says whether it was applied to all of them.
template <class Queue, class Verb>
bool amend(const Queue& queue, const std::string& what, const std::vector<std::int64_t>& ids, const asking& how,
           const Verb& verb) {
    std::vector<record> jobs;
    for (const std::int64_t id : ids) {
        auto job = queue.find(leasehold::job_id{id});
        if (!job) {
            std::cerr << "inspect: there is no job " << id << '\n';
            return false;
        }
        std::cerr << (how.is_sure ? ""
                                  : "job " + to_text(job->id) + ": " + std::string{to_text(job->state)} + ", queue " +
                                        shown(job->queue) + ", key " + shown(job->key) + ", token " +
                                        to_text(job->token) + ", attempt " + attempts(*job) + '\n');
        jobs.push_back(std::move(*job));
    }
    if (!confirmed(what + (jobs.size() == 1 ? " it?" : " them?"), how)) {
        return false;
    }
    bool all = true;
    for (const record& job : jobs) {
        const leasehold::amendment came_to = verb(job.id, job.token);
        all = all && came_to;
        std::cout << (how.in_json ? one_line(in_json(came_to)) : to_text(came_to)) << std::endl;
    }
    return all;
}

struct pruning {
    millis older_than{};
    bool quarantined = false;
};

/// Erases in portions, so that nobody waits long for the lock.
template <class Queue>
bool prune(Queue& queue, const pruning& which, const asking& how) {
    const std::string kinds =
        which.quarantined ? "finished, cancelled, or SET ASIDE for a person" : "finished or cancelled";
    const std::string when = which.older_than > millis{} ? ", " + shown(which.older_than) + " ago or before" : "";
    if (!confirmed("Erase for ever, with results and receipts, every job that has been " + kinds + when + "?", how)) {
        return false;
    }
    constexpr std::size_t portion = 1000;
    std::uint64_t erased = 0;
    for (std::size_t some = portion; some == portion; erased += some) {
        some = queue.prune({.older_than = which.older_than, .limit = portion, .quarantined = which.quarantined});
    }
    std::cout << (how.in_json ? one_line(json{{"erased", erased}}) : "erased " + std::to_string(erased)) << std::endl;
    return true;
}

}  // namespace inspect
