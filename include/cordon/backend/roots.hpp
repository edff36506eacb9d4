// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cordon/error.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/policy.hpp>
#include <string>
#include <utility>
#include <vector>

namespace cordon {

/// What a command may change, shortest path first, without the roots that lie in another one: those are writable
/// anyway, and a command could have replaced them. A root inside a protected path is kept.
[[nodiscard]] inline std::vector<std::string> outermost_roots(const PolicyScope& scope, bool writable) {
  if (!writable) return {};
  std::vector<std::string> roots{scope.workspace_root};
  roots.insert(roots.end(), scope.extra_roots.begin(), scope.extra_roots.end());
  std::stable_sort(roots.begin(), roots.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::vector<std::string> outermost;
  for (std::string& root : roots) {
    const bool covered =
        cordon::detail::is_within_any(root, outermost) && !cordon::detail::is_within_any(root, scope.protected_paths);
    if (!covered) outermost.push_back(std::move(root));
  }
  return outermost;
}

/// Whether `/` is one of them.
[[nodiscard]] inline bool writes_everything(const PolicyScope& scope, bool writable) noexcept {
  const auto& extra = scope.extra_roots;
  return writable && (scope.workspace_root == "/" || std::find(extra.begin(), extra.end(), "/") != extra.end());
}

/// Throws SandboxUnavailableError when a path of the scope is no longer what it was resolved to: gone, or led elsewhere
/// by a symlink that was put there since. For backends whose mounts follow symlinks.
inline void require_unchanged(const PolicyScope& scope, bool writable) {
  std::vector<std::string> paths = outermost_roots(scope, writable);
  if (writable) paths.insert(paths.end(), scope.protected_paths.begin(), scope.protected_paths.end());
  for (const std::string& path : paths) {
    std::string found;
    const int result = os::canonical_path(path, found);
    if (result == 0 && found == path) continue;
    const int error = result < 0 ? -result : ELOOP;
    throw SandboxUnavailableError("the path " + path + " is not what it was when the policy was made; resolve it again",
                                  RunnerFailure{"mount", error, path + " has been replaced or removed"});
  }
}

}  // namespace cordon
