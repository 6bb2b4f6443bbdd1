// SPDX-License-Identifier: MIT
/// What every store must do, of the store in a PostgreSQL database.
#include "support/contract.hpp"
#include "postgres/place.hpp"

namespace {

/// A store that nobody tells of commits, as behind a pooler in transaction mode: who waits there looks.
struct untold_store : leasehold::postgres_store {
    using postgres_store::postgres_store;
    std::uint32_t changes() const = delete;
};

struct without_session : places::postgres {
    using store_type = untold_store;
    store_type store() const { return {data.conninfo(), {.has_session = false}}; }
};

[[maybe_unused]] const bool is_held = places::hold_to_the_contract<places::postgres>("postgres") &&
                                      places::hold_to_the_contract<without_session>("postgres without a session");

}  // namespace
