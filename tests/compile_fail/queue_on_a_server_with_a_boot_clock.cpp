// SPDX-License-Identifier: MIT
// error: Clock holds less far than Store reaches: .* server_clock or assume_synchronised with a server
#include <leasehold/memory_store.hpp>
#include <leasehold/sqlite/boot_clock.hpp>

/// Reaches further than one machine.
struct distant_store : leasehold::memory_store {
    static constexpr auto reaches = leasehold::reach::network;
};

const auto size = sizeof(leasehold::basic_lease_queue<leasehold::boot_clock, distant_store>);
