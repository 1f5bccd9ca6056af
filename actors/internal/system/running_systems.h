// The actor systems of this process. Any thread.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_RUNNING_SYSTEMS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_RUNNING_SYSTEMS_H_

#include <string>

namespace understudy::internal {

class SystemCore;

void AddSystem(SystemCore* system);
void RemoveSystem(SystemCore* system);

// The system in which this thread resolves names: the system of its turn, or else the
// only system of the process. CHECKs that the process has exactly one in this case.
SystemCore& SystemOfThisThread();

// The name of the only system of the process; empty if there are several, or none.
std::string NameOfOnlySystem();

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_SYSTEM_RUNNING_SYSTEMS_H_
