// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <leasehold/sqlite.hpp>
#ifdef EXAMPLES_HAVE_POSTGRES
#include <leasehold/postgres.hpp>
#endif

/// A queue in a file or in a database of PostgreSQL, chosen when the program runs.
namespace any_store {

inline constexpr const char* without_postgres = "this program was built without PostgreSQL";

/// Whether a store's place is a database: libpq's URI; everything else is a file's path.
inline bool is_database(std::string_view place) {
    return place.starts_with("postgresql://") || place.starts_with("postgres://");
}

/// Whether there is a store in a schema of a database. A queue would make one.
inline bool has_store([[maybe_unused]] const std::string& database, [[maybe_unused]] const std::string& schema) {
#ifdef EXAMPLES_HAVE_POSTGRES
    const std::unique_ptr<PGconn, decltype(&::PQfinish)> on{::PQconnectdb(database.c_str()), ::PQfinish};
    const std::string table = schema + ".leasehold_meta";
    const std::array values{table.c_str()};
    const std::unique_ptr<PGresult, decltype(&::PQclear)> found{
        ::PQexecParams(on.get(), "SELECT to_regclass($1)", 1, nullptr, values.data(), nullptr, nullptr, 0), ::PQclear};
    if (::PQresultStatus(found.get()) != PGRES_TUPLES_OK) {
        throw std::runtime_error{"the database does not answer"};  // libpq's own text may tell secrets
    }
    return ::PQgetisnull(found.get(), 0, 0) == 0;
#else
    throw std::invalid_argument{without_postgres};
#endif
}

struct opening {
    leasehold::millis busy_timeout = std::chrono::seconds{5};
    leasehold::event_sink on_event{};
    std::string schema = "leasehold";  ///< of a database
    bool upgrade = true;               ///< a file of an older schema
};

/// Calls `call(queue)` with a queue of the kind that the place asks for.
template <class Call>
auto with_queue(const std::string& place, opening how, const Call& call) {
    leasehold::queue_options options{.on_event = std::move(how.on_event)};
    if (!is_database(place)) {
        leasehold::lease_queue queue{
            {place, {.busy_timeout = how.busy_timeout, .upgrade = how.upgrade}}, {}, std::move(options)};
        return call(queue);
    }
#ifdef EXAMPLES_HAVE_POSTGRES
    const leasehold::millis answer_timeout = how.busy_timeout.to_chrono() + std::chrono::seconds{10};
    leasehold::postgres_lease_queue queue{
        {place, {.schema = how.schema, .busy_timeout = how.busy_timeout, .answer_timeout = answer_timeout}},
        {},
        std::move(options)};
    return call(queue);
#else
    throw std::invalid_argument{without_postgres};
#endif
}

}  // namespace any_store
