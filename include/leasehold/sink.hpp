// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <memory>
#include <utility>

namespace leasehold::inline v0_1_0 {

template <class What>
class sink;

/// What can be told: anything that can be called with `const What&`, but no sink itself.
template <class T, class What>
concept listener_to = std::invocable<const T&, const What&> && !std::same_as<T, sink<What>>;

/// Whoever is told of something that has happened: anything that can be called with `const What&`. Several threads may
/// call at once. What it throws is dropped, since the thing stands whatever becomes of the telling.
template <class What>
class sink {
public:
    sink() noexcept = default;

    /// Tells `target`, of which it keeps a copy; copies of the sink share it.
    template <listener_to<What> Target>
    sink(Target target)  // NOLINT(google-explicit-constructor): what can be called is a sink
        : target_{std::make_shared<const Target>(std::move(target))}, call_{[](const void* to, const What& what) {
              (*static_cast<const Target*>(to))(what);
          }} {}

    explicit operator bool() const noexcept { return target_ != nullptr; }

    /// Does nothing where nobody listens.
    void operator()(const What& what) const noexcept {
        if (!*this) {
            return;
        }
        try {
            call_(target_.get(), what);
        } catch (...) {  // NOLINT(bugprone-empty-catch): see above
        }
    }

private:
    std::shared_ptr<const void> target_{};
    void (*call_)(const void*, const What&) = nullptr;
};

}  // namespace leasehold::inline v0_1_0
