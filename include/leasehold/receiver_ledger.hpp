// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <SQLiteCpp/SQLiteCpp.h>

#include <leasehold/arguments.hpp>
#include <leasehold/clock.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/process_of.hpp>
#include <leasehold/rules.hpp>
#include <leasehold/sqlite/file_connection.hpp>
#include <leasehold/sqlite/file_place.hpp>
#include <leasehold/sqlite/ledger_sql.hpp>
#include <leasehold/sqlite/line.hpp>
#include <leasehold/sqlite/open_transaction.hpp>
#include <leasehold/sqlite/options.hpp>
#include <leasehold/sqlite/private_file.hpp>
#include <leasehold/sqlite/rows.hpp>
#include <leasehold/sqlite/schema.hpp>
#include <leasehold/sqlite/write_lock.hpp>
#include <leasehold/text.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>

namespace leasehold::inline v0_1_0 {

/// What became of a delivery, in the order in which it is asked.
enum class delivery : std::uint8_t {
    applied,    ///< the ID was unknown: the effect is made, and both are recorded
    duplicate,  ///< the same content again: no effect, and the first answer once more, whatever the token
    stale,      ///< other content, from an older round of the same job: no effect
    conflict,   ///< other content under a known ID: no effect
};

constexpr std::string_view to_text(delivery what) noexcept {
    constexpr std::array<std::string_view, 4> names{"applied", "duplicate", "stale", "conflict"};
    return detail::name_of(what, names);
}

/// What became of a delivery, and what the sender is to be told.
struct delivered {
    delivery what = delivery::applied;  ///< see `delivery`
    std::string answer{};               ///< what the effect returned when it was made; empty for `stale` and `conflict`

    /// Whether the content is in effect: now, or since an earlier delivery.
    explicit operator bool() const noexcept { return what == delivery::applied || what == delivery::duplicate; }
};

/// How a ledger works. Every member may be left as it is.
struct ledger_options {
    sqlite_options file{};  ///< how its file is opened and made
    /// How long an ID is remembered, by the ledger's clock and from its first delivery on. One that is forgotten is
    /// unknown again, and its effect is made anew: longer than any sender may still try. Unset: for ever.
    std::optional<millis> forget_after{};
};

/// The other side of the wire: records the business ID and the content together with the effect, in one transaction, so
/// that nothing is added twice. In a file of the receiver's own; usable from several threads and processes.
template <local_clock Clock>
class basic_receiver_ledger {
public:
    /// Opens the file, and makes what is missing. Throws as a queue's store does.
    explicit basic_receiver_ledger(const std::string& path, ledger_options options = {}, Clock clock = {})
        : path_{detail::sqlite::file_place(path)}, options_{std::move(options)}, clock_{std::move(clock)} {
        if (options_.forget_after && *options_.forget_after <= millis{}) {
            detail::refuse("forget_after", "it is longer than zero");
        }
        detail::sqlite::refuse_remote(path_, options_.file.trusted_file_system);
        if (!detail::sqlite::is_there(path_)) {
            detail::sqlite::make_empty_file(path_, options_.file.file_mode);
        }
        attach();
    }
    basic_receiver_ledger(const basic_receiver_ledger&) = delete;
    basic_receiver_ledger& operator=(const basic_receiver_ledger&) = delete;
    ~basic_receiver_ledger() = default;

    /// Makes the effect of `content` under `id` (1 to 255 bytes of UTF-8) unless it is there already. `round` is the
    /// sender's, where it has one. `effect(SQLite::Database&)` runs in the ledger's transaction, for writes to
    /// the same file, and may return a text to be given again; what it throws takes the record back with it.
    template <class Effect>
    delivered apply(std::string_view id, std::string_view content, const std::optional<claim_round>& round,
                    Effect&& effect) {
        detail::check_name("id", id);
        namespace s = detail::sqlite;
        s::write_lock writing{line_->take()};
        connection& on = writing.file();
        const instant now = take_reading(clock_).at;
        const std::string name{id};
        forget(on, now);
        std::optional<delivered> known = judged(on, name, content, round);
        if (!known) {
            known = delivered{delivery::applied, detail::text_returned_by(effect, on.database())};
            record(on, name, content, known->answer, round, now);
        }
        writing.commit();
        return std::move(*known);
    }

private:
    using connection = detail::sqlite::file_connection;

    void attach() {
        namespace s = detail::sqlite;
        const auto [way, on] = line_->take();
        s::settle_file(on, options_.file.journal);
        const s::open_transaction writing{on, s::begin_write};
        if (const s::found_objects found = s::objects_of(on, s::ledger_objects); found.empty()) {
            on.execute(s::create_ledger);
        } else {
            s::check_objects(on, found, s::expected_ledger, s::create_ledger.c_str());
        }
        on.commit();
    }

    void forget(connection& on, instant now) {
        if (options_.forget_after) {
            const instant before = saturating_subtract(now, *options_.forget_after);
            on.prepared(detail::sqlite::forget_deliveries).bind(before).run();
        }
    }

    /// What is known of the ID; nothing where it is unknown.
    std::optional<delivered> judged(connection& on, const std::string& id, std::string_view content,
                                    const std::optional<claim_round>& round) {
        namespace s = detail::sqlite;
        bool is_newer = false;
        delivered answer;
        {
            s::running query = on.prepared(s::select_delivery);
            if (!query.bind(id, s::blob{content}).step()) {
                return std::nullopt;
            }
            const bool same_job =
                round && query.bytes(2) == s::bytes_of(round->store) && query.optional_integer(3) == round->id.value;
            const std::int64_t token = query.is_null(4) ? 0 : query.integer(4);
            is_newer = same_job && round->token.value > token;
            if (query.integer(0) != 0) {
                answer = {delivery::duplicate, query.bytes(1)};
            } else {
                answer.what = same_job && round->token.value < token ? delivery::stale : delivery::conflict;
            }
        }
        if (answer.what == delivery::duplicate && is_newer) {
            // From now on what an earlier round says otherwise is stale.
            on.prepared(s::update_round)
                .bind(id, s::blob{s::bytes_of(round->store)}, round->id.value, round->token.value)
                .run();
        }
        return answer;
    }

    static void record(connection& on, const std::string& id, std::string_view content, const std::string& answer,
                       const std::optional<claim_round>& round, instant now) {
        namespace s = detail::sqlite;
        std::optional<s::blob> store;
        std::optional<std::int64_t> job;
        std::optional<std::int64_t> token;
        if (round) {
            store = s::blob{s::bytes_of(round->store)};
            job = round->id.value;
            token = round->token.value;
        }
        on.prepared(s::insert_delivery).bind(id, s::blob{content}, s::blob{answer}, store, job, token, now).run();
    }

    std::string path_;
    ledger_options options_;
    Clock clock_;
    detail::bound_to_process<detail::sqlite::line> line_{
        new detail::sqlite::line{path_, options_.file, detail::sqlite::line::purpose::writing}};
};

/// A ledger that forgets by the wall clock.
using receiver_ledger = basic_receiver_ledger<wall_clock>;

}  // namespace leasehold::inline v0_1_0
