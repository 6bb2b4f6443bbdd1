// SPDX-License-Identifier: MIT
#pragma once

/// The core: rules, clocks, the queue over any store. No store, no database, no worker, no test kit.
#include <leasehold/basic_lease_queue.hpp>
#include <leasehold/clock.hpp>
#include <leasehold/errors.hpp>
#include <leasehold/event.hpp>
#include <leasehold/job.hpp>
#include <leasehold/lease.hpp>
#include <leasehold/marker.hpp>
#include <leasehold/rules.hpp>
#include <leasehold/settlement.hpp>
#include <leasehold/store.hpp>
#include <leasehold/time.hpp>
#include <leasehold/values.hpp>
#include <leasehold/version.hpp>
