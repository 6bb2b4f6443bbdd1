// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <exception>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#include <version>

#include <leasehold/arguments.hpp>
#include <leasehold/clock.hpp>
#include <leasehold/job.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/time.hpp>
#include <leasehold/worker/claimed_job.hpp>
#include <leasehold/worker/outcome.hpp>

#ifdef __cpp_lib_jthread
#include <stop_token>
#endif

namespace leasehold::inline v0_1_0 {

/// Bytes that stand for no value: the job is set aside for a person, who reads `why`.
struct undecodable {
    std::string why{};  ///< any bytes, kept as text of at most 4 KiB
};

/// What a codec makes of a payload.
template <class T>
using decoded = std::variant<T, undecodable>;

/// Values as payloads and back: two pure functions. Equal values have equal bytes, or a job that is enqueued again
/// under its key is a `conflict` and no `duplicate`.
///
/// `decode` is given whatever bytes are there, and says by its answer that they are no value. What it throws instead is
/// a failure of the attempt, as a handler's would be: the job comes again, and is set aside after its last attempt.
template <class Codec, class T>
concept codec_for = std::copy_constructible<Codec> &&
    requires(const Codec& codec, const T& value, std::string_view bytes) {
    { codec.encode(value) } -> std::convertible_to<std::string>;
    { codec.decode(bytes) } -> std::convertible_to<decoded<T>>;
};

/// A value's own bytes, for programs of one build. Every byte that comes is taken as it is: where somebody else may
/// write to the store, `T` has no `bool`, enumeration or pointer in it.
template <class T>
struct object_codec {
    static_assert(std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>,
                  "Equal values of T may differ in their bytes (padding, floating point), or are more than their "
                  "bytes: see codec_for in leasehold/typed_queue.hpp");

    /// `sizeof(T)` bytes, as they lie in memory.
    std::string encode(const T& value) const {
        const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
        return {bytes.begin(), bytes.end()};
    }

    /// The value of as many bytes; refused where there are more or fewer.
    decoded<T> decode(std::string_view bytes) const {
        std::array<char, sizeof(T)> all{};
        if (bytes.size() != all.size()) {
            return undecodable{"the payload has " + std::to_string(bytes.size()) + " bytes, not " +
                               std::to_string(all.size())};
        }
        std::copy(bytes.begin(), bytes.end(), all.begin());
        return std::bit_cast<T>(all);
    }
};

/// A lease, and the value that its payload stands for.
template <class T>
struct typed_lease : lease {
    /// Of a lease, and of what its payload was decoded to.
    typed_lease(lease held, T what) : lease{std::move(held)}, value{std::move(what)} {}
    T value;  ///< as it was decoded when it was claimed
};

/// What `finish_and_claim` came to: each of the two by itself.
template <class T>
struct typed_finished_and_claimed {
    settlement finished{};                 ///< of the round that was to be finished
    std::optional<typed_lease<T>> next{};  ///< the next job; nothing where there was none
    bool more = false;  ///< nothing came of `next` only because what there was had to be set aside: claim
};

/// The verbs of a queue that take or give a payload, with a `T` in its place. All others are the queue's own: a
/// `typed_lease` is a lease. A handle on the queue, which outlives it: values of several types may be in one queue,
/// each by itself under a name of its own.
///
/// A payload that does not decode is set aside, with the codec's reason, by whoever claims it first.
template <class T, class Queue, class Codec = object_codec<T>>
class typed_queue {
    static_assert(codec_for<Codec, T>, "Codec is not a codec of T: see codec_for in leasehold/typed_queue.hpp");

public:
    /// `queue` outlives it.
    explicit typed_queue(Queue& queue, Codec codec = {}) : queue_{&queue}, codec_{std::move(codec)} {}

    /// The job that stands for a value: for a session's `enqueue`, and for batches. `terms` has no payload.
    job as_job(const T& value, job terms = {}) const {
        if (!terms.payload.empty()) {
            detail::refuse("payload", "given beside the value that it is to stand for");
        }
        terms.payload = codec_.encode(value);
        return terms;
    }

    /// As the queue's, of `as_job`.
    enqueued enqueue(const T& value, job terms = {}) const { return queue_->enqueue(as_job(value, std::move(terms))); }

    /// What a job's payload stands for: for `find`, which changes nothing, whatever is there.
    decoded<T> value_of(const record& found) const { return codec_.decode(found.payload); }

    /// As the queue's `claim`; jobs that do not decode are set aside on the way.
    std::optional<typed_lease<T>> claim(std::string_view owner, millis lease_for,
                                        std::string_view queue = "default") const {
        return first_of(claim_many(owner, lease_for, 1, queue));
    }

    /// As the queue's. What it throws leaves nothing claimed: all that had been goes back, unspent, where the store
    /// takes that.
    std::vector<typed_lease<T>> claim_many(std::string_view owner, millis lease_for, std::size_t limit,
                                           std::string_view queue = "default") const {
        std::vector<typed_lease<T>> taken;
        bool more = true;
        do {
            const std::size_t wanted = limit - taken.size();
            std::vector<lease> claimed = queue_->claim_many(owner, lease_for, wanted, queue);
            more = claimed.size() == wanted;
            take_values(std::move(claimed), taken);
        } while (more && taken.size() < limit);
        return taken;
    }

#ifdef __cpp_lib_jthread
    /// As the queue's.
    std::optional<typed_lease<T>> wait_claim(const std::stop_token& stop, claim_terms terms) const {
        const auto& clock = queue_->clock();
        const pace_point end = saturating_add(pace_of(clock), terms.wait);
        while (std::optional<lease> held = queue_->wait_claim(stop, terms)) {
            if (auto taken = with_value(std::move(*held))) {
                return taken;
            }
            terms.wait = std::max(millis{}, saturating_subtract(end, pace_of(clock)));
        }
        return std::nullopt;
    }
#endif

    /// As the queue's.
    typed_finished_and_claimed<T> finish_and_claim(const marker& round, std::string_view result,
                                                   const claim_terms& next) const {
        finished_and_claimed both = queue_->finish_and_claim(round, result, next);
        typed_finished_and_claimed<T> answer{std::move(both.finished), std::nullopt, both.more};
        if (both.next) {
            answer.next = with_value(std::move(*both.next));
            answer.more = !answer.next;
        }
        return answer;
    }

    /// A handler for a `worker`, of `work(const T&, const claimed_job&, job_context<Queue>&)`, which returns what a
    /// handler returns.
    template <class Work>
    auto handler(Work work) const {
        return [codec = codec_, work = std::move(work)](const claimed_job& job, auto& context) mutable -> outcome {
            decoded<T> read = codec.decode(job.payload);
            if (undecodable* const refused = std::get_if<undecodable>(&read)) {
                return set_aside{std::move(refused->why)};
            }
            if constexpr (std::is_void_v<decltype(work(std::get<T>(read), job, context))>) {
                work(std::get<T>(read), job, context);
                return done{};
            } else {
                return work(std::get<T>(read), job, context);
            }
        };
    }

private:
    /// The lease with its value; nothing where it has none, and the job was set aside. A refusal of that is no matter:
    /// the job is another's by then, who sets it aside.
    std::optional<typed_lease<T>> with_value(lease held) const {
        decoded<T> read = decoded_or_failed(held);
        if (const undecodable* const refused = std::get_if<undecodable>(&read)) {
            (void)!queue_->quarantine(held, refused->why);
            return std::nullopt;
        }
        return typed_lease<T>{std::move(held), std::get<T>(std::move(read))};
    }

    decoded<T> decoded_or_failed(const lease& held) const {
        try {
            return codec_.decode(held.payload);
        } catch (const std::exception& fault) {
            (void)!queue_->fail(held, fault.what());
            throw;
        } catch (...) {
            (void)!queue_->fail(held, "decoding threw something that is no std::exception");
            throw;
        }
    }

    void take_values(std::vector<lease> claimed, std::vector<typed_lease<T>>& taken) const {
        auto next = claimed.begin();
        try {
            taken.reserve(taken.size() + claimed.size());
            while (next != claimed.end()) {
                if (auto typed = with_value(std::move(*next++))) {
                    taken.push_back(std::move(*typed));
                }
            }
        } catch (...) {
            give_back(std::span{next, claimed.end()});
            give_back(std::span{taken});
            throw;
        }
    }

    template <class Lease>
    void give_back(std::span<Lease> held) const noexcept {
        try {
            queue_->release_many(held);
        } catch (...) {  // NOLINT(bugprone-empty-catch): then they lapse by themselves
        }
    }

    static std::optional<typed_lease<T>> first_of(std::vector<typed_lease<T>> leases) {
        return leases.empty() ? std::nullopt : std::optional<typed_lease<T>>{std::move(leases.front())};
    }

    Queue* queue_;
    Codec codec_;
};

}  // namespace leasehold::inline v0_1_0
