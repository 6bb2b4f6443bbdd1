// SPDX-License-Identifier: MIT
/// What a queue tells of: what has been committed, after the commit, outside every lock.
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/places.hpp"

namespace {

using namespace places;

/// A queue that writes its events down, a line each.
template <class Place>
struct told_in : Place {
    using queue_type = basic_lease_queue<manual_clock, typename Place::store_type>;

    std::vector<std::string> take() { return std::exchange(lines, {}); }

    static std::string line_of(const event& told) {
        std::string line = std::string{to_text(told.what)} + " " + to_text(told.at) + " " + to_text(told.id) + " " +
                           told.queue + "/" + told.key + " " + told.owner + " " + to_text(told.token) + "/" +
                           std::to_string(told.attempt);
        return told.what == event_kind::rejected ? line + " " + std::string{to_text(told.why)} : line;
    }

    std::vector<std::string> lines{};
    manual_clock clock{};
    queue_type queue{
        Place::store(), clock, {.on_event = [this](const event& told) { lines.push_back(line_of(told)); }}};
};

using lines = std::vector<std::string>;

TEMPLATE_TEST_CASE("every verb tells of what it did, with the round it did it to", "[event]", EVERY_STORE) {
    told_in<TestType> q;
    q.queue.enqueue({.key = "k", .payload = "x", .max_attempts = 2});
    CHECK(q.take() == lines{"enqueued 0 1 default/k  0/0"});
    q.queue.enqueue({.key = "k", .payload = "x"});
    q.queue.enqueue({.key = "k", .payload = "other"});
    CHECK(q.take().empty());

    auto a = q.queue.claim("A", 1000ms);
    CHECK(q.take() == lines{"claimed 0 1 default/k A 1/1"});
    CHECK(q.queue.renew(*a, 2000ms));
    CHECK(q.take() == lines{"renewed 0 1 default/k A 1/1"});
    CHECK(q.queue.checkpoint(*a, "half"));
    CHECK(q.queue.refresh(*a));
    CHECK(q.queue.leave_receipt(*a, "sent"));
    q.queue.list();
    CHECK(q.take().empty());

    q.clock.set(at(2000));
    const auto b = q.queue.claim("B", 1000ms);
    CHECK(q.take() == lines{"lapsed 2000 1 default/k A 1/1", "claimed 2000 1 default/k B 2/2"});
    CHECK_FALSE(q.queue.finish(*a));
    CHECK(q.take() == lines{"rejected 2000 1 default/k A 1/1 superseded"});
    CHECK(q.queue.release(*b));
    CHECK(q.take() == lines{"released 2000 1 default/k B 2/2"});
    auto c = q.queue.claim("C", 1000ms);
    q.take();
    CHECK(q.queue.fail(*c, "boom"));
    CHECK(q.take() == lines{"failed 2000 1 default/k C 3/2", "quarantined 2000 1 default/k C 3/2"});
    CHECK(q.queue.requeue(job_id{1}, {3}));
    CHECK(q.take() == lines{"requeued 2000 1 default/k C 3/2"});
    auto d = q.queue.claim("D", 1000ms);
    q.take();
    CHECK(q.queue.fail(*d, "boom"));
    CHECK(q.take() == lines{"failed 2000 1 default/k D 4/1"});
    d = q.queue.claim("D", 1000ms);
    q.take();
    CHECK(q.queue.revoke(job_id{1}, {5}));
    CHECK(q.take() == lines{"revoked 2000 1 default/k D 5/2"});
    CHECK_FALSE(q.queue.claim("E", 1000ms));
    CHECK(q.take() == lines{"quarantined 2000 1 default/k  5/2"});
    CHECK(q.queue.cancel(job_id{1}));
    CHECK(q.take() == lines{"cancelled 2000 1 default/k  5/2"});

    marker foreign = *d;
    foreign.store = {};
    CHECK_FALSE(q.queue.finish(foreign));
    CHECK(q.take() == lines{"rejected 2000 1 / D 5/2 foreign"});
    CHECK_FALSE(q.queue.leave_receipt(foreign, "x"));
    CHECK(q.take() == lines{"rejected 2000 1 / D 5/2 foreign"});
}

TEMPLATE_TEST_CASE("one commit that does two things tells of both", "[event]", EVERY_STORE) {
    told_in<TestType> q;
    q.queue.enqueue_many(std::vector<job>{{.key = "1"}, {.key = "2"}});
    CHECK(q.take().size() == 2);
    const auto first = q.queue.claim("A", 1000ms);
    q.take();
    CHECK(q.queue.finish_and_claim(*first, "", {.owner = "A", .lease_for = 1000ms}).next);
    CHECK(q.take() == lines{"finished 0 1 default/1 A 1/1", "claimed 0 2 default/2 A 1/1"});
}

TEMPLATE_TEST_CASE("a queue tells when its clock stepped back behind the line", "[event]", EVERY_STORE) {
    told_in<TestType> q;
    q.clock.set(at(100));
    q.queue.enqueue({.key = "1"});
    q.queue.enqueue({.key = "2"});
    q.take();
    q.clock.set(at(40));
    q.queue.enqueue_many(std::vector<job>{{.key = "3"}, {.key = "4"}, {.queue = "other", .key = "5"}});
    CHECK(q.take() == lines{"clock_stepped_back 40 0 default/  0/0", "enqueued 40 3 default/3  0/0",
                            "enqueued 40 4 default/4  0/0", "enqueued 40 5 other/5  0/0"});
}

TEMPLATE_TEST_CASE("what was rolled back is not told of", "[event]", EVERY_STORE) {
    told_in<TestType> q;
    const std::vector<job> bad{{.key = "1"}, {.deadline = at(-1)}};
    CHECK_THROWS_AS(q.queue.enqueue_many(bad), std::invalid_argument);
    q.queue.enqueue({.key = "there", .payload = "p"});
    q.take();
    const std::vector<job> conflict{{.key = "new"}, {.key = "there", .payload = "q"}};
    q.queue.enqueue_many(conflict, on_conflict::nothing);
    CHECK(q.take().empty());
}

TEMPLATE_TEST_CASE(
    "a listener may use the queue itself, is on the caller's thread, and cannot undo the call by throwing", "[event]",
    EVERY_STORE) {
    TestType place;
    manual_clock clock;
    using queue_type = typename queue_in<TestType>::queue_type;
    queue_type* self = nullptr;
    int told = 0;
    const std::thread::id caller = std::this_thread::get_id();
    queue_type queue{place.store(), clock, {.on_event = [&](const event& what) {
                         ++told;
                         CHECK(std::this_thread::get_id() == caller);
                         CHECK(self->find(what.id)->state == job_state::ready);  // committed, and no lock held
                         if (what.key == "first") {
                             self->enqueue({.key = "second"});
                         }
                         throw std::runtime_error{"listener"};
                     }}};
    self = &queue;
    CHECK(queue.enqueue({.key = "first"}).answer == intake::accepted);
    CHECK(told == 2);
    CHECK(queue.list().items.size() == 2);
}

}  // namespace
