// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include <rapidcheck.h>
#include <rapidcheck/detail/TestListener.h>

#include "model/model.hpp"
#include "model/player.hpp"
#include "model/step.hpp"
#include "support/places.hpp"

namespace model {

/// One sequence on a queue in a fresh place, through two handles of it, and on the model beside it.
template <class Place, class Model>
class comparison {
public:
    comparison() {
        q_.clock.set(places::at(1000));
        model_.now = q_.clock.now();
        q_.queue.enqueue({});  // so that its row tells the store's id
        model_.enqueue({});
        model_.store = q_.queue.find(job_id{1})->store;
        using store = typename Place::store_type;
        model_.leaves_out = std::is_same_v<store, sqlite_store>   ? gaps::none
                            : std::is_same_v<store, memory_store> ? gaps::taken_back
                                                                  : gaps::all;
    }

    /// Whether both agreed from the first step to the last.
    bool agree(const std::vector<step>& steps) {
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if (!agree(steps[i]) || (i % table_every == 0 && !same_table())) {
                return false;
            }
        }
        return same_table();
    }

    /// One line a step; where the two differ, one of each.
    const std::string& timeline() const { return timeline_; }
    std::size_t commands() const { return commands_; }
    /// Verbs with the first word of what they answered.
    const std::set<std::string>& kinds() const { return kinds_; }

private:
    static constexpr std::size_t table_every = 5;

    bool agree(const step& s) {
        if (s.what == verb::clock_step) {
            q_.clock.advance(clock_step_of(s));
            model_.now = q_.clock.now();
            return true;
        }
        ++commands_;
        if (s.what == verb::new_store_id) {
            model_.store = q_.queue.new_store_id();
            note(s, "new_store_id", "another");
            return true;
        }
        const told queue = on_queue_.play(s, model_.now);
        const told own = on_model_.play(s, model_.now);
        note(s, queue.call, queue.answer);
        kinds_.insert(first_word(queue.call) + ' ' + first_word(queue.answer));
        return queue.answer == own.answer || differ(own.answer);
    }

    static std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

    bool same_table() {
        std::vector<record> rows;
        for (page<record> part = second_.list({.limit = 7});; part = second_.list({.after = *part.next, .limit = 7})) {
            rows.insert(rows.end(), part.items.begin(), part.items.end());
            if (!part.next) {
                break;
            }
        }
        const std::vector<record> own = model_.list({.limit = 1000}).items;
        if (rows == own) {
            return true;
        }
        timeline_ += "then the rows are\n      " + line(rows) + '\n';
        return differ(line(own));
    }

    void note(const step& s, const std::string& call, const std::string& answer) {
        timeline_ +=
            to_text(model_.now) + ' ' + std::string{owners[s.who]} + "  " + call + "\n      -> " + answer + '\n';
    }

    bool differ(const std::string& own) {
        timeline_ += "  model: " + own + '\n';
        return false;
    }

    places::queue_in<Place> q_{};
    typename places::queue_in<Place>::queue_type second_{q_.store(), q_.clock};
    Model model_{};
    player<typename places::queue_in<Place>::queue_type> on_queue_{{&q_.queue, &second_}};
    player<Model> on_model_{{&model_}};
    std::string timeline_{};
    std::size_t commands_ = 0;
    std::set<std::string> kinds_{};
};

struct outcome {
    std::size_t commands = 0;
    std::set<std::string> kinds{};
    std::size_t steps = 0;         ///< of the shortest sequence on which the two differ; 0: none was found
    std::string counterexample{};  ///< its timeline
};

/// Says nothing: what there is to say is in the outcome.
struct silence final : rc::detail::TestListener {
    void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
    void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
    void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};

/// `sequences` random ones, longer and longer; stops at the first that differs, and makes that as short as it can.
template <class Place, class Model>
outcome compare(std::size_t sequences, std::uint64_t from_seed) {
    outcome found;
    rc::detail::TestParams params;
    params.seed = from_seed;
    params.maxSuccess = static_cast<int>(sequences);
    params.maxSize = 300;
    const auto same = [&](const std::vector<step>& steps) {
        comparison<Place, Model> both;
        const bool agreed = both.agree(steps);
        found.commands += both.commands();
        found.kinds.insert(both.kinds().begin(), both.kinds().end());
        if (!agreed) {  // the last one that differs is the shortest
            found.steps = steps.size();
            found.counterexample = both.timeline();
        }
        return agreed;
    };
    silence listener;
    rc::detail::checkTestable(same, rc::detail::TestMetadata{}, params, listener,
                              std::unordered_map<std::string, rc::detail::Reproduce>{});
    return found;
}

}  // namespace model
