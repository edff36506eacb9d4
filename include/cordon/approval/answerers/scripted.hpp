// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cordon/approval/answerer_chain.hpp>
#include <cordon/approval/request.hpp>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

/// For tests of programs: gives the decisions that it was made with, one a question, then passes questions on, and
/// remembers what it was asked. A handle: copies share all that. Thread-safe.
class Scripted {
 public:
  using cordon_concept = AnswererTag;
  static constexpr std::string_view name = "scripted";
  static constexpr bool immediate = true;

  struct Asked {
    std::string id;
    std::vector<std::string> argv;
    std::string mode;
    std::string reason;
  };

  explicit Scripted(std::vector<Decision> decisions) : script_(std::make_shared<Script>()) {
    script_->decisions = std::move(decisions);
  }

  Decision operator()(const ApprovalRequest& request, const auto& next) {
    {
      const std::scoped_lock lock(script_->mutex);
      const std::size_t number = script_->asked.size();
      script_->asked.push_back({request.id(), request.action().command().elements(),
                                std::string(request.action().mode().name()), request.reason()});
      if (number < script_->decisions.size()) return script_->decisions[number];
    }
    return next();
  }

  [[nodiscard]] std::vector<Asked> asked() const {
    const std::scoped_lock lock(script_->mutex);
    return script_->asked;
  }

 private:
  struct Script {
    std::mutex mutex;
    std::vector<Decision> decisions;
    std::vector<Asked> asked;
  };
  std::shared_ptr<Script> script_;
};

}  // namespace cordon
