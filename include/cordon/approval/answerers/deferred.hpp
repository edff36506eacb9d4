// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cordon/approval/answerer_chain.hpp>
#include <cordon/approval/request.hpp>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cordon {

/// A queue of questions that another thread, or a user interface, answers by their ids. A handle: copies share the
/// queue, one in the chain and one with whoever answers. Thread-safe.
class Deferred {
 public:
  using cordon_concept = AnswererTag;
  static constexpr std::string_view name = "deferred";

  /// `arrived` is called with each new question, on the thread that asks.
  explicit Deferred(std::function<void(const ApprovalRequest&)> arrived = {}) : queue_(std::make_shared<Queue>()) {
    queue_->arrived = std::move(arrived);
  }

  Decision operator()(const ApprovalRequest& request, const auto& next) { return wait(request, next.stop()); }

  /// The ids of the questions without an answer, oldest first: also for whoever looks only now.
  [[nodiscard]] std::vector<std::string> pending() const {
    const std::scoped_lock lock(queue_->mutex);
    std::vector<std::string> ids;
    for (const Entry& entry : queue_->entries)
      if (!entry.decision) ids.push_back(entry.request->id());
    return ids;
  }

  /// Calls with the question of this id, while it can't go away. False: there is none that is open. Nothing of this
  /// queue may be called from there.
  template <class Use>
  bool with(std::string_view id, Use&& use) const {
    const std::scoped_lock lock(queue_->mutex);
    const Entry* entry = queue_->find(id);
    if (entry == nullptr) return false;
    use(*entry->request);
    return true;
  }

  /// Answers the question of this id, and no other. False: it is not open, and the answer is dropped.
  bool answer(std::string_view id, Decision decision) {
    {
      const std::scoped_lock lock(queue_->mutex);
      Entry* entry = queue_->find(id);
      if (entry == nullptr) return false;
      entry->decision = std::move(decision);
    }
    queue_->changed.notify_all();
    return true;
  }

  /// Nobody answers any more: what is open, and what will be asked, is `unavailable`.
  void close() {
    {
      const std::scoped_lock lock(queue_->mutex);
      queue_->closed = true;
    }
    queue_->changed.notify_all();
  }

 private:
  struct Entry {
    const ApprovalRequest* request;
    std::optional<Decision> decision = {};
  };
  struct Queue {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::list<Entry> entries;
    bool closed = false;
    std::function<void(const ApprovalRequest&)> arrived;

    [[nodiscard]] Entry* find(std::string_view id) {
      for (Entry& entry : entries)
        if (!entry.decision && entry.request->id() == id) return &entry;
      return nullptr;
    }
  };

  [[nodiscard]] Decision wait(const ApprovalRequest& request, const std::stop_token& stop) {
    std::unique_lock lock(queue_->mutex);
    if (queue_->closed) return Decision::unavailable("nobody answers the queue any more");
    const auto entry = queue_->entries.insert(queue_->entries.end(), Entry{&request});
    const auto remove = [&](Decision decision) {
      queue_->entries.erase(entry);
      return decision;
    };
    if (queue_->arrived) {
      lock.unlock();
      try {
        queue_->arrived(request);
      } catch (...) {
        lock.lock();
        queue_->entries.erase(entry);
        throw;
      }
      lock.lock();
    }
    queue_->changed.wait(lock, stop, [&] { return entry->decision || queue_->closed; });
    if (entry->decision) return remove(*std::move(entry->decision));
    return remove(stop.stop_requested() ? Decision::stopped()
                                        : Decision::unavailable("nobody answers the queue any more"));
  }

  std::shared_ptr<Queue> queue_;
};

}  // namespace cordon
