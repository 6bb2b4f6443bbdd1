// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <leasehold/sqlite.hpp>

#include "support/temporary_folder.hpp"
#include "work.hpp"

namespace bench {

/// What the rows of a backlog are. `queues`: ready rows, a hundred in each queue.
enum class backlog_kind : std::uint8_t { ready, finished, delayed, leased, queues };

constexpr std::string_view to_text(backlog_kind kind) noexcept {
    constexpr std::array<std::string_view, 5> names{"ready", "finished", "delayed", "leased", "queues"};
    return names.at(static_cast<std::size_t>(kind));
}

/// A file with so many rows of a kind, written by SQL, since the verbs would take long.
class backlog_file {
public:
    backlog_file(backlog_kind kind, std::size_t rows) {
        {
            // By rollback journal: a log would hold every row once more.
            lease_queue made{{path_, {.synchronous = synchronous_mode::off}}};
            made.transact([&](auto& session) {
                session.native().exec(insertion(kind, rows));
                session.native().exec("INSERT INTO leasehold_payload SELECT id, zeroblob(100) FROM leasehold_job");
            });
        }
        set_journal(path_, journal_mode::wal);
    }

    const std::string& path() const { return path_; }

private:
    static std::string insertion(backlog_kind kind, std::size_t rows) {
        const std::string queue = kind == backlog_kind::queues ? "'queue-' || i / 100" : "'default'";
        return "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < " + std::to_string(rows) +
               ") INSERT INTO leasehold_job (queue, priority, enqueued_at, max_attempts, failures, lapses, state, "
               "owner, token, attempt, waits, vests_at, lease_until, ended_by, ended_at) SELECT " +
               queue + ", 0, 1, 5, 0, 0, " + std::string{columns(kind)} + " FROM n";
    }

    /// From `state` on. What is over was over at instant 2; what waits, waits until the year 2100.
    static constexpr std::string_view columns(backlog_kind kind) noexcept {
        switch (kind) {
            case backlog_kind::finished: return "2, 'A', 1, 1, 1, 2, 2, 0, 2";
            case backlog_kind::delayed: return "0, NULL, 0, 0, 1, 4102444800000 + i, NULL, NULL, NULL";
            case backlog_kind::leased: return "1, 'A', 1, 1, 1, 4102444800000 + i, 4102444800000 + i, NULL, NULL";
            default: return "0, NULL, 0, 0, 0, 1, NULL, NULL, NULL";
        }
    }

    places::temporary_folder folder_{};
    std::string path_ = folder_ / "jobs.db";
};

}  // namespace bench
