// SPDX-License-Identifier: MIT
// error: constant expression|consteval
#include <leasehold/sqlite.hpp>

void runs(leasehold::detail::sqlite::connection& on, const char (&outside)[9]) {
    on.prepared(leasehold::detail::sqlite::sql<9>{outside});
}
