// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0 {

/// How a file keeps its transactions whole: by a rollback journal, or by a write-ahead log.
enum class journal_mode : std::uint8_t { rollback, wal };

constexpr std::string_view to_text(journal_mode mode) noexcept {
    return mode == journal_mode::wal ? "write-ahead log" : "rollback journal";
}

/// What a commit waits for. `full`: what was answered survives a power cut, so a token is never given twice. `normal`
/// and `off` are faster, and give that up.
enum class synchronous_mode : std::uint8_t { off = 0, normal = 1, full = 2, extra = 3 };

/// How a file is used, and made where it is not there. Every member may be left as it is.
struct sqlite_options {
    /// Unset: an existing file as it is, a new one by rollback journal. Set, and the file is otherwise: refused.
    std::optional<journal_mode> journal{};
    /// What a commit waits for.
    synchronous_mode synchronous = synchronous_mode::full;
    /// How long a call waits for the file's lock, on the steady clock.
    millis busy_timeout = std::chrono::seconds{5};
    /// Who may use a file that is made: permission bits, whatever the process's mask.
    unsigned file_mode = 0600;
    /// A network file system, or one in user space, is refused by its name. The one of this name is not: whoever sets
    /// it answers for that its locks hold between all who use the file, and that what was synced there lasts.
    std::string trusted_file_system{};
    /// Whether a file of an older schema is brought up to this library's; a library that knows the older one alone
    /// refuses it then. Where not, it is refused here, and stays as it is.
    bool upgrade = true;
};

}  // namespace leasehold::inline v0_1_0
