// SPDX-License-Identifier: MIT
#pragma once

#include <utility>

#include <leasehold/sqlite/file_connection.hpp>
#include <leasehold/sqlite/line.hpp>
#include <leasehold/sqlite/open_transaction.hpp>
#include <leasehold/sqlite/sql.hpp>

namespace leasehold::inline v0_1_0::detail::sqlite {

/// The way to the file, and a transaction with its write lock: rolled back when it goes, unless it was committed.
class write_lock {
public:
    explicit write_lock(line::place at) : way_{std::move(at.way)}, file_{at.on}, open_{file_, begin_write} {
        file_.refuse_if_moved();
    }

    file_connection& file() noexcept { return file_; }
    void commit() { file_.commit(); }

private:
    passage way_;
    file_connection& file_;
    open_transaction open_;
};

}  // namespace leasehold::inline v0_1_0::detail::sqlite
