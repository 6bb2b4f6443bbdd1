// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include <leasehold/worker/claimed_job.hpp>
#include <leasehold/worker/context.hpp>
#include <leasehold/worker/outcome.hpp>

namespace leasehold::inline v0_1_0 {

/// What a handler returns.
template <class Handler, class Queue>
using handler_result = std::invoke_result_t<Handler&, const claimed_job&, job_context<Queue>&>;

/// What can be called with a job and its context, and returns an `outcome`, one of its kinds, or nothing.
template <class Handler, class Queue>
concept job_handler = std::invocable < Handler&,
        const claimed_job&, job_context<Queue>
& > &&(std::is_void_v<handler_result<Handler, Queue>> ||
       std::is_constructible_v<outcome, handler_result<Handler, Queue>>);

namespace detail {

/// A handler that lives elsewhere, whatever its type is: so a program has one worker's code for a queue, not one for
/// each handler.
template <class Queue>
class handler_ref {
public:
    template <job_handler<Queue> Handler>
        requires(!std::same_as<Handler, handler_ref>)  // a copy refers to the same handler
    explicit handler_ref(Handler& handler) noexcept : handler_{std::addressof(handler)}, call_{&call<Handler>} {}

    outcome operator()(const claimed_job& job, job_context<Queue>& context) const {
        return call_(handler_, job, context);
    }

private:
    template <class Handler>
    static outcome call(void* handler, const claimed_job& job, job_context<Queue>& context) {
        Handler& to = *static_cast<Handler*>(handler);
        if constexpr (std::is_void_v<handler_result<Handler, Queue>>) {
            to(job, context);
            return done{};
        } else {
            return outcome{to(job, context)};
        }
    }

    void* handler_;
    outcome (*call_)(void*, const claimed_job&, job_context<Queue>&);
};

}  // namespace detail

}  // namespace leasehold::inline v0_1_0
