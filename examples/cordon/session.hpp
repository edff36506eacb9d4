// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/session/jsonl_log.hpp>
#include <optional>
#include <string>

namespace tool {

/// `cordon session` and `cordon resolve`, as their command line gave them.
struct SessionArguments {
  std::string file;
  std::string cwd;
  std::string value;  ///< the mode, policy, preset, or start and end of a turn
  std::string default_mode = "read-only";
  std::string default_approval = "ask";
  bool json = false;
  bool hash_chain = false;
};

/// What chains the records of a log; null where this tool was built without it.
cordon::ChainHash chain_hash();

struct ResolveArguments {
  std::optional<std::string> session;
  std::optional<std::string> mode;
  std::string default_mode = "read-only";
  std::string root;
};

/// Each gives the exit status of the tool.
int session_new(const SessionArguments& arguments);
int session_mode(const SessionArguments& arguments);
int session_approval(const SessionArguments& arguments);
int session_preset(const SessionArguments& arguments);
int session_turn(const SessionArguments& arguments);
int session_show(const SessionArguments& arguments);
int session_verify(const SessionArguments& arguments);
int resolve(const ResolveArguments& arguments);

}  // namespace tool
