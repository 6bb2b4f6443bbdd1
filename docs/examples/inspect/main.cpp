// SPDX-License-Identifier: MIT
/// inspect STORE: what stands in a store, and what an operator may do about it.
#include <chrono>
#include <clocale>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <SQLiteCpp/SQLiteCpp.h>
#include <CLI/CLI.hpp>

#include <leasehold/sqlite.hpp>
#include <leasehold/sqlite/boot_clock.hpp>

#include "../common/any_store.hpp"
#include "as_json.hpp"
#include "operations.hpp"
#include "overview.hpp"
#include "terminal.hpp"

namespace {

using namespace inspect;

constexpr int went_well = 0;
constexpr int went_wrong = 1;
constexpr int bad_input = 2;

/// What was asked for on the command line.
struct request {
    std::string store{};
    std::string schema = "leasehold";
    scope of{};
    asking how{};
    bool watches = false;
    std::int64_t every_ms = 1000;
    std::vector<std::int64_t> ids{};
    std::optional<std::string> key{};
    pruning erase{};
    leasehold::requeue_options again{};
    bool upgrades = false;
};

/// Whose clock a store keeps time by. A queue makes what is missing, and who only looks must not: throws where there is
/// no store.
std::string clock_of(const request& asked) {
    if (any_store::is_database(asked.store)) {
        if (!any_store::has_store(asked.store, asked.schema)) {
            throw std::runtime_error{"the database has no store in the schema " + shown(asked.schema)};
        }
        return std::string{to_text(leasehold::clock_axis::server)};
    }
    if (!std::filesystem::exists(asked.store)) {
        throw std::runtime_error{"there is no file " + shown(asked.store)};
    }
    SQLite::Database file{asked.store, SQLite::OPEN_READONLY, 5000};
    if (!file.tableExists("leasehold_meta")) {
        throw std::runtime_error{shown(asked.store) + " is no store"};
    }
    return file.execAndGet("SELECT clock_axis FROM leasehold_meta").getString();
}

template <class Queue>
int show_overview(const Queue& queue, const request& asked) {
    const overview seen = look(queue, asked.of);
    if (asked.how.in_json) {
        std::cout << one_line(in_json(seen)) << std::endl;
    } else {
        print(lines_of(seen));
    }
    return went_well;
}

template <class Queue>
int watch(const Queue& queue, const request& asked, const watched_signals& signals) {
    const std::optional<screen> on = asked.how.in_json ? std::nullopt : std::optional<screen>{std::in_place};
    do {
        try {
            if (on) {
                on->draw(lines_of(look(queue, asked.of)));
            } else {
                show_overview(queue, asked);
            }
        } catch (const leasehold::store_error& fault) {  // it may be over when the next frame is due
            if (on) {
                on->draw({"inspect: " + prose(fault.what())});
            } else {
                std::cerr << "inspect: " << prose(fault.what()) << '\n';
            }
        }
    } while (std::cout && signals.pause(std::chrono::milliseconds{asked.every_ms}));
    return went_well;
}

template <class Queue>
int show_job(const Queue& queue, const request& asked) {
    const auto job = asked.key ? queue.find(asked.of.queue.value_or("default"), *asked.key)
                               : queue.find(leasehold::job_id{asked.ids.front()});
    if (!job) {
        std::cerr << "inspect: there is no such job\n";
        return went_wrong;
    }
    const instant now = queue.now();
    if (asked.how.in_json) {
        std::cout << one_line(whole_in_json(*job, now)) << std::endl;
    } else {
        print(lines_of(*job, now));
    }
    return went_well;
}

/// The command line, and what each command does.
class command_line {
public:
    command_line() {
        app_.add_option("store", asked_.store,
                        "A file, or a database as postgresql://… (keep passwords in libpq's files: a command line is "
                        "no secret)")
            ->required();
        app_.add_option("--schema", asked_.schema, "Where a database has its store")->capture_default_str();
        app_.add_flag("--upgrade", asked_.upgrades,
                      "Bring a file of an older schema up to this program's: programs built with an older library "
                      "cannot use it then");
        app_.add_flag("--json", asked_.how.in_json, "For machines: one document a line");
        app_.add_option("--queue", asked_.of.queue, "Only this queue");
        app_.add_option("--limit", asked_.of.limit, "So many leases are shown, and so many jobs set aside")
            ->check(CLI::Range(std::size_t{0}, std::size_t{1'000'000}))
            ->capture_default_str();
        app_.add_flag("--watch", asked_.watches, "Look again and again, until interrupted");
        app_.add_option("--every", asked_.every_ms, "How often a watch looks: 500ms, 2s, 1m")
            ->transform(length())
            ->check(CLI::Range(std::int64_t{10}, std::int64_t{86'400'000}));
        app_.require_subcommand(0, 1);
        app_.fallthrough();
        app_.footer("Exit status: 0 it is done, 1 it is not, 2 the command line was refused.");

        job_ = app_.add_subcommand("job", "What the row of one job tells");
        job_->add_option("id", asked_.ids, "Its id")->expected(1);
        job_->add_option("--key", asked_.key, "Its key in the queue of --queue, or in `default`");
        requeue_ = verb("requeue", "Sends jobs that were set aside or cancelled back to work");
        requeue_->add_option("--delay", delay_ms_, "Not before this has passed: 30s, 5m, 1h, 1d")->transform(length());
        requeue_->add_option("--expires-in", expires_ms_, "A new deadline: so long from now")->transform(length());
        cancel_ = verb("cancel", "Ends jobs that have not finished");
        revoke_ = verb("revoke", "Ends leases without their holders: the jobs are ready again");
        prune_ = app_.add_subcommand("prune", "Erases jobs that have ended");
        prune_->add_option("--older-than", older_ms_, "Those that ended so long ago: 1h, 30d")
            ->required()
            ->transform(length());
        prune_->add_flag("--quarantined", asked_.erase.quarantined, "Also those that were set aside for a person");
        prune_->add_flag("--yes", asked_.how.is_sure, "Without asking");
    }

    int parse_and_run(int count, char** arguments) {
        try {
            app_.parse(count, arguments);
            refuse_misfits();
        } catch (const CLI::ParseError& refused) {
            return app_.exit(refused) == 0 ? went_well : bad_input;
        }
        std::optional<watched_signals> signals;
        if (asked_.watches) {
            signals.emplace();
        }
        const auto on = [&](auto& queue) { return signals ? watch(queue, asked_, *signals) : run(queue); };
        if (clock_of(asked_) == to_text(leasehold::clock_axis::boot)) {
            leasehold::basic_lease_queue<leasehold::boot_clock, leasehold::sqlite_store> queue{
                {asked_.store, {.upgrade = asked_.upgrades}}};
            return on(queue);
        }
        return any_store::with_queue(asked_.store, {.schema = asked_.schema, .upgrade = asked_.upgrades}, on);
    }

private:
    static CLI::AsNumberWithUnit length() {
        return CLI::AsNumberWithUnit(
            std::map<std::string, std::int64_t>{
                {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}},
            static_cast<CLI::AsNumberWithUnit::Options>(CLI::AsNumberWithUnit::UNIT_REQUIRED |
                                                        CLI::AsNumberWithUnit::CASE_SENSITIVE),
            "LENGTH");
    }

    CLI::App* verb(const char* name, const char* what) {
        CLI::App* const made = app_.add_subcommand(name, what);
        made->add_option("ids", asked_.ids, "Which")->required();
        made->add_flag("--yes", asked_.how.is_sure, "Without asking");
        return made;
    }

    void refuse_misfits() {
        const bool is_command = !app_.get_subcommands().empty();
        if (is_command && asked_.watches) {
            throw CLI::ValidationError{"--watch", "a command is done once"};
        }
        if (is_command && asked_.of.queue && !*job_) {
            throw CLI::ValidationError{"--queue", "this command is not for one queue"};
        }
        if (*job_ && asked_.ids.empty() == !asked_.key) {
            throw CLI::ValidationError{"job", "an id, or --key"};
        }
        asked_.again.delay = std::chrono::milliseconds{delay_ms_};
        if (expires_ms_) {
            asked_.again.expires_in = std::chrono::milliseconds{*expires_ms_};
        }
        asked_.erase.older_than = std::chrono::milliseconds{older_ms_};
    }

    template <class Queue>
    int run(Queue& queue) const {
        using leasehold::claim_token;
        using leasehold::job_id;
        const auto amended = [&](const char* what, const auto& verb) {
            return amend(queue, what, asked_.ids, asked_.how, verb) ? went_well : went_wrong;
        };
        if (*job_) {
            return show_job(queue, asked_);
        }
        if (*requeue_) {
            return amended("Requeue",
                           [&](job_id id, claim_token seen) { return queue.requeue(id, seen, asked_.again); });
        }
        if (*cancel_) {
            return amended("Cancel", [&](job_id id, claim_token seen) { return queue.cancel(id, seen); });
        }
        if (*revoke_) {
            return amended("Revoke", [&](job_id id, claim_token seen) { return queue.revoke(id, seen); });
        }
        if (*prune_) {
            return prune(queue, asked_.erase, asked_.how) ? went_well : went_wrong;
        }
        return show_overview(queue, asked_);
    }

    request asked_{};
    std::int64_t delay_ms_ = 0;
    std::optional<std::int64_t> expires_ms_{};
    std::int64_t older_ms_ = 0;
    CLI::App app_{"What stands in a store, and what may be done about it.", "inspect"};
    CLI::App* job_ = nullptr;
    CLI::App* requeue_ = nullptr;
    CLI::App* cancel_ = nullptr;
    CLI::App* revoke_ = nullptr;
    CLI::App* prune_ = nullptr;
};

}  // namespace

int main(int count, char** arguments) {
    std::setlocale(LC_CTYPE, "C.UTF-8");  // how wide characters are
    try {
        const int status = command_line{}.parse_and_run(count, arguments);
        if (!std::cout.flush()) {
            std::cerr << "inspect: the output could not be written\n";
            return went_wrong;
        }
        return status;
    } catch (const std::invalid_argument& refused) {
        std::cerr << "inspect: " << prose(refused.what()) << '\n';
        return bad_input;
    } catch (const std::exception& error) {
        std::cerr << "inspect: " << prose(error.what()) << '\n';
        return went_wrong;
    }
}
