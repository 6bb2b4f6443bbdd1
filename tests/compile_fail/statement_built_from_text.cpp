// SPDX-License-Identifier: MIT
// error: constant expression|consteval
#include <string>

#include <leasehold/sqlite.hpp>

void runs(leasehold::detail::sqlite::connection& on, const std::string& outside) { on.execute(outside.c_str()); }
