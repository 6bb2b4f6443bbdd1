// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <leasehold/basic_lease_queue.hpp>
#include <leasehold/job.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/testing/contract/checker.hpp>
#include <leasehold/testing/contract/place.hpp>
#include <leasehold/testing/contract/watched_clock.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

/// What the cases of the contract are made of.
namespace leasehold::inline v0_1_0::testing::detail {

using namespace std::chrono_literals;

constexpr instant at(std::int64_t ms) { return instant{std::chrono::milliseconds{ms}}; }

/// How long a case looks whether something happens that must not.
inline constexpr std::chrono::milliseconds moment{60};
/// How long a case waits for something that must happen.
inline constexpr std::chrono::seconds patience{20};

/// The payloads, ids, answers or the like of many.
template <class All, class Part>
auto each_of(const All& all, const Part& part) {
    std::vector<std::decay_t<decltype(part(*all.begin()))>> parts;
    for (const auto& one : all) {
        parts.push_back(part(one));
    }
    return parts;
}

/// What a case is given: places, and somebody to tell.
template <class Store>
struct bench {
    checker& check;
    const place_maker<Store>& fresh;
};

/// A queue on a manual clock at 0, which is watched, in a fresh place.
template <class Store>
struct queue_in {
    using queue_type = basic_lease_queue<watched_clock, Store>;

    explicit queue_in(const bench<Store>& with) : check{with.check}, place{with.fresh()} {}

    checker& check;
    std::unique_ptr<any_place<Store>> place;
    watched_clock clock{};
    queue_type queue{place->store(), clock};

    /// The same store, opened again.
    Store store() const {
        Store opened = place->store();
        opened.attach(watched_clock::axis);
        return opened;
    }

    /// Adds a job that must be new.
    job_id add(const job& work, code_line where = code_line::current()) {
        const enqueued made = queue.enqueue(work);
        check.equal(made.answer, intake::accepted, where);
        return made.id;
    }
    std::vector<job_id> add_many(const std::vector<job>& jobs) {
        return each_of(queue.enqueue_many(jobs), [](const enqueued& made) { return made.id; });
    }
    /// A job taken at the clock's time for `lease_for`; a case does not go on without it.
    lease taken(std::string_view owner = "A", millis lease_for = 1000ms, code_line where = code_line::current()) {
        return check.some(queue.claim(owner, lease_for), where);
    }
    /// So many at once.
    std::vector<lease> taken_many(std::size_t count, code_line where = code_line::current()) {
        return check.exactly(count, queue.claim_many("A", 1000ms, count), where);
    }
    /// A row that is there.
    record row(job_id id, code_line where = code_line::current()) { return check.some(queue.find(id), where); }
    record row(std::string_view queue_name, std::string_view key, code_line where = code_line::current()) {
        return check.some(queue.find(queue_name, key), where);
    }
    std::vector<record> rows() const { return queue.list({.limit = 1000}).items; }

    /// Takes all that is there, one by one, and gives the payloads in their order.
    std::vector<std::string> drained(std::size_t at_most = 100) {
        std::vector<std::string> payloads;
        while (payloads.size() < at_most) {
            std::optional<lease> held = queue.claim("drain", longest);
            if (!held) {
                break;
            }
            payloads.push_back(std::move(held->payload));
        }
        return payloads;
    }

    /// Work in a transaction of the store itself, and its commit.
    template <class Work>
    void write(const Work& work) {
        Store opened = store();
        auto transaction = opened.begin(clock);
        work(transaction);
        transaction.commit();
    }
};

template <class Store>
queue_in(bench<Store>) -> queue_in<Store>;

/// Rows by id, of which all are there.
template <class Transaction>
std::vector<row> all_held(Transaction& transaction, checker& check, const std::vector<job_id>& ids,
                          code_line where = code_line::current()) {
    return check.exactly(ids.size(), transaction.hold(ids), where);
}

inline std::vector<std::int64_t> ids_of(const std::vector<row>& rows) {
    return each_of(rows, [](const row& job) { return job.id.value; });
}

/// Makes one row through the store itself, as a queue would.
template <class Transaction>
std::vector<enqueued> insert_one(Transaction& transaction, const job& work, const rules::columns& columns,
                                 instant now = {}) {
    const insertion made{&work, columns, now};
    return transaction.insert(std::span{&made, 1}, on_conflict::keep_others);
}

/// A rule, and how it is checked. The group says what it is about.
template <class Store>
struct contract_case {
    std::string_view group{};
    std::string_view name{};
    void (*run)(const bench<Store>& with, checker& check) = nullptr;
};

/// Cases of one group, added one by one.
template <class Store>
class case_list {
public:
    case_list(std::string_view group, std::vector<contract_case<Store>>& to) : group_{group}, to_{to} {}

    void add(std::string_view name, void (*run)(const bench<Store>& with, checker& check)) {
        to_.push_back({group_, name, run});
    }

private:
    std::string_view group_;
    std::vector<contract_case<Store>>& to_;
};

}  // namespace leasehold::inline v0_1_0::testing::detail
