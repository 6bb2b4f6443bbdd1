// SPDX-License-Identifier: MIT
/// Random sequences of every verb: the queue answers as a plain model of it does, on every store.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "model/comparison.hpp"
#include "model/model.hpp"
#include "model/step.hpp"
#include "support/places.hpp"
#include "support/soak.hpp"

namespace {

using namespace places;
using model::compare;
using model::flaw;
using model::outcome;
using model::step;
using model::verb;

TEMPLATE_TEST_CASE("whatever is asked in whatever order, the queue answers as the model does", "[model]", EVERY_STORE) {
    const std::uint64_t from_seed = seed();
    const outcome found = compare<TestType, model::queue<>>(soak(650), from_seed);
    INFO("LEASEHOLD_SEED=" << from_seed << '\n' << found.counterexample);
    CHECK(found.steps == 0);
    CHECK(found.commands >= soak(34'000));
    CHECK(found.kinds.size() >= 120);  // of the random steps: they come to nearly every answer of every verb
    std::cout << "figure: model: " << found.commands << " commands, " << found.kinds.size() << " kinds of answers\n";
}

// ---- Models with a planted fault: to see that the comparison notices, and what it then shows. -----------------------

struct lease_end_inclusive : model::sentences {
    static constexpr auto says = "a lease is still live at its end";
    static bool is_over(instant end, instant now) { return end < now; }
};
struct renewal_shortens : model::sentences {
    static constexpr auto says = "a renewal may shorten";
    static instant renewed(instant, instant asked) { return asked; }
};
struct release_spends_the_attempt : model::sentences {
    static constexpr auto says = "a release spends its attempt";
    static std::int32_t after_release(std::int32_t attempt) { return attempt; }
};
struct ties_go_to_the_younger : model::sentences {
    static constexpr auto says = "of two that vested at once the younger goes first";
    static bool goes_first(const record& a, const record& b) {
        const bool tie = a.priority == b.priority && a.vests_at == b.vests_at;
        return tie ? a.id > b.id : sentences::goes_first(a, b);
    }
};
struct a_step_back_overtakes : model::sentences {
    static constexpr auto says = "a row made ready after a step back overtakes";
    static instant behind(instant, instant now) { return now; }
};
struct older_tokens_only_are_refused : model::sentences {
    static constexpr auto says = "a token that is yet to come is not refused as another round's";
    static bool is_other_round(claim_token presented, claim_token row) { return presented < row; }
};

TEMPLATE_TEST_CASE("a planted fault is noticed, and shown in a few steps", "[model]", lease_end_inclusive,
                   renewal_shortens, release_spends_the_attempt, ties_go_to_the_younger, a_step_back_overtakes,
                   older_tokens_only_are_refused) {
    const std::uint64_t from_seed = seed();
    const outcome found = compare<places::memory, model::queue<TestType>>(650, from_seed);
    INFO("LEASEHOLD_SEED=" << from_seed << '\n' << found.counterexample);
    CHECK(found.steps >= 2);
    CHECK(found.steps <= 8);
    CHECK_THAT(found.counterexample, contains("  model: "));
    std::cout << found.counterexample << "figure: model: planted: " << TestType::says << ": shown in " << found.steps
              << " steps\n";
}

}  // namespace
