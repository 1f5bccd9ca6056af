// ExclusiveLives: what a supervisor's next life has to know of its last one's
// exclusive children: one of them may still be in a handler that was killed.
//
// A supervisor that stands for itself has one of its own. Each supervisor below
// has one that the supervisor above keeps for all its lives, so two trees of one
// builder share nothing. FromAbove hands it down.
//
// Threads: any. An earlier life of the supervisor may itself run on.
#ifndef UNDERSTUDY_SUPERVISION_EXCLUSIVE_LIVES_H_
#define UNDERSTUDY_SUPERVISION_EXCLUSIVE_LIVES_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace understudy::internal {

class ExclusiveLives {
 public:
  // Held by a life until it is gone.
  using Token = std::weak_ptr<const void>;

  // Of the child with that id: its last life's.
  void SetLast(const std::string& child, Token token);
  // Those that are not gone yet, by the child's id.
  std::vector<std::pair<std::string, Token>> NotGone();

  // Of the supervisor with that id: the same one until it is forgotten.
  std::shared_ptr<ExclusiveLives> Below(const std::string& child);

  // There is no child of that id any more. What is below it and not gone is
  // remembered until then.
  void Forget(const std::string& child);

 private:
  struct Entry {
    Token last;
    std::shared_ptr<ExclusiveLives> below;
  };

  // Whether nothing of it, and of what is below, is left to wait for. Depth: the tree's.
  static bool IsOver(const Entry& entry);
  bool IsAllOver() const;

  mutable absl::Mutex mu_;
  std::map<std::string, Entry> entries_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> forgotten_ ABSL_GUARDED_BY(mu_);  // those that have still an entry
};

// What a supervisor hands to the child that it makes, should that be a supervisor
// too: to the object that is made on this thread while the scope lives.
struct FromAbove {
  // The maker's, null for none, and the id of what it makes, which outlives the scope.
  std::shared_ptr<ExclusiveLives> lives;
  absl::string_view child;
  // Held by whoever must be gone before an exclusive supervisor's next life; null for none.
  std::shared_ptr<const void> held;

  class Scope {
   public:
    explicit Scope(const FromAbove& above);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    const FromAbove* outer_;
  };

  // Of this thread; empty outside of a scope.
  static const FromAbove& Present();
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_EXCLUSIVE_LIVES_H_
