// SPDX-License-Identifier: MIT
/// courier ORDERS.tsv: delivers each line of each order once, though couriers are stopped and killed on the way.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "../common/any_store.hpp"
#include "delivery.hpp"
#include "dispatcher.hpp"
#include "orders.hpp"
#include "receiver.hpp"
#include "stories.hpp"

namespace {

using namespace courier;

constexpr int went_well = 0;
constexpr int went_wrong = 1;
constexpr int bad_input = 2;

/// The folder that the files are kept in: the one given, or one that goes with the object.
class data_folder {
public:
    explicit data_folder(const std::string& given) : path_{given}, is_ours_{given.empty()} {
        if (is_ours_) {
            std::string made = (std::filesystem::temp_directory_path() / "courier-XXXXXX").string();
            if (::mkdtemp(made.data()) == nullptr) {
                throw std::runtime_error{"no temporary folder"};
            }
            path_ = made;
        } else {
            std::filesystem::create_directories(path_);
        }
    }
    data_folder(const data_folder&) = delete;
    data_folder& operator=(const data_folder&) = delete;
    ~data_folder() {
        if (is_ours_) {
            std::error_code ignored;
            std::filesystem::remove_all(path_, ignored);
        }
    }

    std::string operator/(const char* name) const { return (path_ / name).string(); }
    std::string string() const { return path_.string(); }

private:
    std::filesystem::path path_;
    bool is_ours_;
};

int refuse(const std::string& file, const std::vector<bad_line>& bad) {
    for (const bad_line& line : bad) {
        std::cerr << file << ':' << line.number << ": " << line.why << '\n';
    }
    std::cerr << "courier: nothing was enqueued\n";
    return bad_input;
}

/// Enqueues every line in one transaction; says which are in conflict with what the queue has.
template <class Queue>
std::vector<bad_line> enqueue_all(Queue& queue, const std::vector<order_line>& lines) {
    std::vector<leasehold::job> jobs;
    for (const order_line& line : lines) {
        jobs.push_back({.key = line.key, .payload = payload_of(std::to_string(line.quantity), line.text)});
    }
    const auto answers = queue.enqueue_many(jobs, leasehold::on_conflict::nothing);
    std::vector<bad_line> conflicts;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        if (answers[i].answer == leasehold::intake::conflict) {
            conflicts.push_back({lines[i].number,
                                 "the queue has " + leasehold::detail::readable(lines[i].key) + " with other content"});
        }
    }
    return conflicts;
}

template <class Queue>
std::uint64_t count_quarantined(const Queue& queue) {
    std::uint64_t sum = 0;
    for (const leasehold::queue_statistics& counted : queue.stats().queues) {
        sum += counted.quarantined;
    }
    return sum;
}

/// Prints the table, and says whether every line has exactly one effect and the quantities are equal.
bool print_outcome(const std::vector<order_line>& lines, const std::string& effects_path, const tally& reported,
                   std::uint64_t quarantined, double seconds) {
    const auto effects = effects_in(effects_path);
    std::size_t delivered = 0;
    std::int64_t quantity_in = 0;
    std::int64_t quantity_in_effect = 0;
    for (const order_line& line : lines) {
        quantity_in += line.quantity;
        if (const auto found = effects.find(line.key); found != effects.end()) {
            delivered += found->second.times == 1 ? 1U : 0U;
            quantity_in_effect += found->second.quantity;
        }
    }
    const auto show = [](const char* what, const auto& value) {
        std::cout << std::left << std::setw(36) << what << std::right << std::setw(8) << value << '\n';
    };
    show("lines in", lines.size());
    show("delivered once", delivered);
    show("quantity in", quantity_in);
    show("quantity in effect", quantity_in_effect);
    show("resends the receiver refused", reported.resends.size());
    show("late completions the queue rejected", reported.late.size());
    for (const std::string& message : reported.late) {
        std::cout << "    " << message << '\n';
    }
    show("couriers that died and were replaced", reported.replaced);
    show("quarantined", quarantined);
    std::cout << std::fixed << std::setprecision(1);
    show("seconds", seconds);
    return delivered == lines.size() && quantity_in == quantity_in_effect;
}

/// Enqueues the lines, has them delivered, and counts what came of them.
template <class Queue>
int deliver_all(Queue& queue, const std::string& file, const std::vector<order_line>& lines,
                const dispatch_options& options) {
    const auto start = std::chrono::steady_clock::now();
    if (const auto conflicts = enqueue_all(queue, lines); !conflicts.empty()) {
        return refuse(file, conflicts);
    }
    const tally reported = dispatcher{queue, options}.run(count_open(queue));
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return print_outcome(lines, options.effects, reported, count_quarantined(queue), seconds.count()) ? went_well
                                                                                                      : went_wrong;
}

int run(const std::string& file, dispatch_options options, const std::string& data) {
    std::ifstream in{file, std::ios::binary};
    if (!in || std::filesystem::is_directory(file)) {
        std::cerr << "courier: " << file << " cannot be read\n";
        return bad_input;
    }
    const orders read = read_orders(in);
    if (!read.bad.empty()) {
        return refuse(file, read.bad);
    }
    if (read.lines.empty()) {
        std::cerr << "courier: " << file << " has no order lines\n";
        return bad_input;
    }
    const data_folder folder{data};
    if (options.jobs.empty()) {
        options.jobs = folder / "jobs.db";
    }
    options.effects = folder / "effects.db";
    return any_store::with_queue(options.jobs, {.busy_timeout = 30s},
                                 [&](auto& queue) { return deliver_all(queue, file, read.lines, options); });
}

int parse_and_run(int count, char** arguments) {
    CLI::App app{
        "Delivers each line of a file of orders exactly once, though couriers are stopped and killed on the way.",
        "courier"};
    std::string file;
    std::string data;
    dispatch_options options;
    std::int64_t lease = 1000;
    bool behave = false;
    bool model = false;
    bool timeline = false;
    app.add_option("orders", file, "Tab-separated order lines with a header: order_id, quantity, item_name, ...");
    app.add_option("--data", data,
                   "Folder to keep jobs.db and effects.db in; without it, one that is removed at the end");
    app.add_option("--store", options.jobs,
                   "Keep the queue in this file, or in this database (postgresql://…); then keep --data with it (keep "
                   "passwords in libpq's files: a command line is no secret)");
    app.add_option("--couriers", options.couriers, "How many processes deliver")
        ->check(CLI::Range(std::size_t{1}, most_couriers))
        ->capture_default_str();
    app.add_option("--lease", lease, "How long a courier may hold a line, in milliseconds")
        ->check(CLI::Range(100, 3'600'000))
        ->capture_default_str();
    app.add_flag("--behave", behave, "No courier is stopped or killed on purpose");
    app.add_flag("--model", model, "Compare known lease data and times only, and exit");
    app.add_flag("--timeline", timeline, "Replay how a late completion is refused, on a manual clock, and exit");
    app.footer("Exit status: 0 every line has exactly one effect, 1 it does not, 2 the input was refused.");

    delivery_options delivery;
    auto* const deliver = app.add_subcommand("deliver")->group("");
    deliver->add_option("--jobs", delivery.jobs)->required();
    deliver->add_option("--port", delivery.port)->required();
    deliver->add_option("--owner", delivery.owner)->required();
    deliver->add_option("--lease", lease)->required();
    deliver->add_option("--mischief", delivery.misbehave)
        ->required()
        ->transform(CLI::CheckedTransformer(mischief_names));
    auto* const receive = app.add_subcommand("receiver")->group("");
    receive->add_option("--effects", options.effects)->required();

    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& refused) {
        return app.exit(refused) == 0 ? went_well : bad_input;
    }
    options.lease = delivery.lease = std::chrono::milliseconds{lease};
    options.misbehave = !behave;
    if (*deliver) {
        return run_courier(delivery);
    }
    if (*receive) {
        return run_receiver(options.effects);
    }
    if (model) {
        tell_model();
        return went_well;
    }
    if (timeline) {
        const data_folder folder{""};
        return tell_timeline(folder.string()) ? went_well : went_wrong;
    }
    if (file.empty()) {
        std::cerr << "courier: no file of orders was given (see --help)\n";
        return bad_input;
    }
    return run(file, options, data);
}

}  // namespace

int main(int count, char** arguments) {
    struct sigaction stop {};
    stop.sa_handler = [](int) { courier::interrupted = 1; };
    ::sigaction(SIGINT, &stop, nullptr);
    ::sigaction(SIGTERM, &stop, nullptr);
    try {
        const int status = parse_and_run(count, arguments);
        if (!std::cout.flush()) {
            std::cerr << "courier: the output could not be written\n";
            return went_wrong;
        }
        return status;
    } catch (const std::exception& error) {
        std::cerr << "courier: " << error.what() << '\n';
        return went_wrong;
    }
}
