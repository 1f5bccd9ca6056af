// What must not compile in the use of supervision/. As it is, this file compiles.
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervisor.h"

namespace understudy {

void Use(const SupervisorSpec& tree) {
  (void)OneForOne().Child("a", Permanent(tree)).Child("b", Transient(OneForAll()));
#ifdef NOCOMPILE_SUPERVISOR_WITHOUT_ITS_TREE
  (void)Permanent(MakeSupervisor(tree));
#endif
}

}  // namespace understudy
