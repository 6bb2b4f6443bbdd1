// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include <leasehold/job.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/text.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0 {

/// How a row stood when a verb had been judged, and done where it was applied. Never its bytes.
struct standing {
    marker round{};                      ///< of its last round; without a holder its owner is empty
    job_state state = job_state::ready;  ///< where the job stands
    std::optional<ender> ended_by{};     ///< once it has ended
    std::optional<instant> deadline{};   ///< unset: none
};

/// What became of a holder's verb. A rejection is an ordinary answer: no column of any row has changed.
struct [[nodiscard]] settlement {
    verdict why = verdict::missing;     ///< `applied`, or the first reason against it
    instant at{};                       ///< the instant it was judged by
    marker presented{};                 ///< as the caller gave it
    std::optional<standing> current{};  ///< nothing for a foreign marker or a missing job

    explicit operator bool() const noexcept { return why == verdict::applied; }

    /// Whether the job's end is the presented round's own doing: for a finish whose answer was lost.
    bool ended_by_presented() const noexcept {
        return current && current->ended_by == ender::holder && current->round.store == presented.store &&
               current->round.id == presented.id && current->round.token == presented.token;
    }
};

/// What became of an operator's verb.
struct [[nodiscard]] amendment {
    verdict why = verdict::missing;     ///< `applied`, or the first reason against it
    instant at{};                       ///< the instant it was judged by
    job_id id{};                        ///< the job, as the caller named it
    std::optional<standing> current{};  ///< nothing for a missing job

    explicit operator bool() const noexcept { return why == verdict::applied; }
};

namespace detail {

/// `owner=A token=1 lease_until=1000`, and the attempt where that is what differs.
inline std::string describe(const marker& m, bool with_attempt) {
    const bool held = !m.owner.empty();
    return "owner=" + (held ? readable(m.owner) : "none") + " token=" + to_text(m.token) +
           (with_attempt ? " attempt=" + std::to_string(m.attempt) : "") +
           " lease_until=" + (held ? to_text(m.lease_until) : "none");
}

inline std::string describe(const standing& now, bool with_attempt) {
    std::string text = describe(now.round, with_attempt);
    if (now.state != job_state::leased) {
        text += " state=" + std::string{to_text(now.state)};
    }
    if (now.ended_by) {
        text += " ended_by=" + std::string{to_text(*now.ended_by)};
    }
    if (now.deadline) {
        text += " deadline=" + to_text(*now.deadline);
    }
    return text;
}

inline std::string headline(verdict why, instant at) {
    return why == verdict::applied ? "applied at " + to_text(at)
                                   : "rejected (" + std::string{to_text(why)} + ") at " + to_text(at);
}

}  // namespace detail

/// One line with both sides on it:
/// `rejected (superseded) at 1001: presented owner=A token=1 lease_until=1000; row has owner=B token=2
/// lease_until=2000`
inline std::string to_text(const settlement& s) {
    const bool with_attempt = s.why == verdict::altered && s.current && s.current->round.attempt != s.presented.attempt;
    std::string text = detail::headline(s.why, s.at) + ": presented " + detail::describe(s.presented, with_attempt);
    if (s.current) {
        return text + "; row has " + detail::describe(*s.current, with_attempt);
    }
    return text + (s.why == verdict::foreign ? "; the marker is another store's" : "; there is no such job");
}

/// One line, like a settlement's.
inline std::string to_text(const amendment& a) {
    return detail::headline(a.why, a.at) + ": job " + to_text(a.id) +
           (a.current ? "; row has " + detail::describe(*a.current, false) : "; there is no such job");
}

}  // namespace leasehold::inline v0_1_0
