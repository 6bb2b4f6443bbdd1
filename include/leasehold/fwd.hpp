// SPDX-License-Identifier: MIT
#pragma once

/// Names, for headers that only mention them. They are in an inline namespace of this version, so that a declaration of
/// one's own in `leasehold` would be of another type.
namespace leasehold::inline v0_1_0 {

struct job_id;
struct claim_token;
struct store_id;
struct job;
struct enqueued;
struct marker;
struct lease;
struct claim_terms;
struct settlement;
struct amendment;
struct record;
struct statistics;
struct event;
struct queue_options;

struct wall_clock;
struct process_clock;
struct server_clock;
class manual_clock;

class memory_store;
class sqlite_store;
class postgres_store;

template <class Clock, class Store>
class basic_lease_queue;
using lease_queue = basic_lease_queue<wall_clock, sqlite_store>;
using postgres_lease_queue = basic_lease_queue<server_clock, postgres_store>;

}  // namespace leasehold::inline v0_1_0
