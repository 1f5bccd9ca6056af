// LocalRegistry: the Registry of one system.
//
// Any thread. Listeners are called in order of the changes, under a lock that every
// change takes, so a listener must not change the registry.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LOCAL_REGISTRY_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LOCAL_REGISTRY_H_

#include <cstddef>
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
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/registry.h"

namespace understudy {

class LocalRegistry final : public Registry {
 public:
  // `system` must outlive this object. Its publisher is told of names that are given up.
  explicit LocalRegistry(internal::SystemCore& system) : system_(system) {}

  absl::Status Insert(const NameRecord& record) override;
  void Remove(absl::string_view name, Pid owner) override;
  void RemoveAll(Pid owner, const ExitReason& reason) override;
  std::vector<NameRecord> List(absl::string_view prefix) override;
  std::vector<NameRecord> Page(absl::string_view prefix, absl::string_view after, size_t at_most) override;
  std::vector<std::string> NamesOf(Pid owner) override;
  uint64_t Watch(absl::string_view name, Listener listener) override;
  void Unwatch(uint64_t watch) override;
  void Keep(const NameKeep& keep) override;
  void Free(absl::string_view name, Pid keeper) override;
  NameLook Look(absl::string_view name) override;
  void SetVacantElsewhere(absl::string_view name, bool is_vacant) override;

 private:
  void TellWatchers(absl::string_view name, const NameRecord* record) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mu_);
  // The removed record of a name, and the hidden record that takes its place, if any.
  struct Taken {
    NameRecord record;
    absl::optional<NameRecord> next;
    bool is_vacant = false;
  };
  // Removes the name if `owner` has it, else returns nullopt. `end` is null if the owner lives on.
  absl::optional<Taken> Take(absl::string_view name, Pid owner, const ExitReason* end)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mu_);
  void Remove(absl::string_view name, Pid owner, const ExitReason* end);
  void Withdraw(const Taken& taken);

  // A name that a supervisor keeps.
  struct Kept {
    Pid keeper;
    NameScope scope = NameScope::kNode;
    NameKeep::After after = NameKeep::After::kAnyEnd;
    bool is_elsewhere = false;
    // True while the name has no owner.
    bool is_vacant = false;
  };
  // Null if `keeper` does not keep the name.
  Kept* FindKept(absl::string_view name, Pid keeper) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the name is vacant after its owner has ended so: not if another actor has it now.
  static bool IsVacantAfter(const Kept& kept, absl::string_view name, const ExitReason& end);

  internal::SystemCore& system_;
  // Held by RemoveAll, Keep and Free while they change names and call the publisher, so that the publisher learns in
  // the right order which names are vacant.
  absl::Mutex keep_mu_ ABSL_ACQUIRED_BEFORE(change_mu_);
  // Taken by every change, before mu_, and held while listeners run.
  absl::Mutex change_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  // The listeners of watches by the watched name, which is empty for all names, and by the watch.
  std::map<std::string, std::map<uint64_t, Listener>, std::less<>> listeners_ ABSL_GUARDED_BY(change_mu_);
  std::map<uint64_t, std::string> watched_names_ ABSL_GUARDED_BY(change_mu_);
  uint64_t last_watch_ ABSL_GUARDED_BY(change_mu_) = 0;
  absl::Mutex mu_;
  std::map<std::string, NameRecord, std::less<>> names_ ABSL_GUARDED_BY(mu_);
  std::map<Pid, std::set<std::string>> by_owner_ ABSL_GUARDED_BY(mu_);
  // Names of the cluster whose owners are on other nodes, while an actor of this node has the same name. At most one
  // for each name of this node.
  std::map<std::string, NameRecord, std::less<>> hidden_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Kept, std::less<>> kept_ ABSL_GUARDED_BY(mu_);
  std::map<Pid, std::set<std::string, std::less<>>> by_keeper_ ABSL_GUARDED_BY(mu_);
  std::set<std::string, std::less<>> vacant_elsewhere_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_LOCAL_REGISTRY_H_
