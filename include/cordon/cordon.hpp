// SPDX-License-Identifier: BSL-1.0
#pragma once

// Everything but cordon/format.hpp, which brings fmt.

#include <cordon/approval/answerer_chain.hpp>
#include <cordon/argv.hpp>
#include <cordon/backend/backend.hpp>
#include <cordon/backend/bubblewrap.hpp>
#include <cordon/backend/first_usable.hpp>
#include <cordon/backend/landlock.hpp>
#include <cordon/backend/layered.hpp>
#include <cordon/backend/mount_namespace.hpp>
#include <cordon/backend/observed.hpp>
#include <cordon/backend/platform.hpp>
#include <cordon/backend/probe_cache.hpp>
#include <cordon/backend/refuse.hpp>
#include <cordon/backend/reporting.hpp>
#include <cordon/classify/denial.hpp>
#include <cordon/classify/locale.hpp>
#include <cordon/classify/observed.hpp>
#include <cordon/classify/verdict.hpp>
#include <cordon/confined.hpp>
#include <cordon/dialect.hpp>
#include <cordon/effect.hpp>
#include <cordon/enforcement.hpp>
#include <cordon/error.hpp>
#include <cordon/harness.hpp>
#include <cordon/jobs.hpp>
#include <cordon/mode.hpp>
#include <cordon/partial_rule.hpp>
#include <cordon/policy.hpp>
#include <cordon/policy/resolver.hpp>
#include <cordon/process/environment.hpp>
#include <cordon/process/spawn.hpp>
#include <cordon/process/unread.hpp>
#include <cordon/resource_limits.hpp>
#include <cordon/runner/entry.hpp>
#include <cordon/running.hpp>
#include <cordon/sinks.hpp>
#include <cordon/version.hpp>
