// SPDX-License-Identifier: MIT
/// The metrics of a worker, scraped as Prometheus would.
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include <httplib.h>

#include "support/files.hpp"
#include "support/places.hpp"
#include "support/processes.hpp"

namespace {

using namespace places;

/// The program at work on a file, until it goes.
class program {
public:
    explicit program(const std::string& store)
        : child_{[&, this] {
              ::dup2(in_.reading(), STDIN_FILENO);
              ::dup2(out_.writing(), STDOUT_FILENO);
              in_.close_writing();
              ::execl(LEASEHOLD_METRICS, "metrics", "127.0.0.1:0", store.c_str(), nullptr);
          }} {
        out_.close_writing();
        std::string port;
        for (char c = 0; ::read(out_.reading(), &c, 1) == 1 && c != '\n';) {
            port += c;
        }
        port_ = std::stoi(port);
    }

    std::string scrape() const {
        const auto answer = httplib::Client{"127.0.0.1", port_}.Get("/metrics");
        REQUIRE(answer);
        CHECK(answer->status == 200);
        return answer->body;
    }

    /// Scrapes until a series has a value.
    std::string scrape_until(const std::string& series, double value) const {
        for (;;) {
            std::string seen = scrape();
            if (value_in(seen, series) == value) {
                return seen;
            }
            std::this_thread::sleep_for(5ms);
        }
    }

    /// -1 where there is no such series.
    static double value_in(const std::string& text, const std::string& series) {
        const std::size_t at = ("\n" + text).find("\n" + series + " ");
        return at == std::string::npos ? -1 : std::stod(text.substr(at + series.size()));
    }

    int end() {
        in_.close_writing();
        return child_.wait();
    }

private:
    processes::pipe_ends in_{};
    processes::pipe_ends out_{};
    processes::child child_;
    int port_ = 0;
};

std::string events(const std::string& kind, const std::string& queue = "default") {
    return "leasehold_events_total{event=\"" + kind + "\",queue=\"" + queue + "\"}";
}
std::string jobs(const std::string& state, const std::string& queue = "default") {
    return "leasehold_jobs{queue=\"" + queue + "\",state=\"" + state + "\"}";
}

TEST_CASE("what the hooks tell is scraped, and so is what stands in the store", "[metrics]") {
    const rollback_file place;
    lease_queue queue{place.store()};
    program shown{place.path()};
    const auto value = [&](const std::string& text, const std::string& series) {
        return program::value_in(text, series);
    };

    // Before the first event every series of the queue is there, so that its first increase is one.
    const std::string before = shown.scrape();
    for (const char* kind : {"enqueued", "claimed", "finished", "failed", "released", "renewed", "rejected", "lapsed",
                             "quarantined", "cancelled", "revoked", "requeued", "clock_stepped_back"}) {
        CHECK(value(before, events(kind)) == 0);
    }
    for (const char* doing : {"claiming", "renewing", "settling", "giving up", "leaving a receipt"}) {
        CHECK(value(before, "leasehold_worker_errors_total{doing=\"" + std::string{doing} + "\"}") == 0);
    }
    CHECK(value(before, "leasehold_worker_losses_total{verdict=\"superseded\"}") == 0);
    CHECK(value(before, "leasehold_store_answers") == 1);
    CHECK(value(before, "leasehold_handler_seconds_count{queue=\"default\"}") == 0);

    for (int i = 0; i < 3; ++i) {
        queue.enqueue({.payload = "x"});
    }
    queue.enqueue({.payload = "fail", .max_attempts = 2});
    queue.enqueue({.payload = "aside"});
    queue.enqueue({.payload = "x", .delay = 1h});
    queue.enqueue({.queue = "odd \"name\"\n\\", .payload = "x"});
    const std::string seen = shown.scrape_until(events("quarantined"), 2);
    INFO(seen);
    CHECK(value(seen, events("finished")) == 3);
    CHECK(value(seen, events("claimed")) == 6);
    CHECK(value(seen, events("failed")) == 2);
    CHECK(value(seen, events("enqueued")) == 0);  // that was another process
    CHECK(value(seen, "leasehold_handler_seconds_count{queue=\"default\"}") == 6);
    CHECK(value(seen, jobs("finished")) == 3);
    CHECK(value(seen, jobs("quarantined")) == 2);
    CHECK(value(seen, jobs("delayed")) == 1);
    CHECK(value(seen, jobs("ready")) == 0);
    CHECK(value(seen, jobs("ready", "odd \\\"name\\\"\\n\\\\")) == 1);
    CHECK(value(seen, "leasehold_oldest_ready_seconds{queue=\"default\"}") == 0);
    CHECK(value(seen, "leasehold_oldest_ready_seconds{queue=\"odd \\\"name\\\"\\n\\\\\"}") > 0);
    CHECK(shown.end() == 0);
}

/// A series' name and its labels' names, whatever their values; a histogram's three as one.
std::set<std::string> shapes_in(const std::string& text) {
    std::set<std::string> shapes;
    std::istringstream lines{text};
    const std::regex series{R"(^(leasehold_\w+?)(_bucket|_sum|_count)?(\{(.*)\})? .*)"};
    const std::regex label{R"((\w+)="(?:[^"\\]|\\.)*",?)"};
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_match(line, found, series)) {
            const std::string labels = found[4];
            std::set<std::string> names;
            for (std::sregex_iterator each{labels.begin(), labels.end(), label}; each != std::sregex_iterator{};
                 ++each) {
                names.insert((*each)[1]);
            }
            names.erase("le");
            std::string shape = found[1];
            for (const std::string& name : names) {
                shape += " " + name;
            }
            shapes.insert(shape);
        }
    }
    return shapes;
}

/// The same, from the tables of the page: `name` | `label`, `label` |.
std::set<std::string> shapes_in_the_page() {
    std::set<std::string> shapes;
    std::istringstream lines{files::read(LEASEHOLD_METRICS_PAGE)};
    const std::regex row{R"(^\| `(leasehold_\w+)` \|([^|]*)\|.*)"};
    const std::regex word{R"(`(\w+)`)"};
    for (std::string line; std::getline(lines, line);) {
        std::smatch found;
        if (std::regex_match(line, found, row)) {
            const std::string labels = found[2];
            std::set<std::string> names;
            for (std::sregex_iterator each{labels.begin(), labels.end(), word}; each != std::sregex_iterator{};
                 ++each) {
                names.insert((*each)[1]);
            }
            std::string shape = found[1];
            for (const std::string& name : names) {
                shape += " " + name;
            }
            shapes.insert(shape);
        }
    }
    return shapes;
}

TEST_CASE("each series that the page lists is there, with these labels, and no other", "[metrics]") {
    const rollback_file place;
    lease_queue queue{place.store()};
    program shown{place.path()};
    // One that runs until it is told that its lease is lost.
    queue.enqueue({.payload = "stall"});
    shown.scrape_until(events("claimed"), 1);
    CHECK(queue.cancel(job_id{1}));
    std::string seen = shown.scrape_until("leasehold_worker_losses_total{verdict=\"cancelled\"}", 1);
    CHECK(program::value_in(seen, "leasehold_rejections_total{queue=\"default\",verdict=\"cancelled\"}") >= 1);
    CHECK(program::value_in(seen, "leasehold_handler_seconds_bucket{queue=\"default\",le=\"+Inf\"}") == 1);
    CHECK(program::value_in(seen, "leasehold_handler_seconds_sum{queue=\"default\"}") > 0);

    // A store that is damaged is no empty queue.
    const std::string whole = files::read(place.path());
    files::write(place.path(), std::string(whole.size(), 'x'));
    seen = shown.scrape_until("leasehold_store_answers", 0);
    CHECK(seen.find("leasehold_jobs{") == std::string::npos);
    while (program::value_in(seen, "leasehold_worker_errors_total{doing=\"claiming\"}") < 1) {
        seen = shown.scrape();
    }
    files::write(place.path(), whole);
    seen = shown.scrape_until("leasehold_store_answers", 1);
    INFO(seen);
    CHECK(shapes_in(seen) == shapes_in_the_page());
    CHECK(shapes_in(seen).size() == 8);
    CHECK(shown.end() == 0);
}

}  // namespace
