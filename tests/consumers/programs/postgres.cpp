// SPDX-License-Identifier: MIT
/// The store on a server as somebody else has it. There is no server here, which it says.
#include <iostream>

#include <leasehold/postgres.hpp>

int main() {
    try {
        leasehold::postgres_lease_queue{{"host=/nowhere port=1"}};
    } catch (const leasehold::store_error& refused) {
        std::cout << "postgres: " << refused.what() << '\n';
        return 0;
    }
    return 1;
}
