// SPDX-License-Identifier: MIT
/// What a claim and a finish cost beside many other rows (ready, finished, delayed, leased, in other queues), and the
/// answer that there is nothing to do. Without syncs: only the work shows.
#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <leasehold/sqlite.hpp>

#include "backlog.hpp"
#include "comparison.hpp"
#include "measuring.hpp"
#include "work.hpp"

namespace {

using namespace bench;

constexpr std::size_t rounds = 31;
constexpr std::size_t jobs_a_turn = 500;
constexpr std::array<std::size_t, 4> sizes{1'000, 10'000, 100'000, 1'000'000};

/// A queue with a backlog, which is as it was after each turn.
class grown_queue {
public:
    grown_queue(backlog_kind kind, std::size_t rows) : file_{kind, rows} {}

    /// Claims and finishes a second.
    double work() {
        add_jobs(queue_, jobs_a_turn);
        const double rate = rate_of(jobs_a_turn, [&] {
            for (std::size_t i = 0; i < jobs_a_turn; ++i) {
                claim_and_finish(queue_);
            }
        });
        remove_finished();
        return rate;
    }

    /// Claims that find nothing, a second.
    double look() {
        return rate_of(jobs_a_turn, [&] {
            for (std::size_t i = 0; i < jobs_a_turn; ++i) {
                if (queue_.claim("bench", 1h)) {
                    throw std::runtime_error{"there was something to do"};
                }
            }
        });
    }

private:
    /// What was finished since the backlog was made. On the queue's own connection, which else would have to read all
    /// pages anew.
    void remove_finished() {
        queue_.transact([](auto& session) {
            session.native().exec(
                "DELETE FROM leasehold_payload WHERE id IN "
                "(SELECT id FROM leasehold_job WHERE state = 2 AND ended_at > 2)");
            session.native().exec("DELETE FROM leasehold_job WHERE state = 2 AND ended_at > 2");
        });
    }

    backlog_file file_;
    lease_queue queue_{{file_.path(), {.synchronous = synchronous_mode::off}}};
};

/// Measures one kind of backlog in all sizes, and puts the cost with the most rows over that with the least.
void measure(figures& to, backlog_kind kind, const std::vector<std::size_t>& rows) {
    std::vector<std::unique_ptr<grown_queue>> queues;
    std::vector<std::function<double()>> sides;
    for (const std::size_t count : rows) {
        grown_queue& made = *queues.emplace_back(std::make_unique<grown_queue>(kind, count));
        made.work();
        sides.emplace_back([&made] { return made.work(); });
    }
    const auto rates = in_turn(rounds, sides);
    const std::string name{to_text(kind)};
    to["growth_" + name] = median_ratio(rates.front(), rates.back());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        to["backlog_" + std::to_string(rows[i]) + "_rate_" + name] = median(rates[i]);
    }
    if (kind == backlog_kind::delayed) {
        compare(to, "growth_empty", rounds, {"with_1000", [&] { return queues.front()->look(); }},
                {"with_1000000", [&] { return queues.back()->look(); }});
    }
}

void measure_growth(figures& to) {
    const std::vector<std::size_t> all{sizes.begin(), sizes.end()};
    for (const backlog_kind kind :
         {backlog_kind::ready, backlog_kind::finished, backlog_kind::delayed, backlog_kind::leased}) {
        measure(to, kind, all);
    }
    measure(to, backlog_kind::queues, {sizes.front(), sizes.back()});
}

const bool registered = measured_once({{"growth", measure_growth}});

}  // namespace
