// ExclusiveLives: the lives of a supervisor's children that may not be gone yet (Context::MonitorUntilGone). Two
// supervisors use it: the next life of the same supervisor, and the parent of an exclusive supervisor. Neither may
// start a child while an earlier life of that child is not gone.
//
// The object outlives the lives of the supervisor. The supervisor above keeps it, for each supervisor below. A
// supervisor without one above makes its own, so two trees made by one builder share nothing.
//
// A child is identified by a key. The key is the child's id if the id means the same child in the supervisor's next
// life; see ExclusiveChildren for the other case.
//
// Threads: any, because an earlier life of the supervisor may itself still run. `is_gone` is called under the lock. A
// life for which it returns true is removed.
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
  // The reason why a life is recorded: the child is exclusive, or a supervisor above it is.
  enum class Why { kIsExclusive, kIsBelowExclusive };

  // Records a life of that child, which has begun.
  void Add(const std::string& child, Pid life, Why why, IsGone is_gone);
  // Returns a life of that child, or of an actor below it, that is not gone; null if there is none. When the returned
  // life is gone, call this again: there may be others.
  Pid FirstNotGone(const std::string& child, IsGone is_gone);
  // The keys of the exclusive children for which FirstNotGone would return a life.
  std::vector<std::string> NotGone(IsGone is_gone);

  // The ExclusiveLives of the child with that key, which is a supervisor. The object stays the same until Forget.
  std::shared_ptr<ExclusiveLives> Below(const std::string& child);

  // Call when there is no child with that key any more. Its lives are kept until they are gone.
  void Forget(const std::string& child, IsGone is_gone);

 private:
  struct Entry {
    bool is_exclusive = false;
    std::set<Pid> lives;
    std::shared_ptr<ExclusiveLives> below;
  };

  using Entries = std::map<std::string, Entry>;

  // These two call each other, as deep as the supervision tree.
  static Pid FirstOf(Entry& entry, IsGone is_gone);
  Pid First(IsGone is_gone);
  Entries::iterator NextAfterLook(Entries::iterator entry, IsGone is_gone) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Mutex mu_;
  Entries entries_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> forgotten_ ABSL_GUARDED_BY(mu_);  // keys given to Forget that still have an entry
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_EXCLUSIVE_LIVES_H_
