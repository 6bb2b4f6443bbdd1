// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <libpq-fe.h>

#include "support/processes.hpp"
#include "support/temporary_folder.hpp"

/// A PostgreSQL server of the tests' own.
namespace servers {

/// A port of this machine that is free at the moment.
inline int free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);  // NOLINT: as sockets are
    const bool is_bound = ::bind(socket, any, size) == 0 && ::getsockname(socket, any, &size) == 0;
    ::close(socket);
    if (!is_bound) {
        throw std::runtime_error{"no free port"};
    }
    return ntohs(address.sin_port);
}

/// Becomes somebody without rights where it is root, as the server demands, goes with its parent, and runs a program.
/// Comes back only where that fails.
inline void run_unprivileged(const std::vector<std::string>& command, const std::string& log) {
    if (const passwd* const nobody = ::geteuid() == 0 ? ::getpwnam("nobody") : nullptr) {
        if (::setgroups(0, nullptr) != 0 || ::setgid(nobody->pw_gid) != 0 || ::setuid(nobody->pw_uid) != 0) {
            throw std::runtime_error{"still root"};
        }
    }
    ::prctl(PR_SET_PDEATHSIG, SIGQUIT);
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    std::vector<char*> words;
    for (const std::string& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));  // NOLINT: as exec wants it
    }
    words.push_back(nullptr);
    ::execv(words.front(), words.data());
    throw std::runtime_error{"cannot run " + command.front()};
}

/// Runs from its construction on, in a temporary folder, on a Unix socket there and a port of the loopback; stops and
/// goes with the object.
class server {
public:
    explicit server(std::vector<std::string> options = {},
                    const std::filesystem::path& in = std::filesystem::temp_directory_path())
        : options_{std::move(options)}, folder_{in} {
        if (::geteuid() == 0) {
            const passwd* const nobody = ::getpwnam("nobody");
            if (nobody == nullptr || ::chown(folder_.path().c_str(), nobody->pw_uid, nobody->pw_gid) != 0) {
                throw std::runtime_error{"no user for the server"};
            }
        }
        processes::child making{[&] {
            run_unprivileged({program("initdb"), "-D", data(), "-U", "leasehold", "-E", "UTF8", "--locale=C", "-A",
                              "trust", "--no-sync"},
                             log());
        }};
        if (making.wait() != 0) {
            throw std::runtime_error{"initdb: " + what_it_says()};
        }
        start();
    }
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    ~server() { stop(); }

    void start() {
        running_ = std::make_unique<processes::child>([&] {
            std::vector<std::string> command{program("postgres"),
                                             "-D",
                                             data(),
                                             "-k",
                                             folder_.path().string(),
                                             "-h",
                                             "127.0.0.1",
                                             "-p",
                                             std::to_string(port_),
                                             "-c",
                                             "log_min_messages=fatal",
                                             "-c",
                                             "max_connections=60"};
            command.insert(command.end(), options_.begin(), options_.end());
            run_unprivileged(command, log());
        });
        for (int tries = 0; ::PQping(conninfo("postgres").c_str()) != PQPING_OK; ++tries) {
            if (tries == 3000) {
                throw std::runtime_error{"the server does not start: " + what_it_says()};
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{10});
        }
    }

    /// SIGINT: ends the sessions. SIGQUIT: at once, as after a crash.
    void stop(int how = SIGINT) {
        if (running_) {
            running_->signal(how);
            running_->wait();
            running_.reset();
        }
    }

    void signal(int number) const { running_->signal(number); }
    int port() const noexcept { return port_; }
    std::string folder() const { return folder_.path().string(); }

    /// By the Unix socket.
    std::string conninfo(const std::string& database) const {
        return "host=" + folder() + " port=" + std::to_string(port_) + " user=leasehold dbname=" + database;
    }
    /// By the loopback.
    std::string conninfo_by_tcp(const std::string& database, int port) const {
        return "host=127.0.0.1 sslmode=disable port=" + std::to_string(port) + " user=leasehold dbname=" + database;
    }

    static std::string program(const std::string& name) {
        return std::string{LEASEHOLD_POSTGRES_PROGRAMS} + "/" + name;
    }

private:
    std::string data() const { return folder_ / "data"; }
    std::string log() const { return folder_ / "log"; }
    std::string what_it_says() const {
        std::ifstream in{log()};
        return {std::istreambuf_iterator<char>{in}, {}};
    }

    std::vector<std::string> options_;
    places::temporary_folder folder_;
    int port_ = free_port();
    std::unique_ptr<processes::child> running_{};
};

/// One for all tests of a program that do not harm it. What is tested with it does not depend on what a commit waits
/// for; that spares the disk.
inline server& common() {
    static server one{{"-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off"}};
    return one;
}

/// Somebody's plain connection, for SQL of their own.
class client {
public:
    explicit client(const std::string& conninfo) : handle_{::PQconnectdb(conninfo.c_str())} {
        if (::PQstatus(handle_) != CONNECTION_OK) {
            const std::string why = ::PQerrorMessage(handle_);
            ::PQfinish(handle_);
            throw std::runtime_error{"no connection: " + why};
        }
    }
    client(client&& other) noexcept : handle_{std::exchange(other.handle_, nullptr)} {}
    client& operator=(client&&) = delete;
    ~client() { ::PQfinish(handle_); }

    PGconn*& connection() noexcept { return handle_; }
    void begin() { run("BEGIN"); }
    void commit() { run("COMMIT"); }
    void roll_back() { run("ROLLBACK"); }

    /// All values of the answer, in a line: columns by `|`, rows by `\n`.
    std::string run(const std::string& sql) {
        PGresult* const result = ::PQexec(handle_, sql.c_str());
        std::string text;
        const ExecStatusType status = ::PQresultStatus(result);
        for (int row = 0; row < ::PQntuples(result); ++row) {
            for (int column = 0; column < ::PQnfields(result); ++column) {
                text += column > 0 ? "|" : row > 0 ? "\n" : "";
                text += ::PQgetvalue(result, row, column);
            }
        }
        const std::string why = ::PQresultErrorMessage(result);
        ::PQclear(result);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
            throw std::runtime_error{sql + ": " + why};
        }
        return text;
    }
    long number(const std::string& sql) { return std::stol(run(sql)); }

private:
    PGconn* handle_;
};

/// A database of one test's own, empty of the library's tables. One that is given back is used again: to make one takes
/// the server a while.
class database {
public:
    explicit database(server& on) : on_{&on}, name_{taken(on)} {}
    database(database&& other) noexcept : on_{std::exchange(other.on_, nullptr)}, name_{std::move(other.name_)} {}
    database& operator=(database&&) = delete;
    ~database() {
        if (on_ != nullptr) {
            try {
                client{conninfo()}.run("SET client_min_messages = error; DROP SCHEMA IF EXISTS leasehold CASCADE");
                if (on_ == &common()) {
                    free().push_back(name_);
                }
            } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): then it is not used again
            }
        }
    }

    const std::string& name() const noexcept { return name_; }
    std::string conninfo() const { return on_->conninfo(name_); }
    client caller() const { return client{conninfo()}; }

private:
    static std::vector<std::string>& free() {
        static std::vector<std::string> names;
        return names;
    }
    static std::string taken(const server& on) {
        if (&on == &common() && !free().empty()) {
            std::string name = std::move(free().back());
            free().pop_back();
            return name;
        }
        static int made = 0;
        std::string name = "test_" + std::to_string(++made);
        client{on.conninfo("postgres")}.run("CREATE DATABASE " + name);
        return name;
    }

    server* on_;
    std::string name_;
};

}  // namespace servers
