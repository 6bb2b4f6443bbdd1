// SPDX-License-Identifier: MIT
#pragma once

/// The stores that these tests run over: those of one machine; or, in a program of its own, the one on a server.
#ifdef LEASEHOLD_POSTGRES_PROGRAMS
#include "postgres/place.hpp"
#define TIMED_STORES places::postgres
#define SHARED_STORES places::postgres
#else
#include "support/places.hpp"
#define TIMED_STORES EVERY_STORE
#define SHARED_STORES places::rollback_file, places::wal_file
#endif

namespace places {

#ifdef LEASEHOLD_POSTGRES_PROGRAMS
/// The queue as a program would have it in such a place.
using real_queue = postgres_lease_queue;
/// A store for one of many: it waits long. A machine with other work to do is not the matter here.
inline postgres_store patient_store(const postgres& place) {
    return place.store({.busy_timeout = 30s, .answer_timeout = 40s});
}
/// And one that does not wait.
inline postgres_store hasty_store(const postgres& place) { return place.store({.busy_timeout = 100ms}); }
#else
using real_queue = lease_queue;
template <journal_mode Journal>
sqlite_store patient_store(const file<Journal>& place) {
    return {place.path(), {.journal = Journal, .synchronous = synchronous_mode::off, .busy_timeout = 30s}};
}
template <journal_mode Journal>
sqlite_store hasty_store(const file<Journal>& place) {
    return {place.path(), {.synchronous = synchronous_mode::off, .busy_timeout = 100ms}};
}
#endif

}  // namespace places
