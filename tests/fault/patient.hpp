// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <exception>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <leasehold/manual_clock.hpp>
#include <leasehold/memory_store.hpp>
#include <leasehold/sqlite.hpp>

#include "crash/story.hpp"

/// A queue that something happens to.
namespace fault {

using namespace leasehold;
using namespace std::chrono_literals;
using crash::timed_queue;

enum class verb : std::uint8_t { open, enqueue, claim, finish, renew, find };
inline constexpr std::array every_verb{verb::open, verb::enqueue, verb::claim, verb::finish, verb::renew, verb::find};
inline constexpr std::array writing_verbs{verb::enqueue, verb::claim, verb::finish, verb::renew};

constexpr std::string_view to_text(verb what) noexcept {
    constexpr std::array<std::string_view, 6> names{"open", "enqueue", "claim", "finish", "renew", "find"};
    return names.at(static_cast<std::size_t>(what));
}

/// What a call threw, by name, and what that said.
struct outcome {
    std::string kind = "nothing";
    std::string text{};
    int code = 0;
    bool threw() const { return kind != "nothing"; }
};

template <class Call>
outcome outcome_of(const Call& call) {
    try {
        call();
        return {};
    } catch (const store_busy& error) {
        return {"store_busy", error.what(), error.code()};
    } catch (const store_unknown& error) {
        return {"store_unknown", error.what(), error.code()};
    } catch (const store_full& error) {
        return {"store_full", error.what(), error.code()};
    } catch (const store_readonly& error) {
        return {"store_readonly", error.what(), error.code()};
    } catch (const store_corrupt& error) {
        return {"store_corrupt", error.what(), error.code()};
    } catch (const store_unsupported& error) {
        return {"store_unsupported", error.what(), error.code()};
    } catch (const store_error& error) {
        return {"store_error", error.what(), error.code()};
    } catch (const std::exception& error) {
        return {"another exception", error.what()};
    }
}

/// A queue on a file, with a job that is held and one that is ready; and its twin in memory, which nothing happens to,
/// to tell what each verb comes to.
class patient {
public:
    patient(std::string path, const sqlite_options& options) : path_{std::move(path)}, options_{options} {
        reopen();
        held_ = started(*queue_);
        twin_held_ = started(twin_);
        before_ = contents();
    }

    /// Another object on the same file.
    void reopen() {
        queue_.reset();
        queue_.emplace(sqlite_store{path_, options_}, clock_);
    }

    void close() { queue_.reset(); }

    /// The verb on another queue of the same file.
    void perform_on(verb what, timed_queue& other) const {
        lease held{static_cast<const marker&>(*held_)};
        perform(what, other, held);
    }

    outcome ask(verb what) {
        return outcome_of([&] {
            if (what == verb::open) {
                timed_queue{sqlite_store{path_, options_}, clock_};
            } else {
                perform(what, *queue_, *held_);
            }
        });
    }

    /// What is wrong, once the cause is gone, with the same queue and its file; nothing where all is well: the call
    /// stands as a whole where it returned, stands not at all where it says so, and can be repeated then.
    std::string aftermath(verb what, const outcome& was) {
        const outcome looked = outcome_of([&] { find_fault(what, was); });
        return looked.threw() && fault_.empty() ? "afterwards: " + looked.kind + ": " + looked.text : fault_;
    }

    timed_queue& queue() { return *queue_; }
    const std::string& path() const { return path_; }
    std::vector<record> contents() const { return crash::anywhere(crash::jobs_of(*queue_)); }

private:
    using twin_queue = basic_lease_queue<manual_clock, memory_store>;

    template <class Queue>
    static std::optional<lease> started(Queue& queue) {
        queue.enqueue({.key = "held", .payload = std::string(20'000, 'h')});
        std::optional<lease> held = queue.claim("A", 1h);
        queue.enqueue({.key = "ready", .payload = std::string(9'000, 'r')});
        return held;
    }

    static void require(bool holds, const std::string& otherwise) {
        if (!holds) {
            throw std::runtime_error{otherwise};
        }
    }

    template <class Queue>
    static void perform(verb what, Queue& queue, lease& held) {
        switch (what) {
            case verb::open: break;
            case verb::enqueue:
                require(queue.enqueue({.key = "new", .payload = std::string(30'000, 'n')}).answer == intake::accepted,
                        "the job is known");
                break;
            case verb::claim: require(queue.claim("B", 1h).has_value(), "it looked like an empty queue"); break;
            case verb::finish:
                require(static_cast<bool>(queue.finish(held, std::string(30'000, 'f'))), "not finished");
                break;
            case verb::renew: require(static_cast<bool>(queue.renew(held, 2h)), "not renewed"); break;
            case verb::find: require(queue.find("default", "ready").has_value(), "not found"); break;
        }
    }

    void find_fault(verb what, const outcome& was) {
        const std::vector<record> now = contents();
        const std::vector<record>& done = wanted(what);
        const bool stands = now == done;
        if (!stands && now != before_) {
            fault_ = "half done";
        } else if (!was.threw() && !stands) {
            fault_ = "returned, and does not stand";
        } else if (was.threw() && was.kind != "store_unknown" && stands && done != before_) {
            fault_ = "threw " + was.kind + ", and stands";
        } else {
            if (!stands || done == before_) {
                const outcome again = ask(what);
                fault_ = again.threw() ? "once more: " + again.kind + ": " + again.text
                                       : (contents() != done ? "once more: half done" : "");
            }
            require(queue_->enqueue({.key = "last", .payload = "l"}).answer == intake::accepted, "no further job");
            crash::other_reader other{path_};
            other.refuse_damage();
            require(other.orphans() == 0, "bytes that belong to no job");
        }
    }

    /// What the twin holds after the same.
    const std::vector<record>& wanted(verb what) {
        perform(what, twin_, *twin_held_);
        wanted_ = crash::anywhere(crash::jobs_of(twin_));
        return wanted_;
    }

    std::string path_;
    sqlite_options options_;
    manual_clock clock_{instant{1'000'000ms}};
    std::optional<timed_queue> queue_{};
    twin_queue twin_{memory_store{}, clock_};
    std::optional<lease> held_{};
    std::optional<lease> twin_held_{};
    std::vector<record> before_{};
    std::vector<record> wanted_{};
    std::string fault_{};
};

}  // namespace fault
