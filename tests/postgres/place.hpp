// SPDX-License-Identifier: MIT
#pragma once

#include <leasehold/postgres.hpp>

#include "postgres/server.hpp"
#include "support/places.hpp"

namespace places {

/// A database of its own on the tests' server.
struct postgres {
    using store_type = postgres_store;
    store_type store(postgres_options options = {}) const { return {data.conninfo(), std::move(options)}; }
    servers::client caller() const { return data.caller(); }
    servers::database data{servers::common()};
};

}  // namespace places
