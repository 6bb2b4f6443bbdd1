// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <poll.h>

#include <libpq-fe.h>

#include <leasehold/errors.hpp>
#include <leasehold/postgres/binary.hpp>
#include <leasehold/postgres/fault.hpp>
#include <leasehold/postgres/sql.hpp>
#include <leasehold/process_of.hpp>
#include <leasehold/time.hpp>

namespace leasehold::inline v0_1_0::detail::postgres {

using deadline = std::chrono::steady_clock::time_point;

/// From now on, or from `since`; far away, but not beyond the clock's range, for a length that is longer.
inline deadline after(millis length, deadline since = std::chrono::steady_clock::now()) {
    return since + std::min(length.to_chrono(), std::chrono::milliseconds{std::chrono::hours{24 * 365}});
}

/// What is thrown where the server does not answer, or is gone. libpq's own text is not told: it names hosts, users and
/// what else the connection string holds.
[[noreturn]] inline void raise_lost(std::string_view why, bool is_committing) {
    const std::string text = "the connection to the PostgreSQL server " + std::string{why};
    if (is_committing) {
        throw store_unknown{text + " before it answered a commit", 0, true};
    }
    throw store_error{text, 0, true};
}

/// Waits until the connection's socket can do what is asked for; false once the time is over.
inline bool wait_for_socket(PGconn* on, bool reading, bool writing, deadline until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0) {
        return false;
    }
    pollfd socket{::PQsocket(on), 0, 0};
    socket.events = static_cast<short>((reading ? POLLIN : 0) | (writing ? POLLOUT : 0));
    constexpr std::chrono::milliseconds most{3'600'000};
    ::poll(&socket, 1, static_cast<int>(std::min(left, most).count()));  // whatever it says, the caller looks again
    return true;
}

/// One connection, ours or a caller's. Statements are gathered, and go out together with the next question: one way
/// there and back for all of them. No wait for the server is longer than the time to answer.
class connection {
public:
    /// One of the caller's.
    connection(PGconn* callers, const statements& says, millis answer_timeout)
        : handle_{callers, close{false}}, says_{says}, answer_timeout_{answer_timeout} {}

    /// A new one. `may_prepare`: whether statements stay prepared on it.
    connection(const std::string& conninfo, const statements& says, millis answer_timeout, bool may_prepare)
        : handle_{begun(conninfo), close{true}},
          says_{says},
          answer_timeout_{answer_timeout},
          may_prepare_{may_prepare} {
        await_connection();
        ::PQsetNoticeProcessor(
            handle(), [](void*, const char*) {}, nullptr);
    }

    PGconn* handle() const noexcept { return handle_.get(); }
    const statements& says() const noexcept { return says_; }
    /// In a child of a fork it never is: what the child said, the server would take for its parent's words.
    bool is_well() const noexcept { return process_.is_this() && !is_broken_ && ::PQstatus(handle()) == CONNECTION_OK; }
    bool in_transaction() const noexcept { return is_well() && ::PQtransactionStatus(handle()) == PQTRANS_INTRANS; }
    bool is_idle() const noexcept { return is_well() && ::PQtransactionStatus(handle()) == PQTRANS_IDLE; }

    /// To go out with the next `flush`.
    void gather(const statement& what, parameters values = {}) { gathered_.push_back({&what, std::move(values)}); }
    bool has_gathered() const noexcept { return !gathered_.empty(); }
    void drop_gathered() noexcept { gathered_.clear(); }

    /// Sends what was gathered and gives the answers in that order. The first fault is thrown; what follows it has not
    /// been done then. `is_committing`: whether a lost answer means that nobody knows what became of it.
    std::vector<answer> flush(bool is_committing = false) {
        process_.refuse_another();
        const std::vector<request> sent = std::exchange(gathered_, {});
        if (sent.empty()) {
            return {};
        }
        const deadline until = after(answer_timeout_);
        const piping pipe{*this};
        std::vector<expected> order;
        for (const request& each : sent) {
            send(each, order, is_committing);
        }
        if (::PQpipelineSync(handle()) == 0) {
            lose("was lost", is_committing);
        }
        return receive(order, until, is_committing);
    }

    /// Sends one statement after what was gathered; gives its answer.
    answer ask(const statement& what, parameters values = {}) {
        gather(what, std::move(values));
        std::vector<answer> all = flush();
        return std::move(all.back());
    }

    /// Takes in what has come without being asked for, without waiting; false where the connection has ended.
    bool take_in() noexcept {
        is_broken_ = is_broken_ || ::PQconsumeInput(handle()) == 0;
        return is_well();
    }

    /// Whether the server has ended an idle connection. Mostly nothing has come from it; else it is asked.
    bool is_still_there() noexcept {
        pollfd socket{::PQsocket(handle()), POLLIN, 0};
        if (!is_well() || ::poll(&socket, 1, 0) == 0) {
            return is_well();
        }
        try {
            take_in();
            ask(says_.read_clock);
        } catch (...) {
            is_broken_ = true;
        }
        return is_well();
    }

    /// Ends whatever transaction is open; never throws.
    void roll_back() noexcept {
        drop_gathered();
        try {
            if (is_well() && !is_idle()) {
                ask(says_.roll_back);
            }
        } catch (...) {  // the server ends it with the connection
            is_broken_ = true;
        }
    }

    /// How many messages of the channel there have been since the last call.
    std::size_t notified() noexcept {
        std::size_t count = 0;
        while (PGnotify* const one = ::PQnotifies(handle())) {
            ::PQfreemem(one);
            ++count;
        }
        return count;
    }

private:
    struct close {
        bool owned = true;
        process_of made_in{};
        void operator()(PGconn* of) const noexcept {
            if (owned && made_in.is_this()) {  // to close it is a word to the server as well
                ::PQfinish(of);
            }
        }
    };
    struct request {
        const statement* what = nullptr;
        parameters values{};
    };
    struct expected {
        const statement* what = nullptr;
        bool is_preparing = false;
    };

    /// libpq sends without waiting for each answer, while this lives; a caller's connection is then as it was.
    class piping {
    public:
        explicit piping(connection& on) : on_{on}, was_nonblocking_{::PQisnonblocking(on.handle()) != 0} {
            if (!on_.is_well() || ::PQsetnonblocking(on_.handle(), 1) != 0 ||
                ::PQenterPipelineMode(on_.handle()) == 0) {
                on_.lose("was lost", false);  // and nothing has been sent
            }
        }
        piping(const piping&) = delete;
        piping& operator=(const piping&) = delete;
        ~piping() {
            if (::PQexitPipelineMode(on_.handle()) == 0) {
                on_.is_broken_ = true;
            }
            ::PQsetnonblocking(on_.handle(), was_nonblocking_ ? 1 : 0);
        }

    private:
        connection& on_;
        bool was_nonblocking_;
    };

    [[noreturn]] void lose(std::string_view why, bool is_committing) {
        is_broken_ = true;
        raise_lost(why, is_committing);
    }

    /// By what the caller says, save that texts are ours.
    static PGconn* begun(const std::string& conninfo) {
        const std::array<const char*, 3> names{"dbname", "client_encoding", nullptr};
        const std::array<const char*, 3> values{conninfo.c_str(), "UTF8", nullptr};
        return ::PQconnectStartParams(names.data(), values.data(), 1);
    }

    void await_connection() {
        const deadline until = after(answer_timeout_);
        if (handle() == nullptr || ::PQstatus(handle()) == CONNECTION_BAD) {
            lose("cannot be made: the connection string is not one, or the server is not there", false);
        }
        for (PostgresPollingStatusType now = PGRES_POLLING_WRITING; now != PGRES_POLLING_OK;
             now = ::PQconnectPoll(handle())) {
            if (now == PGRES_POLLING_FAILED) {
                lose(::PQconnectionNeedsPassword(handle()) != 0  ? "cannot be made: the server asks for a password"
                     : ::PQconnectionUsedPassword(handle()) != 0 ? "cannot be made: perhaps the password is wrong"
                                                                 : "cannot be made",
                     false);
            }
            if (!wait_for_socket(handle(), now == PGRES_POLLING_READING, now == PGRES_POLLING_WRITING, until)) {
                lose("was not made within the timeout", false);
            }
        }
    }

    void send(const request& one, std::vector<expected>& order, bool is_committing) {
        std::vector<const char*> values;
        std::vector<int> lengths;
        const std::vector<int> formats(one.values.size(), 1);
        for (const std::optional<std::string>& value : one.values) {
            values.push_back(value ? value->data() : nullptr);
            lengths.push_back(value ? static_cast<int>(value->size()) : 0);
        }
        const int count = static_cast<int>(values.size());
        bool sent = true;
        if (may_prepare_) {
            if (!is_prepared(*one.what, order)) {
                sent = ::PQsendPrepare(handle(), one.what->name.data(), one.what->text.c_str(), 0, nullptr) != 0;
                order.push_back({one.what, true});
            }
            sent = sent && ::PQsendQueryPrepared(handle(), one.what->name.data(), count, values.data(), lengths.data(),
                                                 formats.data(), 1) != 0;
        } else {
            sent = ::PQsendQueryParams(handle(), one.what->text.c_str(), count, nullptr, values.data(), lengths.data(),
                                       formats.data(), 1) != 0;
        }
        if (!sent) {
            lose("was lost", is_committing);
        }
        order.push_back({one.what, false});
    }

    bool is_prepared(const statement& what, const std::vector<expected>& order) const {
        return std::find(prepared_.begin(), prepared_.end(), &what) != prepared_.end() ||
               std::any_of(order.begin(), order.end(),
                           [&](const expected& each) { return each.is_preparing && each.what == &what; });
    }

    std::vector<answer> receive(const std::vector<expected>& order, deadline until, bool is_committing) {
        std::vector<answer> answers;
        std::optional<fault> wrong;
        const statement* wrong_in = nullptr;
        for (const expected& each : order) {
            answer one{next(until, is_committing)};
            const ExecStatusType status = one.status();
            if (status == PGRES_FATAL_ERROR && !wrong) {
                wrong = fault::of(one.result());
                wrong_in = each.what;
            }
            if (each.is_preparing && status == PGRES_COMMAND_OK) {
                prepared_.push_back(each.what);
            } else if (!each.is_preparing) {
                answers.push_back(std::move(one));
            }
            const answer end{next(until, is_committing)};  // nothing, which ends each answer
            if (!is_well() || end.result() != nullptr) {
                lose_to(wrong, is_committing);
            }
        }
        const answer synchronised{next(until, is_committing)};
        if (synchronised.status() != PGRES_PIPELINE_SYNC) {
            lose_to(wrong, is_committing);
        }
        if (wrong) {
            raise(*wrong, "running " + std::string{wrong_in->name});
        }
        return answers;
    }

    /// A server that goes says why, where it can; that is an answer, but none to a commit.
    [[noreturn]] void lose_to(const std::optional<fault>& why, bool is_committing) {
        is_broken_ = true;
        if (why && !why->state.empty() && !is_committing) {
            throw store_error{"the connection to the PostgreSQL server was lost: " + why->message + " (PostgreSQL " +
                                  why->state + ")",
                              why->code(), true};
        }
        raise_lost("was lost", is_committing);
    }

    PGresult* next(deadline until, bool is_committing) {
        for (;;) {
            const int unsent = ::PQflush(handle());
            if (unsent < 0 && ::PQstatus(handle()) == CONNECTION_BAD && ::PQisBusy(handle()) != 0) {
                lose("was lost", is_committing);
            }
            if (::PQisBusy(handle()) == 0) {
                return ::PQgetResult(handle());
            }
            if (!wait_for_socket(handle(), true, unsent > 0, until)) {
                lose("gave no answer within the timeout", is_committing);
            }
            if (::PQconsumeInput(handle()) == 0 && ::PQisBusy(handle()) != 0) {
                lose("was lost", is_committing);
            }
        }
    }

    process_of process_{};
    std::unique_ptr<PGconn, close> handle_;
    const statements& says_;
    millis answer_timeout_;
    bool may_prepare_ = false;
    bool is_broken_ = false;
    std::vector<request> gathered_{};
    std::vector<const statement*> prepared_{};
};

}  // namespace leasehold::inline v0_1_0::detail::postgres
