// SPDX-License-Identifier: BSL-1.0
#pragma once

// The one place that names the version; CMake reads it from here.
#define CORDON_VERSION_MAJOR 0
#define CORDON_VERSION_MINOR 1
#define CORDON_VERSION_PATCH 0
