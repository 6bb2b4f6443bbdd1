// SPDX-License-Identifier: MIT
/// Random sequences of every verb: the queue on a server answers as a plain model of it does.
#include <cstdint>
#include <iostream>

#include "model/comparison.hpp"
#include "postgres/place.hpp"
#include "support/soak.hpp"

namespace {

TEST_CASE("whatever is asked in whatever order, the queue answers as the model does - postgres", "[model]") {
    const std::uint64_t from_seed = seed();
    const model::outcome found = model::compare<places::postgres, model::queue<>>(soak(150), from_seed);
    INFO("LEASEHOLD_SEED=" << from_seed << '\n' << found.counterexample);
    CHECK(found.steps == 0);
    CHECK(found.commands >= soak(5'000));
    CHECK(found.kinds.size() >= 100);
    std::cout << "figure: postgres model: " << found.commands << " commands, " << found.kinds.size()
              << " kinds of answers\n";
}

}  // namespace
