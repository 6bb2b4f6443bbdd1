// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sqlite3.h>

#include <leasehold/rules.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/sqlite/sql.hpp>
#include <leasehold/sqlite/turnstile.hpp>

/// The floor: what SQLite itself can do with the same SQL in the same transactions, by its plain C interface and
/// prepared statements. No gate, no check of what is read, no events, no settlements.
namespace bench {

namespace sql = leasehold::detail::sqlite;

/// A prepared statement. What SQLite refuses is thrown; nothing else is done beside what it is asked.
class floor_statement {
public:
    floor_statement(sqlite3* on, const char* text) : on_{on} {
        check(sqlite3_prepare_v3(on, text, -1, SQLITE_PREPARE_PERSISTENT, &handle_, nullptr));
    }
    floor_statement(const floor_statement&) = delete;
    floor_statement& operator=(const floor_statement&) = delete;
    ~floor_statement() { sqlite3_finalize(handle_); }

    floor_statement& put(int at, std::int64_t value) {
        sqlite3_bind_int64(handle_, at, value);
        return *this;
    }
    floor_statement& put(int at, std::string_view text) {
        sqlite3_bind_text(handle_, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
        return *this;
    }
    floor_statement& put_bytes(int at, std::string_view bytes) {
        sqlite3_bind_blob(handle_, at, bytes.data(), static_cast<int>(bytes.size()), SQLITE_STATIC);
        return *this;
    }
    floor_statement& put_null(int at) {
        sqlite3_bind_null(handle_, at);
        return *this;
    }

    bool step() {
        const int answer = sqlite3_step(handle_);
        if (answer != SQLITE_ROW && answer != SQLITE_DONE) {
            check(answer);
        }
        return answer == SQLITE_ROW;
    }
    void reset() { sqlite3_reset(handle_); }
    void run() {
        while (step()) {
        }
        reset();
    }

    std::int64_t integer(int column) { return sqlite3_column_int64(handle_, column); }
    std::string_view bytes(int column) {
        const auto* const begin = static_cast<const char*>(sqlite3_column_blob(handle_, column));
        return {begin, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
    }

private:
    void check(int answer) {
        if (answer != SQLITE_OK) {
            throw std::runtime_error{std::string{"floor: "} + sqlite3_errmsg(on_)};
        }
    }

    sqlite3* on_;
    sqlite3_stmt* handle_ = nullptr;
};

/// A connection to a file that the library has made, with the settings that the library's own have.
class floor_connection {
public:
    floor_connection(const std::string& path, const char* synchronous) {
        sqlite3_open_v2(path.c_str(), &on_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
        sqlite3_busy_timeout(on_, 10'000);
        floor_statement{on_, "PRAGMA cell_size_check = ON"}.run();
        floor_statement{on_, (std::string{"PRAGMA synchronous = "} + synchronous).c_str()}.run();
        if (!has_log()) {
            floor_statement{on_, "PRAGMA journal_mode = TRUNCATE"}.run();
        }
    }
    floor_connection(const floor_connection&) = delete;
    floor_connection& operator=(const floor_connection&) = delete;
    ~floor_connection() { sqlite3_close_v2(on_); }

    sqlite3* handle() const { return on_; }

private:
    bool has_log() {
        floor_statement asked{on_, "PRAGMA journal_mode"};
        return asked.step() && asked.bytes(0) == "wal";
    }

    sqlite3* on_ = nullptr;
};

/// What of the library's is switched on, to see what it adds.
struct floor_parts {
    bool gate = false;              ///< stands in line at the turnstile before each begin
    bool moved_file_check = false;  ///< asks at each begin whether the file was moved; the library not every time
    bool settlements = false;       ///< judges each finish by the rules and tells both sides of it
    bool first_lookups = false;     ///< looks for checkpoints and receipts in a first round as well, where none can be
};

/// A job as the floor holds it between claim and finish.
struct floor_job {
    std::int64_t id = 0;
    std::int64_t token = 0;
    std::int64_t attempt = 0;
    std::int64_t vests_at = 0;
    std::int64_t failures = 0;
    std::int64_t lapses = 0;
    std::string payload{};
    std::optional<leasehold::marker> round{};  ///< with settlements
};

/// Claims, finishes and enqueues as the library does, and does nothing beside.
class floor_queue {
public:
    floor_queue(const std::string& path, const char* synchronous, floor_parts parts = {})
        : file_{path, synchronous}, parts_{parts}, turnstile_{path} {}

    std::vector<floor_job> claim(std::int64_t limit) {
        begin();
        const std::int64_t now = read_clock();
        priority_.put(1, queue).put(2, std::numeric_limits<std::int64_t>::max()).step();
        const std::int64_t priority = priority_.integer(0);
        priority_.reset();
        std::vector<floor_job> jobs;
        read(free_.put(1, queue).put(2, priority).put(3, limit), jobs);
        read(waiting_.put(1, queue).put(2, priority).put(3, now).put(4, now).put(5, limit), jobs);
        for (floor_job& job : jobs) {
            ++job.token;
            ++job.attempt;
            job.vests_at = now + lease_for;
            lease(job);
        }
        for (floor_job& job : jobs) {
            add_bytes(job);
        }
        commit();
        return jobs;
    }

    /// Returns how many stand.
    std::size_t finish(const std::vector<floor_job>& held) {
        begin();
        const std::int64_t now = read_clock();
        std::vector<floor_job> jobs;
        for (const floor_job& job : held) {
            read(row_.put(1, job.id), jobs);
        }
        std::vector<leasehold::settlement> settled;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            finish(jobs[i], now);
            if (parts_.settlements) {
                settled.push_back(judge(*held[i].round, jobs[i], now));
            }
        }
        commit();
        return parts_.settlements ? settled.size() : jobs.size();
    }

    void enqueue(const std::vector<std::string>& payloads) {
        begin();
        const std::int64_t now = read_clock();
        tail_.put(1, queue).put(2, std::int64_t{0}).run();
        for (const std::string& payload : payloads) {
            insert_.put(1, queue).put_null(2).put(3, std::int64_t{0}).put(4, now).put(5, ready);
            insert_.put(6, std::int64_t{0}).put(7, std::int64_t{0}).put(8, std::int64_t{5}).put_null(9);
            insert_.put(10, std::int64_t{0}).put(11, now).put(12, std::int64_t{0}).put(13, std::int64_t{0}).run();
            add_payload_.put(1, sqlite3_last_insert_rowid(file_.handle())).put_bytes(2, payload).run();
        }
        commit();
    }

private:
    static constexpr std::string_view queue = "default";
    static constexpr std::string_view owner = "bench";
    static constexpr std::int64_t lease_for = 3'600'000;
    static constexpr std::int64_t ready = 0;
    static constexpr std::int64_t leased = 1;
    static constexpr std::int64_t finished = 2;

    static std::int64_t read_clock() {
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    }

    void begin() {
        if (parts_.gate) {
            turnstile_.enter(std::chrono::steady_clock::now() + std::chrono::seconds{5});
        }
        begin_.run();
        if (parts_.moved_file_check) {
            int has_moved = 0;
            sqlite3_file_control(file_.handle(), "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
            if (has_moved != 0) {
                throw std::runtime_error{"floor: the file has moved"};
            }
        }
        meta_.step();
        store_ = meta_.bytes(1);
        meta_.reset();
    }

    void commit() {
        commit_.run();
        turnstile_.leave();
    }

    void read(floor_statement& from, std::vector<floor_job>& jobs) {
        while (from.step()) {
            floor_job& job = jobs.emplace_back();
            job.id = from.integer(0);
            job.token = from.integer(7);
            job.attempt = from.integer(8);
            job.vests_at = from.integer(13);
            job.failures = from.integer(14);
            job.lapses = from.integer(15);
            if (parts_.settlements) {
                job.round = round_of(job, from.bytes(6));
            }
        }
        from.reset();
    }

    void lease(floor_job& job) {
        update(job, leased).put_null(12).put_null(13).put_null(14).put_null(15).run();
        if (parts_.settlements) {
            job.round = round_of(job, owner);
        }
    }

    void finish(const floor_job& job, std::int64_t now) {
        update(job, finished).put(12, std::int64_t{0}).put(13, now).put_null(14).put_null(15).run();
    }

    floor_statement& update(const floor_job& job, std::int64_t state) {
        update_.put(1, job.id).put(2, state).put(3, owner).put(4, job.token).put(5, job.attempt).put(6, job.vests_at);
        update_.put_null(7).put(8, std::int64_t{1}).put(9, job.vests_at).put(10, job.failures).put(11, job.lapses);
        return update_;
    }

    void add_bytes(floor_job& job) {
        payload_.put(1, job.id);
        if (payload_.step()) {
            job.payload = payload_.bytes(0);
        }
        payload_.reset();
        if (job.token > 1 || parts_.first_lookups) {
            checkpoint_.put(1, job.id).run();
            receipts_.put(1, job.id).run();
        }
    }

    static leasehold::instant instant_of(std::int64_t ms) { return leasehold::instant{std::chrono::milliseconds{ms}}; }

    leasehold::marker round_of(const floor_job& job, std::string_view held_by) const {
        leasehold::marker round{.id = {job.id}, .owner = std::string{held_by}, .token = {job.token}};
        std::copy(store_.begin(), store_.end(), round.store.bytes.begin());
        round.attempt = static_cast<std::int32_t>(job.attempt);
        round.lease_until = instant_of(job.vests_at);
        return round;
    }

    static leasehold::settlement judge(const leasehold::marker& presented, const floor_job& job, std::int64_t now) {
        const leasehold::rules::columns row{.state = leasehold::job_state::leased,
                                            .owner = job.round->owner,
                                            .token = job.round->token,
                                            .attempt = job.round->attempt,
                                            .lease_until = job.round->lease_until};
        return {leasehold::rules::judge(presented.view(), job.round->store, &row, instant_of(now)), instant_of(now),
                presented, leasehold::standing{*job.round, leasehold::job_state::finished}};
    }

    template <class Sql>
    floor_statement prepared(const Sql& text) {
        return floor_statement{file_.handle(), text.c_str()};
    }

    floor_connection file_;
    floor_parts parts_;
    sql::turnstile turnstile_;
    std::string store_{};
    floor_statement begin_ = prepared(sql::begin_write);
    floor_statement commit_ = prepared(sql::commit);
    floor_statement meta_ = prepared(sql::select_meta);
    floor_statement priority_ = prepared(sql::next_priority);
    floor_statement free_ = prepared(sql::free_heads);
    floor_statement waiting_ = prepared(sql::waiting_heads);
    floor_statement row_ = prepared(sql::select_row);
    floor_statement update_ = prepared(sql::update_row);
    floor_statement payload_ = prepared(sql::select_payload);
    floor_statement checkpoint_ = prepared(sql::select_checkpoint);
    floor_statement receipts_ = prepared(sql::select_receipts);
    floor_statement tail_ = prepared(sql::tail);
    floor_statement insert_ = prepared(sql::insert_row);
    floor_statement add_payload_ = prepared(sql::insert_payload);
};

}  // namespace bench
