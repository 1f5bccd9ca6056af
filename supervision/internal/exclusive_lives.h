// ExclusiveLives: the lives of a supervisor's children of which something may be left (Context::MonitorUntilGone), for
// the supervisor's next life, and for an exclusive supervisor's parent: neither may start anything beside them.
//
// It outlives the supervisor's lives. A supervisor that stands for itself makes one of its own; each supervisor below
// has one that the supervisor above keeps, so two trees of one builder share nothing.
//
// A child goes by a key: its id, where the next life of the supervisor means the same child by it.
//
// Threads: any. An earlier life of the supervisor may itself run on. `is_gone` is called under the lock; once it says
// of a life that it is gone, that life is forgotten.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_EXCLUSIVE_LIVES_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_EXCLUSIVE_LIVES_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {

class ExclusiveLives {
 public:
  using IsGone = absl::FunctionRef<bool(Pid life)>;
  // Which lives are recorded here: those of exclusive children, and those of all that is below an exclusive supervisor.
  enum class Why { kIsExclusive, kIsBelowExclusive };

  void Add(const std::string& child, Pid life, Why why, IsGone is_gone);
  // A life of that child, or of what is below it, which is not gone; null when there is none. When it is gone, ask
  // again.
  Pid FirstNotGone(const std::string& child, IsGone is_gone);
  // The exclusive children that have one.
  std::vector<std::string> NotGone(IsGone is_gone);

  // Of the supervisor with that key: the same one until it is forgotten.
  std::shared_ptr<ExclusiveLives> Below(const std::string& child);

  // There is no child of that key any more. What is not gone is remembered until then.
  void Forget(const std::string& child, IsGone is_gone);

 private:
  struct Entry {
    bool is_exclusive = false;
    std::set<Pid> lives;
    std::shared_ptr<ExclusiveLives> below;
  };

  using Entries = std::map<std::string, Entry>;

  // Depth of both: the tree's.
  static Pid FirstOf(Entry& entry, IsGone is_gone);
  Pid First(IsGone is_gone);
  Entries::iterator NextAfterLook(Entries::iterator entry, IsGone is_gone) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  Entries entries_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> forgotten_ ABSL_GUARDED_BY(mu_);  // those that have still an entry
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_EXCLUSIVE_LIVES_H_
