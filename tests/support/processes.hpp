// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/// Real child processes, started at the same instant.
namespace processes {

/// Whether a thread, given by its folder in /proc, sleeps in the kernel until a word changes, or is woken.
inline bool is_waiting(const std::filesystem::path& thread) {
    std::string call;
    std::ifstream{thread / "syscall"} >> call;
    return call == std::to_string(SYS_futex);
}

/// Returns once `count` threads of this process wait so.
inline void wait_until_threads_wait(std::ptrdiff_t count) {
    const auto waiting = [] {
        const std::filesystem::directory_iterator threads{"/proc/self/task"};
        return std::count_if(begin(threads), end(threads),
                             [](const auto& thread) { return is_waiting(thread.path()); });
    };
    while (waiting() < count) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
}

/// A pipe; both ends close with it.
class pipe_ends {
public:
    pipe_ends() {
        if (::pipe(&ends_[0]) != 0) {
            throw std::runtime_error{"no pipe"};
        }
    }
    pipe_ends(const pipe_ends&) = delete;
    pipe_ends& operator=(const pipe_ends&) = delete;
    ~pipe_ends() {
        close_reading();
        close_writing();
    }

    int reading() const { return ends_[0]; }
    int writing() const { return ends_[1]; }
    void close_reading() { close(ends_[0]); }
    void close_writing() { close(ends_[1]); }

    std::string read_all() {
        close_writing();
        std::string all;
        char buffer[4096];
        for (ssize_t got = 0; (got = ::read(ends_[0], &buffer[0], sizeof buffer)) > 0;) {
            all.append(&buffer[0], static_cast<std::size_t>(got));
        }
        return all;
    }

    void write(const std::string& text) const {
        if (::write(ends_[1], text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
            throw std::runtime_error{"short write"};
        }
    }

private:
    static void close(int& end) {
        if (end >= 0) {
            ::close(std::exchange(end, -1));
        }
    }

    int ends_[2] = {-1, -1};
};

/// Forks `count` children. Each runs `prepare(i)`, waits until all are there, then gives `prepare`'s answer to
/// `body(i)`, whose text is its report. Returns the reports; one that threw reports `error: ` and the text.
template <class Prepare, class Body>
std::vector<std::string> run_together(std::size_t count, const Prepare& prepare, const Body& body) {
    pipe_ends ready;
    pipe_ends start;
    std::vector<pipe_ends> reports(count);
    std::vector<pid_t> children;
    for (std::size_t i = 0; i < count; ++i) {
        const pid_t child = ::fork();
        if (child == 0) {
            std::string report;
            for (std::size_t other = 0; other < count; ++other) {
                if (other != i) {
                    reports[other].close_writing();  // else a report ends only when all children have
                }
            }
            try {
                auto prepared = prepare(i);
                ready.write("r");
                start.close_writing();
                char go = 0;
                (void)!::read(start.reading(), &go, 1);  // ends for all at once, when the parent closes its end
                report = body(i, *prepared);
            } catch (const std::exception& error) {
                report = std::string{"error: "} + error.what();
                ready.write("r");
            }
            reports[i].write(report);
            ::_exit(0);  // nothing of the parent's is to be ended here
        }
        children.push_back(child);
    }
    ready.close_writing();
    for (std::size_t there = 0; there < count;) {
        char byte = 0;
        if (::read(ready.reading(), &byte, 1) != 1) {
            break;
        }
        ++there;
    }
    start.close_reading();
    start.close_writing();
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) {
        all.push_back(reports[i].read_all());
        int status = 0;
        ::waitpid(children[i], &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            all.back() = "error: child ended with status " + std::to_string(status);
        }
    }
    return all;
}

/// A child process, killed when it goes.
class child {
public:
    /// Runs `body()` there, with SIGTERM blocked, to be waited for. Nothing of the parent's is ended in it.
    template <class Body>
    explicit child(const Body& body) {
        sigset_t before;
        sigset_t term;
        ::sigemptyset(&term);
        ::sigaddset(&term, SIGTERM);
        ::sigprocmask(SIG_BLOCK, &term, &before);  // before the fork: it may come at once
        pid_ = ::fork();
        if (pid_ != 0) {
            ::sigprocmask(SIG_SETMASK, &before, nullptr);
        } else {
            int status = 1;
            try {
                body();
                status = 0;
            } catch (const std::exception& error) {
                (void)!::write(STDERR_FILENO, error.what(), std::strlen(error.what()));
            }
            ::_exit(status);
        }
        if (pid_ < 0) {
            throw std::runtime_error{"no child process"};
        }
    }
    child(const child&) = delete;
    child& operator=(const child&) = delete;
    ~child() {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }

    void signal(int number) const { ::kill(pid_, number); }

    /// Returns once its thread sleeps in the kernel until a word changes, or is woken.
    void wait_until_it_waits() const {
        while (!is_waiting("/proc/" + std::to_string(pid_))) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
        }
    }

    /// Stops it, and returns once it has stopped.
    void stop() const {
        signal(SIGSTOP);
        ::waitpid(pid_, nullptr, WUNTRACED);
    }

    /// How it ended, as `waitpid` says.
    int wait() {
        int status = 0;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        return status;
    }

private:
    pid_t pid_ = -1;
};

}  // namespace processes
