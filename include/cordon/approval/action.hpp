// SPDX-License-Identifier: BSL-1.0
#pragma once

// The action that somebody approves: frozen, whole, and the very one that then runs.

#include <algorithm>
#include <array>
#include <cordon/argv.hpp>
#include <cordon/detail/sha256.hpp>
#include <cordon/error.hpp>
#include <cordon/mode.hpp>
#include <cordon/os/linux/paths.hpp>
#include <cordon/policy.hpp>
#include <cordon/process/environment.hpp>
#include <cordon/process/options.hpp>
#include <cordon/process/spawn.hpp>
#include <cordon/session/event.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

/// Which file a program was when it was looked at: where it is, which one it is, and when it last changed in any way.
struct ExecutableIdentity {
  std::string path = {};  ///< canonical; empty: there is none
  FileIdentity file = {};
  std::uint64_t size = 0;
  std::int64_t changed = 0;  ///< nanoseconds since 1970; the kernel sets it, no program can
  friend bool operator==(const ExecutableIdentity&, const ExecutableIdentity&) = default;

  /// Where a program of this name is looked for, one after the other.
  [[nodiscard]] static std::vector<std::string> candidates(const std::string& program,
                                                           const std::vector<std::string>& environment,
                                                           const std::string& directory) {
    std::vector<std::string> paths = process::detail::exec_candidates(program, environment);
    for (std::string& path : paths)
      if (!path.starts_with('/')) path = directory + "/" + path;
    return paths;
  }

  /// The program that these options would run by this name.
  [[nodiscard]] static ExecutableIdentity of(const std::string& program, const std::vector<std::string>& environment,
                                             const std::string& directory) {
    for (const std::string& candidate : candidates(program, environment, directory)) {
      ExecutableIdentity found;
      os::FileTimes times;
      if (!os::executable(candidate) || os::canonical_path(candidate, found.path) < 0 ||
          os::times_of(found.path, times) < 0 || !times.facts.regular())
        continue;
      found.file = {times.facts.device, times.facts.inode, times.born};
      found.size = times.facts.size;
      found.changed = times.changed;
      return found;
    }
    return {};
  }

  /// Whether `test` holds for a path that is looked at before this program is found there, or for its own.
  template <class Test>
  [[nodiscard]] bool found_past(const std::vector<std::string>& paths, Test test) const {
    for (const std::string& candidate : paths) {
      if (test(candidate)) return true;
      std::string canonical;
      if (os::canonical_path(candidate, canonical) == 0 && canonical == path) return false;
    }
    return !path.empty();
  }
};

/// How a command's environment differs from that of this program.
struct EnvironmentDelta {
  std::vector<std::string> set = {};      ///< "NAME=VALUE": new, or another value
  std::vector<std::string> removed = {};  ///< names
  friend bool operator==(const EnvironmentDelta&, const EnvironmentDelta&) = default;

  [[nodiscard]] static EnvironmentDelta between(std::vector<std::string> ambient, std::vector<std::string> given) {
    std::sort(ambient.begin(), ambient.end());
    std::sort(given.begin(), given.end());
    EnvironmentDelta delta;
    std::set_difference(given.begin(), given.end(), ambient.begin(), ambient.end(), std::back_inserter(delta.set));
    for (const std::string& entry : ambient) {
      const std::string_view name = std::string_view(entry).substr(0, entry.find('='));
      if (process::lookup(given, name) == nullptr) delta.removed.emplace_back(name);
    }
    return delta;
  }
};

/// What is to run, and everything that decides what that does: argv, program, directory, mode, roots, environment,
/// input, terminal and resource limits. Never changes. A value type; its digest names it.
///
/// Does not hold what the files that it reads say: a script that is approved can be written before it runs. Nor what an
/// input says that is copied from a descriptor.
class Action {
 public:
  /// `command` under `mode`, within the roots of `scope`, as `options` say. What is relative in them is made absolute
  /// here and now. Throws ArgvInvalidError when the program is looked up through /proc: it would be another one for the
  /// command than for whoever is asked.
  Action(Argv command, SandboxMode mode, PolicyScope scope, process::RunOptions options)
      : command_(std::move(command)), mode_(mode), scope_(std::move(scope)), options_(std::move(options)) {
    options_.working_directory = directory_of(scope_, options_);
    executable_ = ExecutableIdentity::of(command_.program(), options_.environment, options_.working_directory);
    if (is_looked_up_in_proc())
      throw ArgvInvalidError("the program " + command_.program() +
                             " is looked up through /proc, where each process finds another; name the program itself");
    environment_ = EnvironmentDelta::between(process::ambient_environment(), options_.environment);
    command_digest_ = digest_of(command_, executable_, options_.working_directory, scope_);
    places_ = places_of(scope_, options_.working_directory);
    setting_digest_ = digest_of_setting();
    detail::Sha256 whole;
    add(whole, {command_digest_, setting_digest_});
    digest_ = whole.finish();
  }

  [[nodiscard]] const Argv& command() const noexcept { return command_; }
  [[nodiscard]] SandboxMode mode() const noexcept { return mode_; }
  [[nodiscard]] const PolicyScope& scope() const noexcept { return scope_; }
  [[nodiscard]] const std::string& working_directory() const noexcept { return options_.working_directory; }
  /// As it was when the action was frozen.
  [[nodiscard]] const ExecutableIdentity& executable() const noexcept { return executable_; }
  [[nodiscard]] const EnvironmentDelta& environment() const noexcept { return environment_; }
  [[nodiscard]] const process::RunOptions& options() const noexcept { return options_; }

  /// SHA-256 of all of it, in hexadecimal digits.
  [[nodiscard]] const std::string& digest() const noexcept { return digest_; }
  /// The same of argv, program, directory and workspace only: what is the same command in another mode.
  [[nodiscard]] const std::string& command_digest() const noexcept { return command_digest_; }

  /// The command digest that an action would have, for what runs without one.
  [[nodiscard]] static std::string digest_of_command(const Argv& command, const PolicyScope& scope,
                                                     const process::RunOptions& options) {
    const std::string directory = directory_of(scope, options);
    return digest_of(command, ExecutableIdentity::of(command.program(), options.environment, directory), directory,
                     scope);
  }

  /// The same of all but argv and program: where, under which mode and with what the command is to run.
  [[nodiscard]] const std::string& setting_digest() const noexcept { return setting_digest_; }

  /// What the command reads: "none", "text", or "copied" from a descriptor, of which nobody knows what it will say.
  [[nodiscard]] std::string_view input_kind() const noexcept {
    return options_.input.content() ? "text" : options_.input.piped() ? "copied" : "none";
  }

  /// Whether what it does may depend on what it is told while it runs: it has an input, or a terminal.
  [[nodiscard]] bool is_typed_at() const noexcept { return options_.input.piped() || options_.terminal; }

  /// Whether the program, the directory and the roots are still those that were looked at. Between this and the
  /// execution they can still be exchanged.
  [[nodiscard]] bool unchanged() const {
    return ExecutableIdentity::of(command_.program(), options_.environment, options_.working_directory) ==
               executable_ &&
           !is_looked_up_in_proc() && places_of(scope_, options_.working_directory) == places_;
  }

 private:
  [[nodiscard]] static std::string directory_of(const PolicyScope& scope, const process::RunOptions& options) {
    const std::string& spelled = options.working_directory.empty() ? scope.workspace_root : options.working_directory;
    std::string found;
    return os::canonical_path(spelled, found) < 0 ? spelled : found;
  }

  [[nodiscard]] bool is_looked_up_in_proc() const {
    return executable_.found_past(
        ExecutableIdentity::candidates(command_.program(), options_.environment, options_.working_directory),
        [](const std::string& path) {
          return os::is_within(os::resolved(path), "/proc") || os::led_from(path, std::array{"/proc"});
        });
  }

  /// Which files the directory and the roots are. One that a symlink leads to now is none.
  [[nodiscard]] static std::vector<FileIdentity> places_of(const PolicyScope& scope, const std::string& directory) {
    std::vector<FileIdentity> places;
    const auto add_place = [&](const std::string& path) {
      std::string found;
      os::FileTimes times;
      if (os::canonical_path(path, found) == 0 && found == path && os::times_of(path, times) == 0)
        places.push_back({times.facts.device, times.facts.inode, times.born});
      else
        places.emplace_back();
    };
    add_place(directory);
    add_place(scope.workspace_root);
    for (const auto* paths : {&scope.extra_roots, &scope.protected_paths})
      for (const std::string& path : *paths) add_place(path);
    return places;
  }

  [[nodiscard]] std::string digest_of_setting() const {
    detail::Sha256 hash;
    std::string terminal = "none";
    if (options_.terminal)
      terminal = std::to_string(options_.terminal->rows) + "x" + std::to_string(options_.terminal->columns);
    add(hash, {std::string(mode_.name()), options_.working_directory, scope_.workspace_root, std::string(input_kind()),
               options_.input.content().value_or(std::string()), terminal});
    std::vector<std::string> texts = options_.environment;
    std::sort(texts.begin(), texts.end());
    add(hash, texts);
    add(hash, scope_.extra_roots);
    add(hash, scope_.protected_paths);
    texts.clear();
    scope_.resources.for_each([&](Resource resource, std::uint64_t value) {
      texts.push_back(std::string(name(resource)) + "=" + std::to_string(value));
    });
    add(hash, texts);
    texts.clear();
    for (const FileIdentity& place : places_) {
      texts.push_back(std::to_string(place.device) + ":" + std::to_string(place.inode) + ":" +
                      std::to_string(place.born));
    }
    add(hash, texts);
    return hash.finish();
  }

  [[nodiscard]] static std::string digest_of(const Argv& command, const ExecutableIdentity& executable,
                                             const std::string& directory, const PolicyScope& scope) {
    detail::Sha256 hash;
    add(hash, command.elements());
    add(hash, {executable.path, std::to_string(executable.file.device), std::to_string(executable.file.inode),
               std::to_string(executable.file.born), std::to_string(executable.size),
               std::to_string(executable.changed), directory, scope.workspace_root});
    return hash.finish();
  }

  static void add(detail::Sha256& hash, const std::vector<std::string>& texts) {
    // Each with its length, so that no two lists read the same.
    hash.update(std::to_string(texts.size()) + ";");
    for (const std::string& text : texts) {
      hash.update(std::to_string(text.size()) + ":");
      hash.update(text);
    }
  }

  Argv command_;
  SandboxMode mode_;
  PolicyScope scope_;
  process::RunOptions options_;
  ExecutableIdentity executable_;
  EnvironmentDelta environment_;
  std::vector<FileIdentity> places_;
  std::string setting_digest_;
  std::string digest_;
  std::string command_digest_;
};

}  // namespace cordon
