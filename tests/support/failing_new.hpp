// SPDX-License-Identifier: MIT
#pragma once

/// Of this thread: lets so many allocations succeed, then fails one, and is below zero again. Below zero: none fails.
extern thread_local long allocations_left;
