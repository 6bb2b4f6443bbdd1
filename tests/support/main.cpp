// SPDX-License-Identifier: MIT
// Catch2 3 brings a main of its own; this file is built for version 2 alone.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
