// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include <leasehold/sqlite/connection.hpp>
#include <leasehold/sqlite/sql.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// Rolls back what was begun and not committed; never throws.
class open_transaction {
public:
    template <std::size_t Size>
    open_transaction(connection& on, const sql<Size>& begin) : on_{on} {
        on_.prepared(begin).run();
    }
    open_transaction(const open_transaction&) = delete;
    open_transaction& operator=(const open_transaction&) = delete;
    ~open_transaction() {
        if (on_.in_transaction()) {
            on_.roll_back();
        }
    }

private:
    connection& on_;
};

/// A part of a transaction that stands only once it is released; never throws when it goes.
class savepoint {
public:
    explicit savepoint(connection& on) : on_{&on} { on.prepared(begin_part).run(); }
    savepoint(const savepoint&) = delete;
    savepoint& operator=(const savepoint&) = delete;
    ~savepoint() {
        if (on_ != nullptr && on_->in_transaction()) {
            take_back();
        }
    }

    void release() {
        on_->prepared(end_part).run();
        on_ = nullptr;
    }

private:
    /// Where the engine cannot even do this, it has ended the transaction, and nothing of it stands.
    void take_back() noexcept {
        on_->database().tryExec(undo_part.c_str());
        on_->database().tryExec(end_part.c_str());
    }

    connection* on_;
};

}  // namespace leasehold::inline v0_1_0::detail::sqlite
