// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <iomanip>
#include <iostream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <leasehold/rules.hpp>

#include "delivery.hpp"

/// The parent: starts the receiver and the couriers, wakes the one that was stopped, replaces the one that was killed.
namespace courier {

using namespace std::chrono_literals;

/// Set by a signal that asks for the end.
inline volatile std::sig_atomic_t interrupted = 0;

/// A child process of this same program, and what it writes.
class child {
public:
    explicit child(const std::vector<std::string>& arguments) {
        std::array<int, 2> in{};
        std::array<int, 2> out{};
        if (::pipe2(in.data(), O_CLOEXEC) != 0 || ::pipe2(out.data(), O_CLOEXEC) != 0) {
            throw std::runtime_error{"no pipe for a child process"};
        }
        const pid_t parent = ::getpid();
        pid_ = ::fork();
        if (pid_ < 0) {
            throw std::runtime_error{"no child process"};
        }
        if (pid_ == 0) {
            become(arguments, in[0], out[1], parent);
        }
        ::close(in[0]);
        ::close(out[1]);
        in_ = in[1];
        out_ = out[0];
    }
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    ~child() {
        if (pid_ > 0 && !ended_) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        close_input();
        if (out_ >= 0) {
            ::close(out_);
        }
    }

    int output() const { return out_; }

    /// Lets it go on once it has been seen to be stopped; false before that.
    bool resume() {
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG | WUNTRACED) == pid_) {
            if (!WIFSTOPPED(status)) {
                ended_ = status;
                return true;
            }
            stopped_ = true;
        }
        if (stopped_) {
            ::kill(pid_, SIGCONT);
        }
        return stopped_;
    }

    void close_input() {
        if (in_ >= 0) {
            ::close(std::exchange(in_, -1));
        }
    }

    /// Reads what is there, and gives its whole lines; `ended` once there will be no more.
    std::vector<std::string> read_lines(bool& ended) {
        std::array<char, 4096> buffer{};
        const ssize_t got = ::read(out_, buffer.data(), buffer.size());
        ended = got == 0 || (got < 0 && errno != EINTR);
        unread_.append(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
        std::vector<std::string> lines;
        for (std::size_t end = 0; (end = unread_.find('\n')) != std::string::npos; unread_.erase(0, end + 1)) {
            lines.push_back(unread_.substr(0, end));
        }
        return lines;
    }

    /// How it ended, as `waitpid` says. Its output has ended before.
    int wait() {
        int status = 0;
        if (ended_) {
            status = *ended_;
        } else {
            ::waitpid(pid_, &status, 0);
        }
        pid_ = -1;
        return status;
    }

private:
    [[noreturn]] static void become(const std::vector<std::string>& arguments, int in, int out, pid_t parent) {
        ::dup2(in, STDIN_FILENO);
        ::dup2(out, STDOUT_FILENO);
#ifdef __linux__
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // also one that is stopped must not outlive the parent
#endif
        if (::getppid() != parent) {
            ::_exit(1);
        }
        std::vector<char*> raw;
        for (const std::string& argument : arguments) {
            raw.push_back(const_cast<char*>(argument.c_str()));  // execv takes them so, and changes nothing
        }
        raw.push_back(nullptr);
        ::execv("/proc/self/exe", raw.data());
        ::_exit(127);
    }

    pid_t pid_ = -1;
    int in_ = -1;
    int out_ = -1;
    std::string unread_{};
    bool stopped_ = false;
    std::optional<int> ended_{};
};

/// One courier as its parent sees it.
struct courier_at_work {
    courier_at_work(const std::vector<std::string>& arguments, std::string name)
        : process{arguments}, owner{std::move(name)} {}

    child process;
    std::string owner;
    std::optional<leasehold::claim_round> stalled{};  ///< what it held when it was stopped
};

/// What the couriers reported, all together.
struct tally {
    std::size_t settled = 0;
    std::vector<std::string> resends{};  ///< keys that the receiver knew already
    std::vector<std::string> late{};     ///< completions that the queue refused, each in its own words
    std::size_t replaced = 0;            ///< couriers that died and were followed by another of the same name
};

/// A bar on a terminal, and nothing anywhere else.
class progress {
public:
    explicit progress(std::size_t total) : total_{total}, shown_{::isatty(STDOUT_FILENO) == 1 && total > 0} {}
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    ~progress() {
        if (shown_) {
            std::cout << "\r\033[K" << std::flush;
        }
    }

    std::size_t total() const noexcept { return total_; }

    void show(std::size_t done) const {
        if (shown_) {
            constexpr std::size_t width = 40;
            const std::size_t filled = std::min(done, total_) * width / total_;
            std::cout << "\r[" << std::string(filled, '#') << std::string(width - filled, '.') << "] " << done << " of "
                      << total_ << std::flush;
        }
    }

private:
    std::size_t total_;
    bool shown_;
};

struct dispatch_options {
    std::string jobs{};     ///< where the queue is
    std::string effects{};  ///< the receiver's file
    std::size_t couriers = 4;
    std::chrono::milliseconds lease{1000};
    bool misbehave = true;
};

template <class Queue>
class dispatcher {
public:
    dispatcher(Queue& queue, dispatch_options options)
        : queue_{queue},
          options_{std::move(options)},
          receiver_{{"courier", "receiver", "--effects", options_.effects}} {
        bool ended = false;
        while (port_.empty() && !ended) {
            for (std::string& line : receiver_.read_lines(ended)) {
                port_ = std::move(line);
            }
        }
        if (port_.empty()) {
            throw std::runtime_error{"the receiver did not start"};
        }
    }

    /// Delivers `total` open jobs; returns when no job is open any more and the receiver has stopped. The couriers that
    /// misbehave start first, so that there is something left for them to misbehave on.
    tally run(std::size_t total) {
        {
            const progress bar{total};
            if (options_.misbehave) {
                start(name_of(0), mischief::stall);
                work(bar, [this] { return couriers_.empty() || couriers_.front()->stalled; });
            }
            if (options_.misbehave && options_.couriers > 1) {
                start(name_of(1), mischief::crash);
                work(bar, [this] { return tally_.replaced > 0 || couriers_.empty(); });
            }
            for (std::size_t i = options_.misbehave ? 2 : 0; i < options_.couriers; ++i) {
                start(name_of(i), mischief::none);
            }
            work(bar, [this] { return couriers_.empty(); });
        }
        receiver_.close_input();
        bool ended = false;
        while (!ended) {
            receiver_.read_lines(ended);
        }
        receiver_.wait();
        return std::move(tally_);
    }

private:
    static std::string name_of(std::size_t index) { return "courier-" + std::to_string(index + 1); }

    template <class Done>
    void work(const progress& bar, const Done& done) {
        while (!done()) {
            const bool is_quiet = !wait_for_news();
            if (is_quiet || tally_.settled >= bar.total()) {
                send_home_if_all_is_done();
            }
            wake_who_was_overtaken();
            bar.show(tally_.settled);
        }
    }

    void start(const std::string& owner, mischief kind) {
        const auto named = [kind](const auto& each) { return each.second == kind; };
        const std::string misbehave = std::find_if(mischief_names.begin(), mischief_names.end(), named)->first;
        const std::vector<std::string> arguments{
            "courier",    "deliver", "--jobs", options_.jobs, "--port",
            port_,        "--owner", owner,    "--lease",     std::to_string(options_.lease.count()),
            "--mischief", misbehave};
        couriers_.push_back(std::make_unique<courier_at_work>(arguments, owner));
    }

    /// Whether anybody has said anything.
    bool wait_for_news() {
        std::vector<pollfd> outputs;
        for (const auto& each : couriers_) {
            outputs.push_back({each->process.output(), POLLIN, 0});
        }
        outputs.push_back({receiver_.output(), POLLIN, 0});
        const bool any = ::poll(outputs.data(), outputs.size(), 50) > 0;
        if (interrupted != 0) {
            throw std::runtime_error{"interrupted"};
        }
        if (outputs.back().revents != 0) {
            throw std::runtime_error{"the receiver ended"};
        }
        outputs.pop_back();
        // From the end, so that one that goes does not move those still to be looked at.
        for (std::size_t i = outputs.size(); i-- > 0;) {
            if (outputs[i].revents != 0) {
                bool ended = false;
                for (const std::string& line : couriers_[i]->process.read_lines(ended)) {
                    note(*couriers_[i], line);
                }
                if (ended) {
                    replace_if_dead(i);
                }
            }
        }
        return any;
    }

    void send_home_if_all_is_done() {
        if (count_open(queue_) == 0) {
            for (const auto& each : couriers_) {
                each->process.close_input();
            }
        }
    }

    void note(courier_at_work& from, const std::string& line) {
        const std::string word = line.substr(0, line.find(' '));
        const std::string rest = line.substr(std::min(line.size(), word.size() + 1));
        if (word == "settled") {
            ++tally_.settled;
        } else if (word == "resend") {
            tally_.resends.push_back(rest);
        } else if (word == "late") {
            tally_.late.push_back(rest);
        } else if (word == "stalled") {
            from.stalled = leasehold::claim_round::from_text(rest);
        }
    }

    void replace_if_dead(std::size_t index) {
        const std::unique_ptr<courier_at_work> gone = std::move(couriers_[index]);
        couriers_.erase(couriers_.begin() + static_cast<std::ptrdiff_t>(index));
        const int status = gone->process.wait();
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            return;
        }
        if (++tally_.replaced > 10) {
            throw std::runtime_error{"couriers keep dying; the last was " + gone->owner};
        }
        start(gone->owner, mischief::none);
    }

    /// A stopped courier goes on once its job is in another round, or over; where no other courier is there to take it,
    /// once its lease is.
    void wake_who_was_overtaken() {
        for (const auto& each : couriers_) {
            if (!each->stalled) {
                continue;
            }
            const auto row = queue_.find(each->stalled->id);
            const bool overtaken = !row || row->token > each->stalled->token || has_ended(row->state);
            const bool alone = options_.couriers == 1 && row && row->lease_until &&
                               leasehold::rules::is_takeable(*row->lease_until, queue_.now());
            if ((overtaken || alone) && each->process.resume()) {
                each->stalled.reset();
            }
        }
    }

    Queue& queue_;
    dispatch_options options_;
    child receiver_;
    std::string port_{};
    std::vector<std::unique_ptr<courier_at_work>> couriers_{};
    tally tally_{};
};

}  // namespace courier
