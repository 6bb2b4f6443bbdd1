// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "history/call.hpp"
#include "history/recorder.hpp"

/// Faults written into the record of a history: answers that read as a queue with that fault would give them.
namespace history {

/// A place in a text after `name`, up to the next blank.
struct field {
    std::string& text;
    std::size_t from = 0;
    std::size_t length = 0;

    field(std::string& in, const std::string& name) : text{in} {
        from = text.find(' ' + name + '=') + name.size() + 2;
        length = text.find_first_of(" ;", from) - from;
    }
    std::int64_t number() const { return std::stoll(text.substr(from, length)); }
    void set(const std::string& value) const { text.replace(from, length, value); }
};

inline bool says(const call& made, std::string_view answer) { return made.answer.starts_with(answer); }

inline std::string deadline_in(const call& made) {
    const std::size_t from = made.answer.rfind("deadline=") + 9;
    return made.answer.substr(from, made.answer.find(';', from) - from);
}

/// The presented round's finish, as if it had counted.
inline void let_finish(call& made) {
    const std::string round = model::line(made.round);
    made.answer = "applied at " + leasehold::to_text(*made.at) + "; presented " + round + "; row has " + round +
                  " finished by holder deadline=" + deadline_in(made);
}

inline void let_renew(call& made) {
    const std::string before = model::line(made.round);
    marker moved = made.round;
    moved.lease_until = *made.at + made.length.to_chrono();
    const std::string after = model::line(moved);
    made.answer = "applied at " + leasehold::to_text(*made.at) + "; presented " + before + "; row has " + after +
                  " leased deadline=never; holds " + after;
}

/// The job that another call was granted, in the next round.
inline void grant_too(call& made, const call& other) {
    made.answer = other.answer;
    const std::string end = leasehold::to_text(*made.at + made.length.to_chrono());
    field{made.answer, "owner"}.set(made.who);
    for (const char* const counted : {"token", "attempt"}) {
        const field number{made.answer, counted};
        number.set(std::to_string(number.number() + 1));
    }
    field{made.answer, "until"}.set(end);
    field{made.answer, "granted"}.set(leasehold::to_text(*made.at));
    field{made.answer, "local"}.set(end);
}

/// Writes a fault into a call; false where that call gives no occasion for it.
struct fault {
    std::string_view says;
    bool (*into)(std::vector<call>& calls, std::size_t at);
};

inline bool is_granted(const call& made) { return made.what == verb::claim && says(made, "job "); }

inline const std::array<fault, 11> faults{{
    {"a finish counts after the lease's end",
     [](std::vector<call>& calls, std::size_t i) {
         call& made = calls[i];
         const bool fits = made.what == verb::finish && says(made, "expired");
         if (fits) {
             let_finish(made);
         }
         return fits;
     }},
    {"a finish counts in another's round",
     [](std::vector<call>& calls, std::size_t i) {
         call& made = calls[i];
         const bool fits = made.what == verb::finish && says(made, "superseded");
         if (fits) {
             let_finish(made);
         }
         return fits;
     }},
    {"a renewal counts after the lease's end",
     [](std::vector<call>& calls, std::size_t i) {
         call& made = calls[i];
         const bool fits = made.what == verb::renew && says(made, "expired") && deadline_in(made) == "never";
         if (fits) {
             let_renew(made);
         }
         return fits;
     }},
    {"a token is given twice",
     [](std::vector<call>& calls, std::size_t i) {
         if (!is_granted(calls[i])) {
             return false;
         }
         const field token{calls[i].answer, "token"};
         const bool fits = token.number() > 1;
         if (fits) {
             token.set(std::to_string(token.number() - 1));
         }
         return fits;
     }},
    {"a token falls",
     [](std::vector<call>& calls, std::size_t i) {
         if (!is_granted(calls[i])) {
             return false;
         }
         const field token{calls[i].answer, "token"};
         const bool fits = token.number() > 2;
         if (fits) {
             token.set(std::to_string(token.number() - 2));
         }
         return fits;
     }},
    {"two hold one job at once",
     [](std::vector<call>& calls, std::size_t i) {
         call& made = calls[i];
         const auto other = std::find_if(calls.begin(), calls.end(), [&](call& each) {
             return is_granted(each) && each.process != made.process && each.at < made.at && made.at &&
                    made.at->time_since_epoch().count() < field{each.answer, "until"}.number();
         });
         const bool fits = made.what == verb::claim && says(made, "nothing") && other != calls.end();
         if (fits) {
             grant_too(made, *other);
         }
         return fits;
     }},
    {"a claim does not see a job that is there",
     [](std::vector<call>& calls, std::size_t i) {
         const bool fits = is_granted(calls[i]);
         if (fits) {
             calls[i].answer = "nothing";
         }
         return fits;
     }},
    {"a key is taken twice",
     [](std::vector<call>& calls, std::size_t i) {
         const bool fits = calls[i].what == verb::enqueue && says(calls[i], "duplicate");
         if (fits) {
             calls[i].answer = "accepted 1000 ready";
         }
         return fits;
     }},
    {"a look sees the time before the caller's own last word",
     [](std::vector<call>& calls, std::size_t i) {
         const call& end = calls[i];
         const auto is_look = [&](const call& each) {
             return each.what == verb::find && each.round.id == end.round.id && says(each, "job ");
         };
         const auto here = calls.begin() + static_cast<std::ptrdiff_t>(i);
         const auto after = std::find_if(
             here, calls.end(), [&](const call& each) { return each.process == end.process && is_look(each); });
         const auto before = std::find_if(calls.begin(), calls.end(),
                                          [&](const call& each) { return each.end < end.start && is_look(each); });
         const bool ends = end.what == verb::finish || end.what == verb::fail || end.what == verb::release;
         const bool fits = ends && says(end, "applied") && after != calls.end() && before != calls.end();
         if (fits) {
             after->answer = before->answer;
         }
         return fits;
     }},
    {"a finished job is ready at last",
     [](std::vector<call>& calls, std::size_t i) {
         const std::size_t where = calls[i].answer.find(" finished of ");
         const bool fits = calls[i].what == verb::list && where != std::string::npos;
         if (fits) {
             calls[i].answer.replace(where, 13, " ready of ");
         }
         return fits;
     }},
    {"a job is gone at last",
     [](std::vector<call>& calls, std::size_t i) {
         const std::size_t where = calls[i].answer.rfind("\n  and ");
         const bool fits = i + 1 == calls.size() && where != std::string::npos;
         if (fits) {
             calls[i].answer.resize(where);
         }
         return fits;
     }},
}};

}  // namespace history
