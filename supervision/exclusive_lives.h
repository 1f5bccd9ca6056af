// ExclusiveLives: what a supervisor's next life has to know of its last one's
// exclusive children: one of them may still be in a handler that was killed.
//
// A supervisor that stands for itself has one of its own. Each supervisor below
// has one that the supervisor above keeps for all its lives (SupervisorSpec::lives),
// so two trees of one builder share nothing. Children of a pool are none of this:
// they are not started again with it.
//
// Threads: any. An earlier life of the supervisor may itself run on.
#ifndef UNDERSTUDY_SUPERVISION_EXCLUSIVE_LIVES_H_
#define UNDERSTUDY_SUPERVISION_EXCLUSIVE_LIVES_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace understudy::internal {

class ExclusiveLives {
 public:
  // Held by a life until it is gone (SpawnOptions::held_until_gone).
  using Token = std::weak_ptr<const void>;

  // Of the child with that id: its last life's.
  Token LastOf(const std::string& child) const;
  void SetLast(const std::string& child, Token token);

  // Of the supervisor with that id: the same one until it is forgotten.
  std::shared_ptr<ExclusiveLives> Below(const std::string& child);

  // These are in the tree itself, and come back with their supervisor: Forget
  // leaves them.
  void Keep(const std::string& child);
  void Forget(const std::string& child);

 private:
  struct Entry {
    bool is_kept = false;
    Token last;
    std::shared_ptr<ExclusiveLives> below;
  };

  mutable absl::Mutex mu_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_EXCLUSIVE_LIVES_H_
