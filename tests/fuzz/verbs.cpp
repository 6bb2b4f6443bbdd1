// SPDX-License-Identifier: MIT
/// Every verb with any arguments: refused with `std::invalid_argument`, or answered, and the answer is one that the
/// rules allow.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/memory_store.hpp>
#include <leasehold/sqlite.hpp>

#include "fuzz/bytes.hpp"
#include "fuzz/signals.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace leasehold;
using namespace std::chrono_literals;
using fuzz::require;

/// Arguments of all kinds: likely ones, ends of the range, and whatever the bytes say.
class arguments {
public:
    explicit arguments(bytes& in) : in_{in} {}

    std::int64_t number() {
        constexpr std::array<std::int64_t, 8> often{0, 1, -1, 10, 1000, 5000, INT64_MAX, INT64_MIN};
        const std::size_t which = in_.below(often.size() + 2);
        return which < often.size() ? often.at(which) : in_.number<std::int64_t>() >> in_.below(64);
    }
    std::int32_t small() { return static_cast<std::int32_t>(number()); }
    millis length() { return std::chrono::milliseconds{number()}; }
    instant point() { return instant{std::chrono::milliseconds{number()}}; }
    job_id id() { return job_id{in_.flag() ? 1 + static_cast<std::int64_t>(in_.below(6)) : number()}; }
    claim_token token() { return claim_token{in_.flag() ? static_cast<std::int64_t>(in_.below(4)) : number()}; }
    std::size_t limit() { return in_.flag() ? 1 + in_.below(4) : static_cast<std::size_t>(number()); }
    bool flag() { return in_.flag(); }
    std::size_t below(std::size_t end) { return in_.below(end); }

    template <class T>
    std::optional<T> maybe(T value) {
        return in_.flag() ? std::optional{std::move(value)} : std::nullopt;
    }

    std::string text() {
        std::string text{in_.some_text()};
        if (in_.below(16) == 0) {
            text.resize(text.size() * 40, 'x');
        }
        return text;
    }
    /// Mostly one that is taken: what is always refused comes nowhere.
    std::string queue() { return in_.below(4) != 0 ? "default" : name(); }
    std::string owner() { return in_.below(4) != 0 ? "worker" : name(); }
    millis lease_for() { return in_.below(4) != 0 ? std::chrono::milliseconds{1 + in_.below(2000)} : length(); }

    std::string name() {
        constexpr std::array<std::string_view, 4> often{"default", "A", "B", "\xC3\xA4 %/\n"};
        const std::size_t which = in_.below(often.size() + 1);
        return which < often.size() ? std::string{often.at(which)} : text();
    }

private:
    bytes& in_;
};

/// One line: what came from outside is escaped in it.
void require_line(const std::string& text) {
    require(std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }),
            "an answer prints on more than its line");
}

/// A marker reads back from its text, and from no other.
void require_round_trip(const marker& round, const std::string& any) {
    const bool has_name = detail::is_name(round.owner);
    const std::optional<marker> read = marker::from_text(to_text(round));
    require(has_name ? read == round : !read || *read == round, "a marker does not read back from its text");
    const claim_round alone = round;
    require(claim_round::from_text(to_text(alone)) == alone, "a round does not read back from its text");
    if (const auto other = marker::from_text(any)) {
        require(to_text(*other) == any && detail::is_name(other->owner), "a text that is no marker's reads as one");
    }
    if (const auto other = claim_round::from_text(any)) {
        require(to_text(*other) == any, "a text that is no round's reads as one");
    }
}

/// A user who knows which rounds were given out, and holds the queue to them.
template <class Queue>
class user {
public:
    user(Queue& queue, manual_clock& clock, bytes& in) : queue_{queue}, clock_{clock}, in_{in}, any_{in} {}

    void act() {
        static constexpr std::array<void (user::*)(), 20> verbs{
            &user::enqueue, &user::enqueue_many, &user::claim, &user::claim_many, &user::wait_claim,
            &user::finish,  &user::finish_many,  &user::renew, &user::refresh,    &user::fail,
            &user::release, &user::quarantine,   &user::note,  &user::turn_over,  &user::operate,
            &user::requeue, &user::look,         &user::prune, &user::move_clock, &user::read_text};
        const std::size_t which = in_.below(verbs.size());
        fuzz::try_to(which, [&] { (this->*verbs.at(which))(); });
    }

private:
    job some_job() {
        if (in_.below(4) != 0) {
            return {.queue = any_.queue(),
                    .key = any_.flag() ? "" : any_.name(),
                    .payload = any_.text(),
                    .priority = static_cast<std::int32_t>(any_.below(3)) - 1,
                    .expires_in = any_.maybe(any_.lease_for()),
                    .max_attempts = 1 + static_cast<std::int32_t>(any_.below(3))};
        }
        return {.queue = any_.name(),
                .key = any_.flag() ? "" : any_.name(),
                .payload = any_.text(),
                .priority = any_.flag() ? 0 : any_.small(),
                .delay = any_.flag() ? millis{} : any_.length(),
                .not_before = any_.maybe(any_.point()),
                .expires_in = any_.maybe(any_.length()),
                .deadline = any_.maybe(any_.point()),
                .max_attempts = any_.flag() ? 5 : any_.small()};
    }

    /// One that was given out, or something like it, or anything.
    marker some_marker() {
        marker round;
        if (!known_.empty() && in_.below(4) != 0) {
            round = std::next(known_.begin(), static_cast<std::ptrdiff_t>(in_.below(known_.size())))->second;
        } else {
            round.store =
                queue_.list({.limit = 1}).items.empty() ? store_id{} : queue_.list({.limit = 1}).items[0].store;
            round.id = any_.id();
            round.token = any_.token();
            round.attempt = any_.small();
        }
        switch (in_.below(16)) {
            case 0: round.owner = any_.name(); break;
            case 1: round.lease_until = any_.point(); break;
            case 2: round.token = any_.token(); break;
            case 3: round.attempt = any_.small(); break;
            case 4: round.store.bytes[0] ^= 1U; break;
            case 5: round.id = any_.id(); break;
            case 6: return marker::from_text(to_text(round)).value_or(marker{});
            default: break;
        }
        return round;
    }

    void given(const lease& held, millis lease_for) {
        const instant now = clock_.now();
        require(held.granted == now && now < held.lease_until, "a lease that was over when it was granted");
        require(held.lease_until <= saturating_add(now, lease_for), "a lease that is longer than was asked for");
        require(!held.deadline || held.lease_until <= *held.deadline, "a lease beyond its deadline");
        claim_token& last = tokens_[held.id];
        require(held.token > last, "a token that was given before");
        last = held.token;
        known_[held.id] = held;
        require_round_trip(held, "");
    }

    /// `answer` came at a marker that was presented; `ends`: the round is over where it was applied.
    void settled(const settlement& answer, bool ends) {
        require_line(to_text(answer));
        if (!answer) {
            return;
        }
        const auto there = known_.find(answer.presented.id);
        require(there != known_.end() && there->second == answer.presented, "applied to a marker that nobody held");
        require(answer.at < answer.presented.lease_until, "applied after the lease was over");
        if (ends) {
            known_.erase(there);
        }
    }

    void enqueue() { require_line(to_text(queue_.enqueue(some_job()))); }
    void enqueue_many() {
        std::vector<job> jobs;
        for (std::size_t left = any_.below(4); left > 0; --left) {
            jobs.push_back(some_job());
        }
        const auto answers = queue_.enqueue_many(jobs, any_.flag() ? on_conflict::nothing : on_conflict::keep_others);
        require(answers.size() == jobs.size(), "an answer for each job");
    }
    void claim() {
        const millis lease_for = any_.lease_for();
        if (const auto held = queue_.claim(any_.owner(), lease_for, any_.queue())) {
            given(*held, lease_for);
        }
    }
    void claim_many() {
        const millis lease_for = any_.lease_for();
        const std::size_t limit = any_.limit();
        const auto all = queue_.claim_many(any_.owner(), lease_for, limit, any_.queue());
        require(all.size() <= limit, "more leases than were asked for");
        for (const lease& held : all) {
            given(held, lease_for);
        }
    }
    void wait_claim() {
        claim_terms terms{.owner = any_.owner(), .lease_for = any_.lease_for(), .wait = 0s};
        terms.wait = any_.flag() ? millis{} : std::min(any_.length(), millis{});
        for (std::size_t left = any_.below(3); left > 0; --left) {
            terms.queues.push_back(any_.queue());
        }
        if (const auto held = queue_.wait_claim({}, terms)) {
            given(*held, terms.lease_for);
        }
    }
    void finish() { settled(queue_.finish(some_marker(), any_.text()), true); }
    void finish_many() {
        std::vector<completion> all;
        for (std::size_t left = any_.below(4); left > 0; --left) {
            all.push_back({some_marker(), any_.text()});
        }
        for (const settlement& answer : queue_.finish_many(all)) {
            settled(answer, true);
        }
    }
    void renew() {
        marker round = some_marker();
        const settlement answer = queue_.renew(round, any_.lease_for());
        settled(answer, false);
        if (answer) {
            require(round.lease_until >= answer.presented.lease_until, "a renewal that shortens");
            known_[round.id] = round;
        }
    }
    void refresh() {
        marker round = some_marker();
        if (queue_.refresh(round)) {
            require(known_.contains(round.id) && known_[round.id] == round, "refreshed to a round that nobody held");
        }
    }
    void fail() { settled(queue_.fail(some_marker(), any_.text(), any_.length()), true); }
    void release() { settled(queue_.release(some_marker(), any_.length()), true); }
    void quarantine() { settled(queue_.quarantine(some_marker(), any_.text()), true); }
    void note() {
        settled(queue_.checkpoint(some_marker(), any_.text()), false);
        require_line(to_text(queue_.leave_receipt(some_marker(), any_.text())));
    }
    void turn_over() {
        claim_terms terms{.owner = any_.owner(), .lease_for = any_.lease_for()};
        if (any_.flag()) {
            terms.queues.push_back(any_.name());
        }
        const finished_and_claimed both = queue_.finish_and_claim(some_marker(), any_.text(), terms);
        settled(both.finished, true);
        if (both.next) {
            given(*both.next, terms.lease_for);
        }
    }
    void operate() {
        const job_id id = any_.id();
        const amendment answer =
            any_.flag() ? queue_.revoke(id, any_.token()) : queue_.cancel(id, any_.maybe(any_.token()));
        require_line(to_text(answer));
        if (answer) {
            known_.erase(id);
        }
    }
    void requeue() {
        const requeue_options how{.delay = any_.length(),
                                  .not_before = any_.maybe(any_.point()),
                                  .expires_in = any_.maybe(any_.length()),
                                  .deadline = any_.maybe(any_.point())};
        require_line(to_text(queue_.requeue(any_.id(), any_.token(), how)));
    }
    void look() {
        (void)queue_.stats();
        (void)queue_.list({.queue = any_.maybe(any_.name()),
                           .state = any_.maybe(static_cast<job_state>(any_.below(8))),
                           .after = any_.id(),
                           .limit = any_.limit()});
        const auto found = queue_.find(any_.name(), any_.name());
        require(!found || found->payload.size() == found->payload_size, "a payload of another size");
        if (const auto held = queue_.find(any_.id()); held && held->state == job_state::leased) {
            require(known_.contains(held->id) && known_[held->id] == held->marker(), "leased, and nobody holds it");
        }
    }
    void prune() {
        (void)queue_.prune({.older_than = any_.length(), .limit = any_.limit(), .quarantined = any_.flag()});
    }
    void move_clock() {
        instant to = any_.flag() ? saturating_add(clock_.now(), any_.length()) : any_.point();
        if (!known_.empty() && any_.flag()) {  // to a lease's end, or just before
            const auto& held = *std::next(known_.begin(), static_cast<std::ptrdiff_t>(any_.below(known_.size())));
            to = saturating_subtract(held.second.lease_until, std::chrono::milliseconds{any_.below(2)});
        }
        // An end of the range is no reading: that is another test's.
        clock_.set(std::clamp(to, instant::min() + 1ms, instant::max() - 1ms));
    }
    void read_text() { require_round_trip(some_marker(), any_.text()); }

    Queue& queue_;
    manual_clock& clock_;
    bytes& in_;
    arguments any_;
    std::map<job_id, marker> known_{};  ///< the rounds that may still count
    std::map<job_id, claim_token> tokens_{};
};

template <class Store>
void use(Store store, bytes& in) {
    manual_clock clock;
    basic_lease_queue<manual_clock, Store> queue{std::move(store), clock};
    user somebody{queue, clock, in};
    while (!in.are_over()) {
        somebody.act();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const places::temporary_folder folder;
    bytes in{data, size};
    if (in.below(8) != 0) {  // a file takes some twenty times as long
        use(memory_store{}, in);
        return 0;
    }
    const std::string path = folder / "jobs.db";
    for (const char* const suffix : {"", "-journal", "-wal", "-shm"}) {
        std::filesystem::remove(path + suffix);
    }
    const journal_mode journal = in.flag() ? journal_mode::wal : journal_mode::rollback;
    use(sqlite_store{path, {.journal = journal, .synchronous = synchronous_mode::off}}, in);
    return 0;
}
