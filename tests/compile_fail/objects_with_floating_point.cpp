// SPDX-License-Identifier: MIT
// error: Equal values of T may differ in their bytes
#include <leasehold/typed_queue.hpp>

const auto size = sizeof(leasehold::object_codec<double>);
