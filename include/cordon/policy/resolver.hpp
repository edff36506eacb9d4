// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cordon/detail/error_text.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/policy.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

/// What a caller asks for, in the caller's own spelling.
struct PolicyRequest {
  SandboxMode mode = read_only;
  std::string workspace_root = {};                ///< empty: the current directory
  std::vector<std::string> write = {};            ///< further writable roots; each must exist
  std::vector<std::string> write_if_exists = {};  ///< further writable roots; a missing one is skipped and reported
  std::vector<std::string> protect = {};          ///< read-only inside the writable roots; each must exist
  bool allow_broad_root = false;  ///< "/" may be a writable root: everything but this machine's own devices
  std::optional<std::string> session_id = {};
  ResourceLimits resources = {};
};

/// Turns a request into a policy: the one place that mints them.
///
/// Every path is made canonical the way the kernel walks it, so that a symlink in it can't move the policy later
/// (POL-02). Throws PolicyInvalidError, and touches nothing.
class PolicyResolver {
 public:
  [[nodiscard]] static ExecutionPolicy resolve(const PolicyRequest& request) {
    PolicyScope scope = scope_of(request);
    return request.mode.visit([&]<Mode M>(M) { return ExecutionPolicy(Policy<M>(std::move(scope))); });
  }

 private:
  static PolicyScope scope_of(const PolicyRequest& request) {
    PolicyScope scope;
    scope.session_id = request.session_id;
    scope.resources = checked(request.resources);
    const std::string spelled = request.workspace_root.empty() ? os::current_directory() : request.workspace_root;
    scope.workspace_root = existing(spelled, "workspace");
    os::FileFacts facts;
    if (os::stat_path(scope.workspace_root, facts) < 0 || !facts.directory())
      throw PolicyInvalidError("the workspace " + spelled + " is not a directory; name the project's directory");
    refuse_system_root(scope.workspace_root, "workspace", request.allow_broad_root);

    for (const std::string& root : request.write) add_root(scope, existing(root, "writable root"), request);
    for (const std::string& root : request.write_if_exists) {
      std::string found;
      if (os::canonical_path(checked(root, "writable root"), found) < 0)
        scope.skipped_roots.push_back(root);
      else
        add_root(scope, std::move(found), request);
    }
    for (const std::string& path : request.protect) add_protected(scope, path);
    refuse_led_outside(scope, spelled);
    for (const auto* paths : {&request.write, &request.write_if_exists})
      for (const std::string& path : *paths) refuse_led_outside(scope, path);
    return scope;
  }

  static const ResourceLimits& checked(const ResourceLimits& resources) {
    resources.for_each([](Resource resource, std::uint64_t value) {
      const std::uint64_t least = resource == Resource::memory       ? ResourceLimits::least_memory
                                  : resource == Resource::open_files ? ResourceLimits::least_open_files
                                                                     : 1;
      if (value < least)
        throw PolicyInvalidError("a limit of " + std::to_string(value) + " on " + std::string(name(resource)) +
                                 " lets nothing run; give at least " + std::to_string(least) + ", or no limit");
    });
    return resources;
  }

  static const std::string& checked(const std::string& path, std::string_view what) {
    if (path.empty() || path.find('\0') != std::string::npos)
      throw PolicyInvalidError("the " + std::string(what) + " is empty or holds a NUL byte; name a path");
    return path;
  }

  static std::string existing(const std::string& path, std::string_view what) {
    std::string found;
    if (const int result = os::canonical_path(checked(path, what), found); result < 0)
      throw PolicyInvalidError("the " + std::string(what) + " " + path +
                               " can't be used: " + detail::error_text(-result) + "; create it first, or name another");
    return found;
  }

  /// `/` opens everything, and below the kernel's own file systems a writable root would open the machine instead.
  static void refuse_system_root(const std::string& root, std::string_view what, bool allow_broad) {
    if (root == "/" && !allow_broad)
      throw PolicyInvalidError("the " + std::string(what) +
                               " is /, which would make every file writable; name the project's directory, or say "
                               "allow_broad_root (--allow-broad-root) when everything is meant");
    for (std::string_view kernel : {"/proc", "/sys", "/dev"})
      if (os::is_within(root, kernel) && !root.starts_with("/dev/shm/"))
        throw PolicyInvalidError("the " + std::string(what) + " " + root + " lies in the kernel's own " +
                                 std::string(kernel) + ", which is no place for a workspace; name a directory on disk");
  }

  /// A symlink in a writable root was made by whoever could write there: a confined command could choose the next root.
  static void refuse_led_outside(const PolicyScope& scope, const std::string& spelled) {
    std::string found;
    if (os::canonical_path(spelled, found) < 0) return;
    std::vector<std::string> roots = scope.extra_roots;
    roots.push_back(scope.workspace_root);
    for (const os::PassedLink& link : os::links_on(spelled))
      for (const std::string& root : roots)
        if (os::is_within(link.holder, root) && !os::is_within(found, root))
          throw PolicyInvalidError("the path " + spelled + " is led out of the writable root " + root +
                                   " by the symlink " + link.name + " in " + link.holder + ", to " + found + "; name " +
                                   found + " itself if that is meant");
  }

  static void add_root(PolicyScope& scope, std::string root, const PolicyRequest& request) {
    refuse_system_root(root, "writable root", request.allow_broad_root);
    os::FileFacts facts;
    if (os::stat_path(root, facts) < 0 || !(facts.directory() || facts.regular()))
      throw PolicyInvalidError("the writable root " + root +
                               " is neither a directory nor a regular file; name one that is");
    const bool known = root == scope.workspace_root ||
                       std::find(scope.extra_roots.begin(), scope.extra_roots.end(), root) != scope.extra_roots.end();
    if (!known) scope.extra_roots.push_back(std::move(root));
  }

  static void add_protected(PolicyScope& scope, const std::string& path) {
    const std::string spelled = path.starts_with('/') ? path : scope.workspace_root + "/" + path;
    std::string found = existing(spelled, "protected path");
    const auto inside = [&](const std::string& root) { return found != root && os::is_within(found, root); };
    if (!inside(scope.workspace_root) && std::none_of(scope.extra_roots.begin(), scope.extra_roots.end(), inside))
      throw PolicyInvalidError("the protected path " + path +
                               " is not inside a writable root, where alone it could be written; name one that is");
    // A symlink on the way can be exchanged by a command; then the name leads elsewhere (F26).
    for (const os::PassedLink& link : os::links_on(spelled)) {
      const auto holds = [&](const std::string& root) { return os::is_within(link.holder, root); };
      if (!holds(scope.workspace_root) && std::none_of(scope.extra_roots.begin(), scope.extra_roots.end(), holds))
        continue;
      scope.linked_protections.push_back(found);
      break;
    }
    if (std::find(scope.protected_paths.begin(), scope.protected_paths.end(), found) == scope.protected_paths.end())
      scope.protected_paths.push_back(std::move(found));
  }
};

}  // namespace cordon
