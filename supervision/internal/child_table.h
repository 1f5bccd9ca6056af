// ChildTable: the children of one supervisor in start order, with the state of each.
//
// A *life* is one run of a child. A child has at most one life at a time. Each life has a number that is never used
// again, so the number of an ended life finds no child.
//
// Invariants:
// - a child is found by its key and by its id; by its life from BeginLife to EndLife; by its pid from SetPid until the
//   next SetPid or Remove, so also while it is down
// - the count of a state is the number of children that are in that state now
//
// No clock and no decisions. Owner only, except for Look and LookAtRestart. References to a Child are valid until
// Remove. Each lookup takes at most logarithmic time.
//
// A look reads the children and some of their fields on another thread: the fields that ChildTable writes. The owner
// changes these with looks_mu_ held, and reads them without it, because no other thread changes them. No user code runs
// with the lock held: a spec, which owns the arguments of its child, is destroyed after the lock is released.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_TABLE_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/internal/restart_decision.h"

namespace understudy {

// The registered and the published name of a child; either may be empty.
inline std::array<const std::string*, 2> NamesOf(const ChildSpec& child) {
  return {&child.registered_as, &child.published_as};
}

class ChildTable {
 public:
  using Key = uint64_t;  // grows in start order; the first is 1
  using LifeId = uint64_t;
  using RequestId = uint64_t;

  enum class State {
    kStopped,
    kStarting,
    kRunning,
    kStopping,
    kDue,      // down; it is started when its turn comes
    kBackoff,  // down until its backoff has elapsed
    kHeld,     // down until an earlier life of it is gone
    kParked,   // down until its name is free
    kDown,     // down; its exit is judged when the running plan has ended
  };

  // A short reason is kept as it is, without its crash report, because its text costs more than a restart should; any
  // other as a text of at most limits::kLastExitBytesMax bytes.
  struct LastExit {
    ExitReason reason;
    std::string text;  // empty: that of `reason`
    MonotonicTime time;
  };

  struct Child {
    // Written by ChildTable.
    Key key = 0;
    State state = State::kStopped;
    MonotonicTime since;  // when `state` began
    LifeId life = 0;      // the present life, or the last one
    Pid pid;              // of the present life, once it is known
    Pid address;          // the last pid that was not null
    std::shared_ptr<const ChildSpec> spec;
    int restarts = 0;
    MonotonicTime next_start;  // in kBackoff: when the child is started again
    std::unique_ptr<const LastExit> last_exit;

    // Written by the table's owner.
    absl::optional<MonotonicTime> started;  // when the present life, or the last one, completed its start
    bool has_started = false;               // some life of the child completed its start
    bool was_parked = false;                // the child was parked since it last started
    bool is_new = false;                    // the StartChild that added the child has no answer yet
    bool delete_on_stop = false;            // the child is to be forgotten when it is down (DeleteChild)
    RequestId start_request = 0;            // the request that is answered when the child has started; 0 if none
    std::vector<RequestId> stop_requests;
    RestartHistory history;
  };

  ChildTable() = default;
  ChildTable(const ChildTable&) = delete;
  ChildTable& operator=(const ChildTable&) = delete;

  // Adds a stopped child after all others. Requires that no child has its id.
  Child& Add(std::shared_ptr<const ChildSpec> spec, MonotonicTime now);
  // Removes and destroys the child. Requires that it has no present life.
  void Remove(Child& child);
  // The time that a child spent down without having failed is added to history.first_attempt when its state changes.
  void SetState(Child& child, State state, MonotonicTime now);
  // Call before SetState with kBackoff.
  void SetNextStart(Child& child, MonotonicTime next_start);
  // Requires that the new spec has the same id, kind, significance and names.
  void SetSpec(Child& child, std::shared_ptr<const ChildSpec> spec);
  void SetLastExit(Child& child, const ExitReason& reason, MonotonicTime now);
  void CountRestart(Child& child);

  // Returns the number of a new life, which belongs to no child.
  LifeId NewLife() { return ++last_life_; }
  void BeginLife(Child& child);
  // Sets or changes the pid of that life. Ignored for an ended life.
  void SetPid(LifeId life, Pid pid);
  void EndLife(Child& child);

  // These return null if there is no such child.
  Child* FindKey(Key key);
  Child* FindId(absl::string_view id);
  const Child* FindId(absl::string_view id) const;
  // The child whose specification takes `name`, registered or published. Null for an empty name.
  const Child* FindName(absl::string_view name) const;
  Child* FindLife(LifeId life);
  const Child* FindLife(LifeId life) const;
  // The child whose present or last pid this is.
  const Child* FindPid(Pid pid) const;
  // The first child whose key is at least `key`, and the last whose key is below it.
  Child* FirstFrom(Key key);
  Child* LastBefore(Key key);
  // True if a child before `key` is down and waits: when its wait is over, its group, which includes `key`, is started.
  bool IsAnyBeforeWaiting(Key key) const;

  // A key that is greater than the key of every child.
  Key end_key() const { return last_key_ + 1; }
  size_t size() const { return children_.size(); }
  int CountIn(State state) const { return in_state_[static_cast<size_t>(state)]; }
  int busy() const { return CountIn(State::kStarting) + CountIn(State::kStopping); }
  int waiting() const { return CountIn(State::kBackoff) + CountIn(State::kHeld); }
  // Significant children that are not stopped.
  int significant() const { return significant_; }
  const std::set<Key>& parked() const { return parked_; }
  static bool IsBusy(const Child& child) { return child.state == State::kStarting || child.state == State::kStopping; }

  // The answers to users' queries.
  static ChildInfo InfoOf(const Child& child);
  // At most `at_most` children whose place is above `after`, in start order.
  std::vector<ChildInfo> WhichChildren(uint64_t after = 0, size_t at_most = SIZE_MAX) const;
  // For a look from outside, on any thread: the same, with the specs and last exits. At most
  // limits::kChildrenPerLookMax children. `has_more` is set to whether others follow.
  std::vector<ChildLook> Look(uint64_t after, size_t at_most, bool& has_more) const;
  // The same for one field of one child; nullopt if there is none with that id.
  absl::optional<RestartType> LookAtRestart(absl::string_view id) const;
  ChildCounts CountChildren() const;
  // NotFound for an unknown id.
  absl::StatusOr<ChildSpec> GetChildSpec(absl::string_view id) const;
  bool HasChild(Pid pid) const { return pids_.contains(pid); }
  bool HasChild(absl::string_view id) const { return FindId(id) != nullptr; }
  // The present life of the child with that pid, or 0.
  LifeId LifeOf(Pid pid) const;
  // The pid of that life, or null when it is not known yet or the life has ended.
  Pid PidOf(LifeId life) const;
  // Requires a present life.
  std::shared_ptr<const ChildSpec> SpecOf(LifeId life) const { return FindLife(life)->spec; }

 private:
  static constexpr size_t kStates = static_cast<size_t>(State::kDown) + 1;

  void Count(const Child& child, int n);

  mutable absl::Mutex looks_mu_;  // see above
  std::map<Key, Child> children_;
  std::map<std::string, Child*, std::less<>> ids_;
  std::map<std::string, const Child*, std::less<>> names_;  // the first child of each name
  absl::flat_hash_map<LifeId, Child*> lives_;
  absl::flat_hash_map<Pid, Child*> pids_;  // by Child::address
  Key last_key_ = 0;
  LifeId last_life_ = 0;
  std::array<int, kStates> in_state_ = {};
  int significant_ = 0;
  int supervisors_ = 0;
  std::set<Key> parked_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_TABLE_H_
