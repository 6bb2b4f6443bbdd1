// SPDX-License-Identifier: MIT
// error: Store must model lease_store
#include <leasehold/leasehold.hpp>

/// Reaches, and can begin with a clock, but keeps nothing.
struct no_store {
    static constexpr auto reaches = leasehold::reach::process;
    int begin(const leasehold::manual_clock&) { return 0; }
};

const auto size = sizeof(leasehold::basic_lease_queue<leasehold::manual_clock, no_store>);
