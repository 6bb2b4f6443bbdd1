// SPDX-License-Identifier: MIT
/// Any bytes as a database file: it is opened and used, or an error says why not. Nothing crashes, nothing hangs.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fuzz/bytes.hpp"
#include "fuzz/images.hpp"
#include "fuzz/signals.hpp"
#include "support/files.hpp"
#include "support/hostile_files.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace leasehold;
using namespace std::chrono_literals;
using fuzz::require;

/// The files of one input, each time the same names: in memory, where the system keeps some there.
class scene {
public:
    void set(const fuzz::image& as) const {
        for (const char* const suffix : {"-journal", "-wal", "-shm", "-gate"}) {
            std::filesystem::remove(path() + suffix);
        }
        files::write(path(), as.database);
        if (!as.suffix.empty()) {
            files::write(path() + as.suffix, as.beside);
        }
    }
    std::string path() const { return folder_ / "jobs.db"; }

private:
    places::temporary_folder folder_{};
};

/// What a user of the queue might do, by numbers of the input, with whatever the file gives out.
class user {
public:
    user(hostile::manual_queue& queue, manual_clock& clock, bytes& in) : queue_{queue}, clock_{clock}, in_{in} {}

    void act(std::size_t what) {
        fuzz::try_to(16 + what, [&] { verbs.at(what)(*this); });
    }
    static constexpr std::size_t kinds = 20;

private:
    using verb = void (*)(user&);
    static const std::array<verb, kinds> verbs;

    job_id id() { return job_id{static_cast<std::int64_t>(in_.below(40))}; }
    std::string queue_name() { return in_.flag() ? "default" : "other"; }
    marker round() { return held_.empty() ? marker{} : marker{held_.at(in_.below(held_.size()))}; }

    void keep(std::vector<lease> leases) {
        std::set<job_id> ids;
        for (lease& each : leases) {
            require(ids.insert(each.id).second, "one claim gave a job twice");
            require(each.token.value > 0 && each.attempt > 0, "a lease without a round");
            require(clock_.now() < each.lease_until, "a lease that was over when it was granted");
            held_.push_back(std::move(each));
        }
    }

    /// A verb that ends a round is applied to it once.
    void settled(const settlement& answer, bool ends) {
        if (answer && ends) {
            require(over_.insert({answer.presented.id, answer.presented.token}).second, "a round was ended twice");
        }
    }

    hostile::manual_queue& queue_;
    manual_clock& clock_;
    bytes& in_;
    std::vector<lease> held_{};
    std::set<std::pair<job_id, claim_token>> over_{};
};

const std::array<user::verb, user::kinds> user::verbs{
    [](user& u) { (void)u.queue_.stats(); },
    [](user& u) { (void)u.queue_.list({.limit = 1000}); },
    [](user& u) { (void)u.queue_.list({.queue = "nowhere"}); },
    [](user& u) {
        (void)u.queue_.list({.queue = u.queue_name(),
                             .state = job_state{static_cast<std::uint8_t>(u.in_.below(5))},
                             .after = u.id(),
                             .limit = 1 + u.in_.below(5)});
    },
    [](user& u) { (void)u.queue_.find(u.id()); },
    [](user& u) { (void)u.queue_.find(u.queue_name(), "key-" + std::to_string(u.in_.below(32))); },
    [](user& u) { u.keep(u.queue_.claim_many("user", 1s, 1 + u.in_.below(20), u.queue_name())); },
    [](user& u) {
        std::optional<lease> one = u.queue_.wait_claim({}, {.owner = "user", .lease_for = 1s, .wait = 0s});
        std::vector<lease> leases;
        if (one) {
            leases.push_back(std::move(*one));
        }
        u.keep(std::move(leases));
    },
    [](user& u) { u.settled(u.queue_.finish(u.round(), u.in_.some_text()), true); },
    [](user& u) { u.settled(u.queue_.fail(u.round(), u.in_.some_text(), 1s), true); },
    [](user& u) { u.settled(u.queue_.release(u.round()), true); },
    [](user& u) { u.settled(u.queue_.quarantine(u.round(), u.in_.some_text()), true); },
    [](user& u) { u.settled(u.queue_.checkpoint(u.round(), u.in_.some_text()), false); },
    [](user& u) { u.settled(u.queue_.leave_receipt(u.round(), u.in_.some_text()), false); },
    [](user& u) {
        if (!u.held_.empty()) {
            u.settled(u.queue_.renew(u.held_.at(u.in_.below(u.held_.size())), 2s), false);
        }
    },
    [](user& u) {
        (void)u.queue_.enqueue({.queue = u.queue_name(),
                                .key = "key-" + std::to_string(u.in_.below(40)),
                                .payload = std::string{u.in_.some_text()}});
    },
    [](user& u) {
        const std::optional<record> seen = u.queue_.find(u.id());
        const job_id id = seen ? seen->id : job_id{1};
        const claim_token token = seen ? seen->token : claim_token{};
        switch (u.in_.below(3)) {
            case 0: (void)u.queue_.revoke(id, token); break;
            case 1: (void)u.queue_.cancel(id, token); break;
            default: (void)u.queue_.requeue(id, token); break;
        }
    },
    [](user& u) { (void)u.queue_.prune({.limit = 1 + u.in_.below(1000), .quarantined = u.in_.flag()}); },
    [](user& u) { u.clock_.advance(std::chrono::milliseconds{u.in_.number<std::uint16_t>()}); },
    [](user& u) {
        if (u.in_.below(4) == 0) {
            (void)u.queue_.new_store_id();
        }
    },
};

void use_queue(const scene& files, bytes& in) {
    manual_clock clock{hostile::made_at};
    hostile::manual_queue queue{{files.path(), {.synchronous = synchronous_mode::off, .busy_timeout = 0s}}, clock};
    user somebody{queue, clock, in};
    for (int i = 0; i < 16 && !in.are_over(); ++i) {
        somebody.act(in.below(user::kinds));
    }
    for (std::size_t what = 0; what < user::kinds; ++what) {
        somebody.act(what);
    }
}

void use_ledger(const scene& files, bytes& in) {
    const ledger_options options{.file = {.synchronous = synchronous_mode::off, .busy_timeout = 0s},
                                 .forget_after = in.flag() ? std::optional<millis>{10s} : std::nullopt};
    basic_receiver_ledger<manual_clock> ledger{files.path(), options, manual_clock{hostile::made_at}};
    for (const char* const id : {"id", "another"}) {
        (void)ledger.apply(id, in.some_text(), {}, [](SQLite::Database&) { return "answer"; });
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<fuzz::image> images = fuzz::make_images();
    static const scene files;
    bytes in{data, size};
    files.set(fuzz::changed_image(images, in));
    fuzz::try_to(0, [&] { use_queue(files, in); });
    fuzz::try_to(1, [&] { use_ledger(files, in); });
    return 0;
}
