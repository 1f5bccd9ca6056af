#include "understudy/actors/internal/system/running_systems.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/current_turn.h"

namespace understudy::internal {
namespace {

// Debian's build of Abseil looks for lock cycles at each lock, as only debug builds should: a lock takes four times as
// long. An optimised program gets what Abseil's documentation says of such programs.
void SetLocksForThisBuild() {
#ifdef NDEBUG
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
#endif
}

struct Systems {
  absl::Mutex mu;
  std::vector<SystemCore*> all ABSL_GUARDED_BY(mu);
};

Systems& GetSystems() {
  static Systems* const systems = [] {
    SetLocksForThisBuild();
    return new Systems;
  }();
  return *systems;
}

}  // namespace

void AddSystem(SystemCore* system) {
  Systems& systems = GetSystems();
  absl::MutexLock lock(&systems.mu);
  systems.all.push_back(system);
}

void RemoveSystem(SystemCore* system) {
  Systems& systems = GetSystems();
  absl::MutexLock lock(&systems.mu);
  systems.all.erase(std::remove(systems.all.begin(), systems.all.end(), system), systems.all.end());
}

SystemCore& SystemOfThisThread() {
  if (SystemCore* system = ThisTurn().system; system != nullptr) return *system;
  Systems& systems = GetSystems();
  absl::MutexLock lock(&systems.mu);
  UNDERSTUDY_CHECK(systems.all.size() == 1, "a name is resolved on a plain thread, in a process with ",
                   systems.all.size(), " actor systems; give Named its system");
  return *systems.all.front();
}

std::string NameOfOnlySystem() {
  Systems& systems = GetSystems();
  absl::MutexLock lock(&systems.mu);
  return systems.all.size() == 1 ? systems.all.front()->name() : std::string();
}

}  // namespace understudy::internal
