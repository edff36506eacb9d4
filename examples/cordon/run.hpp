// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tool {

/// `cordon run`, as its command line gave it.
struct RunArguments {
  std::optional<std::string> mode;  ///< else the session's, or read-only
  std::string workspace;
  bool allow_broad_root = false;
  std::string cwd;
  std::vector<std::string> write;
  std::vector<std::string> write_if_exists;
  std::vector<std::string> protect;
  std::string backend = "auto";
  std::string bwrap;
  std::string partial = "refuse-unless-read-only";
  bool observe = false;
  bool capture = false;
  std::optional<std::string> timeout;
  std::string grace = "3";
  std::size_t max_output = std::size_t{1} << 20;
  std::optional<std::uint64_t> output_limit;
  std::string spill;
  std::uint64_t max_spill = std::uint64_t{64} << 20;
  std::vector<std::string> limits;
  std::string input = "none";
  std::optional<std::string> terminal;
  std::string inherit_env = "core";
  std::vector<std::string> env;
  std::string json;
  std::optional<std::string> session;
  std::optional<std::string> approval;
  std::optional<std::string> escalate;
  std::optional<std::string> justify;
  std::string approve_with;
  std::optional<std::string> approve_timeout;
  std::string rules;
  bool ask = false;
  std::string ceiling = "danger-full-access";
  std::vector<std::string> command;
};

/// Runs the command; the exit status of the tool.
int run(const RunArguments& arguments);

/// `cordon probe`; the exit status of the tool.
int probe(const std::string& workspace, bool json);

}  // namespace tool
