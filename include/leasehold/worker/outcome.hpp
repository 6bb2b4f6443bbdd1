// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <variant>

#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0 {

/// The job is done, for good.
struct done {
    std::string result{};   ///< any bytes; empty: none
    std::string receipt{};  ///< left for the next holder where the completion came too late; empty: none
};

/// The attempt failed; the job comes back, or is set aside where it was the last attempt.
struct retry {
    std::optional<millis> after{};  ///< unset: as the worker's backoff says
    std::string error{};            ///< any bytes, kept as text of at most 4 KiB
};

/// The job goes back with its attempt unspent.
struct release_unspent {
    millis after{};  ///< not to be taken before this has passed
};

/// The job is set aside for a person.
struct set_aside {
    std::string why{};  ///< any bytes, kept as text of at most 4 KiB
};

/// The handler has settled the job already, through its context or by the queue.
struct settled {};

/// What a handler says of its job. A handler that returns nothing says `done`; one that throws says `retry`.
using outcome = std::variant<done, retry, release_unspent, set_aside, settled>;

}  // namespace leasehold::inline v0_1_0
