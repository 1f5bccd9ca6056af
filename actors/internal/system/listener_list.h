// ListenerList: the listeners of one kind of report. Calls of one listener do not overlap.
//
// Threads: any. A listener must not wait, throw, subscribe or unsubscribe. Only the listener's own lock is held while
// it runs.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LISTENER_LIST_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LISTENER_LIST_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"

namespace understudy::internal {

template <class... Args>
class ListenerList {
 public:
  // Returns false to end its subscription.
  using Listener = absl::AnyInvocable<bool(const Args&...)>;

  ListenerList() = default;
  ListenerList(const ListenerList&) = delete;
  ListenerList& operator=(const ListenerList&) = delete;

  // Returns an id for Unsubscribe.
  uint64_t Subscribe(Listener listener) {
    auto subscriber = std::make_shared<Subscriber>(std::move(listener));
    absl::MutexLock lock(&mu_);
    auto more = std::make_shared<Subscribers>(*subscribers_);
    more->emplace_back(++last_id_, std::move(subscriber));
    subscribers_ = std::move(more);
    return last_id_;
  }
  // Ends a subscription. When it has returned, the listener does not run. Returns false if there is none with that id.
  bool Unsubscribe(uint64_t id) {
    std::shared_ptr<Subscriber> subscriber;
    {
      absl::MutexLock lock(&mu_);
      auto fewer = std::make_shared<Subscribers>(*subscribers_);
      const auto found =
          std::find_if(fewer->begin(), fewer->end(), [id](const auto& entry) { return entry.first == id; });
      if (found == fewer->end()) return false;
      subscriber = std::move(found->second);
      fewer->erase(found);
      subscribers_ = std::move(fewer);
    }
    // Waits until the listener has returned if it runs. A Tell that copied the list before and calls it later finds
    // null.
    absl::MutexLock lock(&subscriber->mu);
    subscriber->listener = nullptr;
    return true;
  }
  bool empty() const { return Current()->empty(); }
  // Calls each listener.
  void Tell(const Args&... args) {
    const std::shared_ptr<const Subscribers> subscribers = Current();
    for (const auto& [id, subscriber] : *subscribers) {
      {
        absl::MutexLock lock(&subscriber->mu);
        if (subscriber->listener == nullptr || subscriber->listener(args...)) continue;
      }
      (void)Unsubscribe(id);
    }
  }

 private:
  struct Subscriber {
    explicit Subscriber(Listener called) : listener(std::move(called)) {}
    absl::Mutex mu;  // held during each call of the listener, and while the listener is removed
    // Null after Unsubscribe.
    Listener listener ABSL_GUARDED_BY(mu);
  };
  using Subscribers = std::vector<std::pair<uint64_t, std::shared_ptr<Subscriber>>>;

  std::shared_ptr<const Subscribers> Current() const {
    absl::MutexLock lock(&mu_);
    return subscribers_;
  }

  mutable absl::Mutex mu_;  // not held while listeners run
  // Never null. A change replaces the list, so that Tell can read its copy of the pointer without the lock.
  std::shared_ptr<const Subscribers> subscribers_ ABSL_GUARDED_BY(mu_) = std::make_shared<const Subscribers>();
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LISTENER_LIST_H_
