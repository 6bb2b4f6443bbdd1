// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0 {

/// How a PostgreSQL database is used. Every member may be left as it is.
struct postgres_options {
    /// Where the tables are: a lower-case letter, then lower-case letters, digits and underscores, at most 40. Made
    /// where it is not there.
    std::string schema = "leasehold";
    /// How long a call waits for a row's lock or for a connection, and tries again after a deadlock.
    millis busy_timeout = std::chrono::seconds{5};
    /// How long the server may take to let a connection in, or to answer one request; longer than `busy_timeout`. A
    /// server that takes longer counts as gone.
    millis answer_timeout = std::chrono::seconds{15};
    /// At most so many at once; each is made when it is needed.
    std::size_t connections = 8;
    /// Whether a server's session is this connection's own. Behind a pooler in transaction mode it is not: statements
    /// are then prepared anew each time, settings hold for a transaction, and who waits for a job looks from time to
    /// time.
    bool has_session = true;
    /// Whether commits tell who waits. Where they do not, those look from time to time.
    bool notify = true;
    /// How often somebody looks who is not told.
    millis look_every = std::chrono::milliseconds{100};
};

}  // namespace leasehold::inline v0_1_0
