// SPDX-License-Identifier: MIT
#include <leasehold/leasehold.hpp>

static_assert(__cplusplus > 202002L, "the consumer's own language level");

int main() {
    int unused_on_purpose;
    return LEASEHOLD_VERSION_MAJOR < 0 ? 1 : 0;
}
