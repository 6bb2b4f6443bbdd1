// SPDX-License-Identifier: MIT
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace leasehold::inline v0_1_0 {

/// A fault of the store: the machine's, never the rules'. What is thrown is this, or a child that a caller can act on.
/// The text names the operation and carries the engine's own message; never a payload, a path's secrets or a password.
class store_error : public std::runtime_error {
public:
    /// `code`: the engine's own, 0 where it was not asked.
    explicit store_error(const std::string& what, int code = 0, bool transaction_lost = false)
        : std::runtime_error{what}, code_{code}, transaction_lost_{transaction_lost} {}

    /// The engine's own (extended) code; 0 where the engine was not asked.
    int code() const noexcept { return code_; }

    /// Whether the engine itself ended the transaction that the call ran in.
    bool transaction_lost() const noexcept { return transaction_lost_; }

private:
    int code_;
    bool transaction_lost_;
};

/// The write lock was not had within the timeout. Nothing of this call stands, except rows that earlier batches of a
/// claim set aside. Try again.
struct store_busy : store_error {
    using store_error::store_error;
};

/// The engine took the transaction back because it met another's, as in a deadlock. Nothing of it stands. A queue's own
/// verbs run again by themselves until the timeout is over.
struct store_conflict : store_busy {
    using store_busy::store_busy;
};

/// The commit began and failed, or its answer was lost: it may stand or not. Read before you repeat.
struct store_unknown : store_error {
    using store_error::store_error;
};

/// The disk, or what may be used of it, is full. Nothing of this call stands.
struct store_full : store_error {
    using store_error::store_error;
};

/// The store cannot be written. Nothing of this call stands.
struct store_readonly : store_error {
    using store_error::store_error;
};

/// What the store holds is damaged, or is no store.
struct store_corrupt : store_error {
    using store_error::store_error;
};

/// This library must not work on the store: a newer or foreign schema, another clock axis, another journal mode than
/// the one asked for, an engine too old, a clock reading outside the range, a network file system, a file that was
/// moved away, a use after a fork.
struct store_unsupported : store_error {
    using store_error::store_error;
};

}  // namespace leasehold::inline v0_1_0
