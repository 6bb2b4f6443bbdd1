// SPDX-License-Identifier: MIT
#pragma once

/// Names first, to be declared again by what they are.
#include <leasehold/fwd.hpp>

#include <leasehold/leasehold.hpp>
#include <leasehold/manual_clock.hpp>
#include <leasehold/memory_store.hpp>
#include <leasehold/receiver_ledger.hpp>
#include <leasehold/sqlite.hpp>
#include <leasehold/testing/store_contract.hpp>
#include <leasehold/worker.hpp>
#if __has_include(<libpq-fe.h>)  // its folder is known where the component is linked
#include <leasehold/postgres.hpp>
#endif
