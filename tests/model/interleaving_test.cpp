// SPDX-License-Identifier: MIT
/// Every order in which a few workers and the clock can take turns at a few jobs, each state of it once.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/small_world.hpp"
#include "support/places.hpp"
#include "support/soak.hpp"
#include "support/troubled_store.hpp"

namespace interleaving {
namespace {

using namespace std::chrono_literals;

/// What a worker sets out to do, step by step. What it cannot do then, without a round, it leaves out.
using program = std::array<act, 8>;

/// How far a walk goes; the clock ticks as often as it likes.
struct scope {
    std::size_t workers = 2;
    std::size_t jobs = 1;
    std::int8_t steps = 8;            ///< of each worker
    std::int8_t revokes = 0;          ///< of an operator
    std::vector<program> programs{};  ///< of each worker; none: at each step it does whatever it may
};

/// What is no fault of the test's but one of the queue's.
struct violation : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Walks through all states that can be reached, and looks at each.
template <class Store>
class walk {
public:
    explicit walk(const scope& how) : scope_{how} {
        for (std::size_t i = 0; i < scope_.jobs; ++i) {
            ids_.push_back(queue_.enqueue({.payload = std::to_string(i), .max_attempts = max_attempts}).id);
        }
    }

    /// Throws `violation`, with the way there.
    void all() {
        small_world start;
        see(start);
        arrive(start, {});
        for (std::size_t at = 0; at < nodes_.size(); ++at) {
            leave(static_cast<std::uint32_t>(at));
        }
    }

    std::size_t states() const { return known_.size(); }
    std::size_t transitions() const { return transitions_; }

private:
    static constexpr std::int32_t max_attempts = 2;
    static constexpr millis lease_for = 2ms;
    static constexpr std::int64_t now = 1000;  ///< of every state
    static constexpr std::uint32_t nowhere = UINT32_MAX;
    using steps = std::array<std::int8_t, most_workers + 1>;  ///< that were made, by each worker and the operator

    /// How a state was reached. One state may be worth several: with other steps left.
    struct node {
        small_world world{};
        steps made{};
        act what{};
        std::uint8_t who = 0;  ///< a worker, or a job that is revoked
        std::uint32_t from = nowhere;
        std::uint32_t other = nowhere;  ///< the same state, with other steps made
    };

    struct by_world {
        const std::vector<node>& nodes;
        std::size_t operator()(std::uint32_t i) const { return std::hash<std::string_view>{}(nodes[i].world.bytes()); }
        bool operator()(std::uint32_t a, std::uint32_t b) const {
            return nodes[a].world.bytes() == nodes[b].world.bytes();
        }
    };

    // ---- From state to state ----

    void leave(std::uint32_t from) {
        go(from, act::tick, 0);
        const steps made = nodes_[from].made;
        for (std::size_t who = 0; who < scope_.workers; ++who) {
            if (made[who] == scope_.steps) {
                continue;
            }
            if (!scope_.programs.empty()) {
                go(from, scope_.programs[who][static_cast<std::size_t>(made[who])], who);
                continue;
            }
            for (act what = act::claim; what <= act::release_old; what = next(what)) {
                go(from, what, who);
            }
        }
        if (made[most_workers] < scope_.revokes) {
            for (std::size_t job = 0; job < scope_.jobs; ++job) {
                go(from, act::revoke, job);
            }
        }
    }

    static act next(act what) { return static_cast<act>(static_cast<int>(what) + 1); }

    void go(std::uint32_t from, act what, std::size_t who) {
        node there{nodes_[from].world, nodes_[from].made, what, static_cast<std::uint8_t>(who), from, nowhere};
        try {
            if (!happens(there.world, what, who) && scope_.programs.empty()) {
                return;
            }
            ++transitions_;
            if (what != act::tick) {
                ++there.made[what == act::revoke ? most_workers : who];
            }
            arrive(there.world, there);
        } catch (const violation& found) {
            throw violation{way_to(from) + step_text(what, who) + ": " + found.what()};
        }
    }

    void arrive(const small_world& world, const node& how) {
        nodes_.push_back(how);
        nodes_.back().world = world;
        const auto at = static_cast<std::uint32_t>(nodes_.size() - 1);
        const auto [known, is_new] = known_.insert(at);
        if (is_new) {
            is_sound(world);
            can_end(world);
            return;
        }
        for (std::uint32_t same = *known; same != nowhere; same = nodes_[same].other) {
            if (covers(nodes_[same].made, how.made)) {
                nodes_.pop_back();
                return;
            }
        }
        nodes_.back().other = std::exchange(nodes_[*known].other, at);
    }

    /// Whether what may come after the one may come after the other.
    bool covers(const steps& one, const steps& other) const {
        return std::equal(one.begin(), one.end(), other.begin(), [&](std::int8_t of_one, std::int8_t of_other) {
            return scope_.programs.empty() ? of_one <= of_other : of_one == of_other;
        });
    }

    // ---- What happens ----

    /// False where there is nothing to do it with.
    bool happens(small_world& world, act what, std::size_t who) {
        if (what == act::tick) {
            world.tick();
            return true;
        }
        if (what == act::revoke) {
            return revoke(world, who);
        }
        worker& one = world.workers[who];
        const bool has_round = one.round.token != 0;
        const bool has_old = one.old.token != 0;
        switch (what) {
            case act::claim: return !has_round && (claim(world, who), true);
            case act::crash: return has_round && (one.old = std::exchange(one.round, {}), true);
            case act::finish:
            case act::renew:
            case act::fail:
            case act::release: return has_round && (settle(world, who, what, one.round), true);
            default: return has_old && (settle(world, who, what, one.old), true);
        }
    }

    void claim(small_world& world, std::size_t who) {
        show(world);
        const std::optional<lease> held = queue_.claim(names[who], lease_for);
        const small_world before = world;
        see(world);
        notice_set_aside(world, before);
        if (!held) {
            expect(world.rows == before.rows || someone_was_set_aside_, "a claim of nothing changed a row");
            for (std::size_t job = 0; job < scope_.jobs; ++job) {
                expect(!may_be_taken(world.heard[job]), "a claim found nothing, though a job was there to be taken");
            }
            return;
        }
        const std::size_t job = index_of(held->id);
        hearsay& heard = world.heard[job];
        expect(may_be_taken(heard), "a job was granted that was not to be taken: two would be right at once");
        expect(held->token.value == heard.token + 1, "a token is not the next one");
        expect(held->owner == names[who] && held->lease_until > at(0) &&
                   held->lease_until <= at(0) + lease_for.to_chrono(),
               "a lease is not as asked for");
        heard = {phase::held, small(held->token.value), ticks(held->lease_until), 0};
        world.workers[who].round = {static_cast<std::int8_t>(job), heard.token, small(held->attempt), heard.until};
        world.keep_order_of_past();
    }

    void settle(small_world& world, std::size_t who, act what, hand& with) {
        show(world);
        const small_world before = world;
        lease round{marker_of(with, who)};
        const settlement answer = settle(what, round);
        see(world);
        hearsay& heard = world.heard[static_cast<std::size_t>(with.job)];
        const bool counts =
            heard.now == phase::held && heard.token == with.token && heard.until == with.until && heard.until > 0;
        expect(static_cast<bool>(answer) || !counts, "a live holder was refused: " + to_text(answer));
        expect(!answer || counts, "one who holds nothing was heard: " + to_text(answer));
        expect(answer || world.rows == before.rows, "a refusal changed a row");
        if (answer) {
            hear(heard, what, round, answer);
        }
        worker& one = world.workers[who];
        if (what == act::renew && answer) {
            one.old = one.round;
            one.round.until = ticks(round.lease_until);
        } else if (what == act::renew_old && answer) {
            one.old.until = ticks(round.lease_until);
        } else if (&with == &one.round) {
            one.old = std::exchange(one.round, {});  // done, or told that it is not its own
        }
        world.keep_order_of_past();
    }

    settlement settle(act what, lease& round) {
        switch (what) {
            case act::finish:
            case act::finish_old: return queue_.finish(round);
            case act::renew:
            case act::renew_old: return queue_.renew(round, lease_for);
            case act::fail:
            case act::fail_old: return queue_.fail(round, "e", 1ms);
            default: return queue_.release(round);
        }
    }

    static void hear(hearsay& heard, act what, const lease& round, const settlement& answer) {
        switch (what) {
            case act::finish:
            case act::finish_old: heard = {phase::finished, heard.token, 0, 0}; break;
            case act::renew:
            case act::renew_old:
                expect(ticks(round.lease_until) >= heard.until, "a renewal shortened a lease");
                heard.until = ticks(round.lease_until);
                break;
            default:
                if (answer.current->state == job_state::quarantined) {
                    heard = {phase::set_aside, heard.token, 0, 0};
                } else {
                    heard = {phase::free, heard.token, 0, static_cast<std::int8_t>(is_fail(what) ? 1 : 0)};
                }
        }
    }

    static bool is_fail(act what) { return what == act::fail || what == act::fail_old; }

    bool revoke(small_world& world, std::size_t job) {
        if (world.heard[job].now != phase::held) {
            return false;
        }
        show(world);
        expect(static_cast<bool>(queue_.revoke(ids_[job], {world.heard[job].token})), "an operator was refused");
        see(world);
        world.heard[job] = {phase::free, world.heard[job].token, 0, 0};
        world.keep_order_of_past();
        return true;
    }

    // ---- What must hold ----

    static void expect(bool holds, const std::string& otherwise) {
        if (!holds) {
            throw violation{otherwise};
        }
    }

    static bool may_be_taken(const hearsay& heard) {
        return (heard.now == phase::free && heard.free_from <= 0) || (heard.now == phase::held && heard.until <= 0);
    }

    /// A claim may set aside what has no attempt left, of which its answer says nothing: but only what it might take.
    void notice_set_aside(small_world& world, const small_world& before) {
        someone_was_set_aside_ = false;
        for (std::size_t job = 0; job < scope_.jobs; ++job) {
            if (state_of(world.rows[job]) == job_state::quarantined && world.heard[job].now != phase::set_aside) {
                expect(may_be_taken(world.heard[job]) && before.rows[job].attempt == max_attempts,
                       "a job was set aside that could still be worked on");
                world.heard[job] = {phase::set_aside, world.heard[job].token, 0, 0};
                someone_was_set_aside_ = true;
            }
        }
    }

    /// Of every state: the rows are as the answers said, and of all that are remembered at most one marker is valid.
    void is_sound(const small_world& world) const {
        for (std::size_t job = 0; job < scope_.jobs; ++job) {
            const small_row& row = world.rows[job];
            const hearsay& heard = world.heard[job];
            constexpr std::array as_heard{job_state::ready, job_state::leased, job_state::finished,
                                          job_state::quarantined};
            expect(state_of(row) == as_heard[static_cast<std::size_t>(heard.now)],
                   "a job is not where its answers said");
            expect(row.token == heard.token, "a row's token is not the last that was granted");
            expect(heard.now != phase::held || row.until == heard.until, "a lease ends at another instant than told");
        }
    }

    /// From every state: once all leases are over, somebody new can bring every job to its end.
    void can_end(const small_world& world) {
        small_world rows_alone{};
        rows_alone.rows = world.rows;
        if (!drained_.emplace(rows_alone.bytes()).second) {
            return;
        }
        show(world);
        clock_.set(at(100));
        for (std::size_t i = 0; i < scope_.jobs; ++i) {
            if (const auto held = queue_.claim("new", lease_for)) {
                expect(static_cast<bool>(queue_.finish(*held)), "somebody new could not finish");
            }
        }
        expect(!queue_.claim("new", lease_for), "there is still a job after the last");
        clock_.set(at(0));
        small_world after;
        see(after);
        for (std::size_t job = 0; job < scope_.jobs; ++job) {
            expect(
                state_of(after.rows[job]) == job_state::finished || state_of(after.rows[job]) == job_state::quarantined,
                "a job is stuck for ever");
        }
    }

    // ---- Between the store and the state ----

    static instant at(std::int64_t ticks_from_now) { return places::at(now + ticks_from_now); }
    static std::int8_t ticks(instant when) { return small((when - at(0)).count()); }
    static std::int8_t small(std::int64_t number) {
        expect(std::in_range<std::int8_t>(number),
               "a number or an instant is further away than any that was asked for");
        return static_cast<std::int8_t>(number);
    }
    static job_state state_of(const small_row& row) { return static_cast<job_state>(row.state); }
    std::size_t index_of(job_id id) const { return static_cast<std::size_t>(id.value - ids_.front().value); }

    marker marker_of(const hand& has, std::size_t who) const {
        return {
            identity_,    ids_[static_cast<std::size_t>(has.job)], std::string{names[who]}, {has.token}, has.attempt,
            at(has.until)};
    }

    /// Makes the store's rows the state's, by the store's own primitives.
    void show(const small_world& world) {
        auto writing = rows_.memory_store::begin(clock_);
        std::vector<row> rows = writing.hold(ids_);
        std::vector<change> changes(rows.size());
        for (std::size_t job = 0; job < rows.size(); ++job) {
            const small_row& as = world.rows[job];
            row& to = rows[job];
            to.state = state_of(as);
            to.owner = as.owner < 0 ? "" : names[static_cast<std::size_t>(as.owner)];
            to.token = {as.token};
            to.attempt = as.attempt;
            to.lease_until = as.owner < 0 ? std::nullopt : std::optional{at(as.until)};
            to.waits = as.waits != 0;
            to.vests_at = at(as.vests_at);
            to.ended_at = has_ended(to.state) ? std::optional{at(0)} : std::nullopt;
            to.ended_by = has_ended(to.state) ? std::optional{ender::holder} : std::nullopt;
            changes[job].to = &to;
        }
        writing.write(changes);
        writing.commit();
    }

    /// Makes the state's rows the store's. Of a job that has ended, nothing that may come asks when, or who held it.
    void see(small_world& world) {
        auto reading = rows_.memory_store::begin(clock_);
        const std::vector<row> rows = reading.hold(ids_);
        expect(rows.size() == scope_.jobs, "a job is lost");
        for (std::size_t job = 0; job < rows.size(); ++job) {
            const row& from = rows[job];
            small_row& to = world.rows[job];
            to = {static_cast<std::int8_t>(from.state), -1, small(from.token.value), 0, 0, 0, 0};
            if (!has_ended(from.state)) {
                to.owner = owner_of(from);
                to.attempt = small(from.attempt);
                to.until = from.lease_until ? ticks(*from.lease_until) : std::int8_t{0};
                to.waits = from.waits ? 1 : 0;
                to.vests_at = ticks(from.vests_at);
            }
        }
    }

    static std::int8_t owner_of(const row& from) {
        const auto found = std::find(names.begin(), names.end(), from.owner);
        return found == names.end() ? std::int8_t{-1} : small(found - names.begin());
    }

    // ---- The way to a state ----

    static std::string step_text(act what, std::size_t who) {
        const std::string name{act_names[static_cast<std::size_t>(what)]};
        return what == act::tick     ? name
               : what == act::revoke ? "job " + std::to_string(who) + ' ' + name
                                     : std::string{names[who]} + ' ' + name;
    }

    std::string way_to(std::uint32_t at) const {
        std::string way;
        for (; nodes_[at].from != nowhere; at = nodes_[at].from) {
            way.insert(0, step_text(nodes_[at].what, nodes_[at].who) + "; ");
        }
        return way;
    }

    scope scope_;
    manual_clock clock_{at(0)};
    Store rows_{};
    basic_lease_queue<manual_clock, Store> queue_{rows_, clock_};
    std::vector<job_id> ids_{};
    store_id identity_ = rows_.begin(clock_).identity();
    std::vector<node> nodes_{};
    std::unordered_set<std::uint32_t, by_world, by_world> known_{1 << 16, by_world{nodes_}, by_world{nodes_}};
    std::unordered_set<std::string> drained_{};
    std::size_t transitions_ = 0;
    bool someone_was_set_aside_ = false;
};

/// How many different states there are, and how many ways from one to the next.
struct extent {
    std::size_t states = 0;
    std::size_t transitions = 0;

    void operator+=(const extent& other) {
        states += other.states;
        transitions += other.transitions;
    }
    void print(const std::string& of) const {
        std::cout << "figure: interleavings: " << of << ": " << states << " states, " << transitions
                  << " transitions\n";
    }
};

/// Throws `violation`.
template <class Store = memory_store>
extent walked(const scope& how) {
    walk<Store> every{how};
    every.all();
    return {every.states(), every.transitions()};
}

/// The long form goes one step further.
std::int8_t further(int steps) { return static_cast<std::int8_t>(soak(1) > 1 ? steps + 1 : steps); }

TEST_CASE("whatever workers do in whatever order, one at most is right, and nothing is lost or stuck",
          "[interleaving]") {
    const scope how = GENERATE(scope{2, 1, further(8), 1}, scope{2, 2, further(3), 1}, scope{3, 1, further(3), 1},
                               scope{3, 2, further(2), 0});
    extent seen;
    REQUIRE_NOTHROW(seen = walked(how));
    CHECK(seen.states > 10'000);
    seen.print(std::to_string(how.workers) + " workers, " + std::to_string(how.jobs) + " jobs, any " +
               std::to_string(how.steps) + " steps each");
}

using enum act;
constexpr program fast{claim, finish, claim, finish, claim, finish, claim, finish};
constexpr program renewing{claim, renew, renew, finish, claim, renew, release, finish_old};
constexpr program crashing{claim, crash, finish_old, claim, renew_old, finish, claim, finish};
constexpr program failing{claim, fail, claim, fail, claim, release, claim, finish};
constexpr program late{claim, renew, crash, renew_old, finish_old, claim, crash, finish_old};

TEST_CASE("workers of eight steps each, in every order: one at most is right, and nothing is lost or stuck",
          "[interleaving]") {
    const std::size_t jobs = GENERATE(1U, 2U);
    std::vector<std::vector<program>> pairs{{late, late}, {renewing, crashing}, {crashing, failing}, {late, failing}};
    std::vector<std::vector<program>> threes{{late, crashing, fast}};
    if (jobs == 1 || soak(1) > 1) {
        pairs.insert(pairs.end(), {{fast, late}, {renewing, late}, {renewing, failing}, {crashing, crashing}});
        threes.insert(threes.end(), {{renewing, crashing, late}, {failing, renewing, fast}, {late, late, failing}});
    }
    for (const std::vector<std::vector<program>>& together : {pairs, threes}) {
        extent all;
        for (const std::vector<program>& each : together) {
            REQUIRE_NOTHROW(all +=
                            walked({each.size(), jobs, 8, each.size() == 2 ? std::int8_t{1} : std::int8_t{0}, each}));
        }
        all.print(std::to_string(together.front().size()) + " workers, " + std::to_string(jobs) +
                  " jobs, programs of 8 steps");
    }
}

// ---- Stores with a planted fault: to see that the walk notices, and the way that it then shows. ---------------------

/// What a fault replaces: what is written, and what time it is. Nothing is left of a row that is not to be written.
struct no_fault {
    static bool write(row& /*to*/, const row& /*before*/) { return true; }
    static millis ahead() { return {}; }
};
struct a_token_is_given_twice : no_fault {
    static constexpr auto says = "tokens only rise to 2";
    static bool write(row& to, const row&) { return to.token.value = std::min<std::int64_t>(to.token.value, 2), true; }
};
struct a_finish_is_lost : no_fault {
    static constexpr auto says = "a finish is answered, and not written";
    static bool write(const row& to, const row&) { return to.state != job_state::finished; }
};
struct a_renewal_is_lost : no_fault {
    static constexpr auto says = "a longer lease is answered, and not written";
    static bool write(const row& to, const row& before) {
        return to.state != job_state::leased || before.state != job_state::leased || to.token != before.token;
    }
};
struct a_released_job_is_stuck : no_fault {
    static constexpr auto says = "a released job waits for ever";
    static bool write(row& to, const row&) {
        if (to.state == job_state::ready && !to.waits) {
            to.waits = true;
            to.vests_at = places::at(1120);  // all else is over by then
        }
        return true;
    }
};
struct a_failed_job_is_cancelled : no_fault {
    static constexpr auto says = "a failed job is taken from the queue";
    static bool write(row& to, const row&) {
        if (to.failures > 0 && !has_ended(to.state)) {
            to.state = job_state::cancelled;
            to.ended_at = places::at(0);
        }
        return true;
    }
};
struct the_clock_is_behind : no_fault {
    static constexpr auto says = "calls are judged by an instant before they began";
    static millis ahead() { return -1ms; }
};
struct the_clock_is_ahead : no_fault {
    static constexpr auto says = "calls are judged by an instant that is yet to come";
    static millis ahead() { return 1ms; }
};

template <class Inner, class Fault>
struct broken_transaction : troubled::transaction<Inner> {
    using troubled::transaction<Inner>::transaction;

    reading now() {
        const reading right = troubled::transaction<Inner>::now();
        return {right.at + Fault::ahead().to_chrono(), right.taking_at + Fault::ahead().to_chrono(), right.pace};
    }
    void write(std::span<const change> changes) {
        for (change each : changes) {
            row to = *each.to;
            each.to = &to;
            if (Fault::write(to, troubled::transaction<Inner>::hold(std::span{&to.id, 1}).front())) {
                troubled::transaction<Inner>::write(std::span{&each, 1});
            }
        }
    }
};

template <class Fault>
struct broken_store : memory_store {
    template <local_clock Clock>
    auto begin(const Clock& clock) {
        const auto open = [&] { return memory_store::begin(clock); };
        return broken_transaction<decltype(open()), Fault>{open, troubled::trouble::none};
    }
};

TEMPLATE_TEST_CASE("a walk over a broken store ends where the fault shows", "[interleaving]", a_token_is_given_twice,
                   a_finish_is_lost, a_renewal_is_lost, a_released_job_is_stuck, a_failed_job_is_cancelled,
                   the_clock_is_behind, the_clock_is_ahead) {
    CHECK_NOTHROW(walked<broken_store<no_fault>>({2, 1, 3, 0}));
    std::string noticed;
    try {
        walked<broken_store<TestType>>({2, 1, 4, 0});
    } catch (const violation& found) {
        noticed = found.what();
    }
    CHECK_FALSE(noticed.empty());
    std::cout << "figure: interleavings: planted: " << TestType::says << ": " << noticed << '\n';
}

}  // namespace
}  // namespace interleaving
