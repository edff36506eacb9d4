// SPDX-License-Identifier: BSL-1.0
#include <sys/utsname.h>

#include <cordon/cordon.hpp>
#include <cstdio>
#include <string>

#include "facts.hpp"
#include "run.hpp"

namespace tool {

namespace {

constexpr const char* not_governed[] = {"network", "signals and the sight of other processes",
                                        "connecting to Unix sockets", "hard links made before the run"};

template <cordon::ConfinedMode M, cordon::Backend B>
Json mode_json(B& backend, const std::string& workspace) {
  const auto policy = cordon::PolicyResolver::resolve({.mode = M{}, .workspace_root = workspace});
  Json entry;
  policy.visit(
      [&](const cordon::Policy<M>& confined) {
        const cordon::Availability verdict = backend.probe(confined);
        entry["usable"] = verdict.usable();
        entry["enforcement"] = verdict.usable() ? enforcement_json(*verdict.enforcement()) : Json(nullptr);
        if (const auto* problem = verdict.problem()) {
          entry["reason"] = readable(problem->reason);
          entry["remedy"] = readable(problem->remedy);
        }
      },
      [](const auto&) {});
  return entry;
}

template <cordon::Backend B>
Json backend_json(B& backend, const std::string& workspace) {
  Json modes;
  modes[std::string(cordon::ReadOnly::name)] = mode_json<cordon::ReadOnly>(backend, workspace);
  modes[std::string(cordon::WorkspaceWrite::name)] = mode_json<cordon::WorkspaceWrite>(backend, workspace);
  bool usable = true;
  for (const Json& mode : modes) usable = usable && mode["usable"].get<bool>();
  Json entry{{"name", B::name}, {"usable", usable}, {"modes", modes}};
  for (const Json& mode : modes)
    if (!mode["usable"].get<bool>() && !entry.contains("reason")) {
      entry["reason"] = mode["reason"];
      entry["remedy"] = mode["remedy"];
    }
  return entry;
}

std::string enforcement_text(const Json& mode) {
  if (!mode["usable"].get<bool>()) return "unusable";
  std::string text = mode["enforcement"]["level"];
  std::string missing;
  for (const Json& effect : mode["enforcement"]["missing"])
    missing += (missing.empty() ? "" : ", ") + effect.get<std::string>();
  return missing.empty() ? text : text + " {" + missing + "}";
}

void print_table(const Json& report) {
  std::printf("kernel %s, uid %u, Landlock %s\n\n", report["kernel"].get<std::string>().c_str(),
              report["uid"].get<unsigned>(),
              report["landlock_abi"].is_null() ? "not available"
                                               : ("ABI " + std::to_string(report["landlock_abi"].get<int>())).c_str());
  std::printf("%-26s %-30s %-30s\n", "backend", "read-only", "workspace-write");
  for (const Json& backend : report["backends"]) {
    std::printf("%-26s %-30s %-30s\n", backend["name"].get<std::string>().c_str(),
                enforcement_text(backend["modes"]["read-only"]).c_str(),
                enforcement_text(backend["modes"]["workspace-write"]).c_str());
    if (backend.contains("reason"))
      std::printf("  %s\n  to do: %s\n", backend["reason"].get<std::string>().c_str(),
                  backend["remedy"].get<std::string>().c_str());
  }
  std::printf("\nNo mode governs:");
  const char* separator = " ";
  for (const char* word : not_governed) {
    std::printf("%s%s", separator, word);
    separator = "; ";
  }
  std::printf(".\n");
}

}  // namespace

int probe(const std::string& workspace, bool json) {
  utsname system{};
  ::uname(&system);
  const long abi = cordon::os::landlock::abi<cordon::os::Kernel>();
  cordon::PlatformBackend platform;
  Json report{{"version", 1},
              {"kernel", system.release},
              {"uid", cordon::os::effective_uid<cordon::os::Kernel>()},
              {"landlock_abi", abi < 0 ? Json(nullptr) : Json(abi)},
              {"backends", Json::array()}};
  cordon::MountNamespace mounts;
  platform.for_each([&](auto& backend) { report["backends"].push_back(backend_json(backend, workspace)); });
  report["backends"].push_back(backend_json(mounts, workspace));
  report["usable"] = backend_json(platform, workspace)["usable"];
  report["not_governed"] = not_governed;
  if (json)
    std::printf("%s\n", report.dump().c_str());
  else
    print_table(report);
  return report["usable"].get<bool>() ? 0 : 1;
}

}  // namespace tool
