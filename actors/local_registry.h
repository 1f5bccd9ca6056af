// LocalRegistry: the Registry of one system.
//
// Any thread. Listeners are called under a lock that only changes take, so
// they come in order; a listener must not change the registry.
#ifndef UNDERSTUDY_ACTORS_LOCAL_REGISTRY_H_
#define UNDERSTUDY_ACTORS_LOCAL_REGISTRY_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/system_core.h"
#include "understudy/actors/registry.h"

namespace understudy {

class LocalRegistry final : public Registry {
 public:
  // `system` outlives it; its publisher is told of names given up.
  explicit LocalRegistry(internal::SystemCore& system) : system_(system) {}

  absl::Status Insert(const NameRecord& record) override;
  void Remove(absl::string_view name, Pid owner) override;
  void RemoveAll(Pid owner) override;
  absl::optional<NameRecord> Find(absl::string_view name) override;
  std::vector<NameRecord> List(absl::string_view prefix) override;
  uint64_t Watch(absl::string_view name, Listener listener) override;
  void Unwatch(uint64_t watch) override;

 private:
  struct Watcher {
    std::string name;  // empty: all
    Listener listener;
  };

  void TellWatchers(absl::string_view name, const NameRecord* record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mu_);
  // The record, when `owner` had the name, and the hidden one that takes its place.
  struct Taken {
    NameRecord record;
    absl::optional<NameRecord> next;
  };
  absl::optional<Taken> Take(absl::string_view name, Pid owner) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mu_);
  void Withdraw(const NameRecord& record);

  internal::SystemCore& system_;
  // Taken by every change, before mu_, and held while listeners run.
  absl::Mutex change_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  std::map<uint64_t, Watcher> watchers_ ABSL_GUARDED_BY(change_mu_);
  uint64_t last_watch_ ABSL_GUARDED_BY(change_mu_) = 0;
  absl::Mutex mu_;
  std::map<std::string, NameRecord, std::less<>> names_ ABSL_GUARDED_BY(mu_);
  std::map<Pid, std::set<std::string>> by_owner_ ABSL_GUARDED_BY(mu_);
  // Names of the cluster whose owners are on other nodes, while an actor of this node has the same name. At most one
  // for each name of this node.
  std::map<std::string, NameRecord, std::less<>> hidden_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_LOCAL_REGISTRY_H_
