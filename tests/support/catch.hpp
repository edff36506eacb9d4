// SPDX-License-Identifier: BSL-1.0
#pragma once

// One name for Catch2 version 2 and version 3.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
