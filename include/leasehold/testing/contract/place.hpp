// SPDX-License-Identifier: MIT
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <leasehold/store.hpp>

namespace leasehold::inline v0_1_0::testing {

/// Where a store lives: fresh and empty when it is made, gone with the object. `store()` gives a store on it that
/// nobody has attached to yet; it is called more than once, and each sees the same rows.
///
/// Two more members, where the place has them, let more be checked:
/// - `is_free()`: whether somebody else could have the store's write lock right now, without waiting for it;
/// - `caller()`: somebody with a connection of their own to the same rows, on which `connection()` is what the store
///   adopts, and `begin()`, `commit()` and `roll_back()` are a write transaction of theirs.
template <class Place>
concept store_place = requires(Place& place) {
    { place.store() } -> lease_store;
};

namespace detail {

/// A place of any kind that holds stores of one kind: so that the cases exist once a store, however many places.
template <class Store>
class any_place {
public:
    any_place() = default;
    any_place(const any_place&) = delete;
    any_place& operator=(const any_place&) = delete;
    virtual ~any_place() = default;

    virtual Store store() = 0;
    /// Nothing where the place cannot tell.
    virtual std::optional<bool> is_free() = 0;
};

template <store_place Place>
using store_in = decltype(std::declval<Place&>().store());

template <store_place Place>
class known_place final : public any_place<store_in<Place>> {
public:
    template <class Make>
    explicit known_place(const Make& make) : place_{make()} {}

    store_in<Place> store() override { return place_.store(); }
    std::optional<bool> is_free() override {
        if constexpr (requires(Place & place) {
                          { place.is_free() } -> std::convertible_to<bool>;
                      }) {
            return place_.is_free();
        } else {
            return std::nullopt;
        }
    }
    Place& place() noexcept { return place_; }

private:
    Place place_;
};

/// Makes a fresh place whenever it is called.
template <class Store>
using place_maker = std::function<std::unique_ptr<any_place<Store>>()>;

}  // namespace detail
}  // namespace leasehold::inline v0_1_0::testing
