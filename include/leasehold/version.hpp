// SPDX-License-Identifier: MIT
#pragma once

/// The one place for the version: CMake reads these three lines.
#define LEASEHOLD_VERSION_MAJOR 0
#define LEASEHOLD_VERSION_MINOR 1
#define LEASEHOLD_VERSION_PATCH 0
