// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

/// Runs a shell command in read-only mode and says in one word how it went.
std::string run_read_only(const std::string& script);
