// Looks at the supervisors of one actor system and their children, from outside:
//
//   TreePage page;
//   do {
//     page = LookAtSupervisors(system.node(), page.next, 1000, system.clock().Now());
//     for (const SupervisorLook& supervisor : page.supervisors) …
//   } while (page.next.supervisor != 0);
//
// A look reads the state that the supervisors keep for it. It sends no message, runs no turn and waits for no handler,
// so stuck workers do not delay it. A supervisor that changes a child meanwhile waits while at most
// limits::kChildrenPerLookMax children are copied. Each supervisor is read at a moment of its own, perhaps in the
// middle of its turn, so a page is not a picture of one moment.
//
// Threads: any.
#ifndef UNDERSTUDY_SUPERVISION_SUPERVISOR_LOOKS_H_
#define UNDERSTUDY_SUPERVISION_SUPERVISOR_LOOKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"

namespace understudy {

// A place in a tree: the children of a supervisor whose place (ChildInfo::place) is above `child`, and all supervisors
// after that one.
struct TreePlace {
  uint64_t supervisor = 0;  // SupervisorLook::number; 0: the beginning or the end of a tree
  uint64_t child = 0;
};

struct SupervisorLook {
  uint64_t number = 0;  // grows in the order in which supervisors started, so a supervisor is above those below it
  Pid pid;
  Pid parent;  // null: a plain thread spawned it
  RestartStrategy strategy = RestartStrategy::kOneForOne;
  bool is_pool = false;  // true also of the front of a pool with shards, whose children are the shards
  int intensity = 0;
  absl::Duration period;
  int restarts_in_period = 0;  // counted restarts in the last `period`; at most `intensity` + 1
  // In start order; on this page those above the place from which the page begins.
  std::vector<ChildLook> children;
};

struct TreePage {
  std::vector<SupervisorLook> supervisors;  // in the order of their numbers
  TreePlace next;                           // where the next page begins; no supervisor: this is the last one
};

// The supervisors of the system that have started or are starting, from `from` on, each until its object is destroyed;
// so a killed supervisor whose handler runs on is told too. `node` is ActorSystem::node(). `at_most` counts supervisors
// and children, and is clamped to 2 … limits::kTreePageEntriesMax. A supervisor whose children do not fit in the page
// is told again on the next one, with the others. `now` is the time on the system's clock.
TreePage LookAtSupervisors(uint16_t node, TreePlace from, size_t at_most, MonotonicTime now);

// Returns true if the supervisor forgets that child once it is down, so that a RestartChild would find none: the child
// is temporary, or of a pool. Returns false if there is no such supervisor or child. The call takes time in proportion
// to the number of supervisors.
bool IsForgottenWhenDown(Pid supervisor, absl::string_view child);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_SUPERVISOR_LOOKS_H_
