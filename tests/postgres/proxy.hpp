// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "postgres/server.hpp"

namespace servers {

/// Between a client and the server, on a port of the loopback: passes on what both say, until it is told otherwise.
class proxy {
public:
    explicit proxy(int to) : to_{to} {
        listening_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const sockaddr_in at = address(port_);
        const int yes = 1;
        ::setsockopt(listening_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (::bind(listening_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||  // NOLINT: as sockets are
            ::listen(listening_, 16) != 0) {
            throw std::runtime_error{"no proxy"};
        }
        working_ = std::thread{[this] { work(); }};
    }
    proxy(const proxy&) = delete;
    proxy& operator=(const proxy&) = delete;
    ~proxy() {
        is_over_ = true;
        working_.join();
        ::close(listening_);
    }

    int port() const noexcept { return port_; }
    /// From now on nothing passes, and nobody is told: as when packets are dropped.
    void drop_all(bool dropping = true) noexcept { is_dropping_ = dropping; }
    /// What the server says is not passed on from the moment at which a client's message holds `text`; the connection
    /// ends with the server's answer.
    void cut_answer_to(const std::string& text) {
        cut_at_ = text;
        is_cutting_ = true;
    }
    bool has_cut() const noexcept { return has_cut_; }

private:
    struct pair {
        int client = -1;
        int server = -1;
        bool answers_are_cut = false;
    };

    static sockaddr_in address(int port) {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        at.sin_port = htons(static_cast<std::uint16_t>(port));
        return at;
    }

    void work() {
        std::vector<pair> pairs;
        while (!is_over_) {
            std::vector<pollfd> sockets{{listening_, POLLIN, 0}};
            for (const pair& each : pairs) {
                sockets.push_back({each.client, POLLIN, 0});
                sockets.push_back({each.server, POLLIN, 0});
            }
            ::poll(sockets.data(), sockets.size(), 10);
            if (is_dropping_) {
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
                continue;
            }
            std::vector<pair> left;
            for (std::size_t i = 0; i < pairs.size(); ++i) {
                pair& each = pairs[i];
                const bool stays = (sockets[1 + 2 * i].revents == 0 || pass(each, true)) &&
                                   (sockets[2 + 2 * i].revents == 0 || pass(each, false));
                if (stays) {
                    left.push_back(each);
                } else {
                    ::close(each.client);
                    ::close(each.server);
                }
            }
            pairs = std::move(left);
            if ((sockets[0].revents & POLLIN) != 0) {
                pairs.push_back(accepted());
            }
        }
        for (const pair& each : pairs) {
            ::close(each.client);
            ::close(each.server);
        }
    }

    pair accepted() const {
        pair made{::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC),
                  ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        const sockaddr_in at = address(to_);
        (void)!::connect(made.server, reinterpret_cast<const sockaddr*>(&at), sizeof at);  // NOLINT: as above
        return made;
    }

    bool pass(pair& of, bool to_server) {
        std::array<char, 65536> bytes{};
        const ssize_t count = ::read(to_server ? of.client : of.server, bytes.data(), bytes.size());
        if (count <= 0) {
            return false;
        }
        const std::string text{bytes.data(), static_cast<std::size_t>(count)};
        if (to_server && is_cutting_ && text.find(cut_at_) != std::string::npos) {
            is_cutting_ = false;
            of.answers_are_cut = true;
        }
        if (!to_server && of.answers_are_cut) {
            has_cut_ = true;
            return false;
        }
        return ::send(to_server ? of.server : of.client, text.data(), text.size(), MSG_NOSIGNAL) == count;
    }

    int to_;
    int port_ = free_port();
    int listening_ = -1;
    std::atomic<bool> is_over_ = false;
    std::atomic<bool> is_dropping_ = false;
    std::atomic<bool> is_cutting_ = false;
    std::atomic<bool> has_cut_ = false;
    std::string cut_at_{};
    std::thread working_{};
};

}  // namespace servers
