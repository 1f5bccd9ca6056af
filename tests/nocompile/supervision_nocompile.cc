// What must not compile in the use of supervision/. As it is, this file compiles.
#include <string>

#include "understudy/actors/actor.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/pool.h"
#include "understudy/supervision/supervisor.h"

namespace understudy {

class Idle final : public Actor {
  StartResult Start() override { return StartResult::Ignore(); }
};

void Use(const SupervisorSpec& tree) {
  (void)Of<Idle>();
  (void)OneForOne().Child("a", Of(tree)).Child("b", Of(OneForAll()).Transient());
#ifdef NOCOMPILE_CHILD_WITH_WRONG_ARGUMENTS
  (void)Of<Idle>(std::string("one"));
#endif
#ifdef NOCOMPILE_POOL_WITH_WRONG_ARGUMENTS
  (void)Of<Pool<Idle(std::string)>>(PoolOptions());
#endif
#ifdef NOCOMPILE_POOL_WITH_TWO_WRONG_ARGUMENTS
  (void)Of<Pool<Idle(std::string, int)>>(PoolOptions());
#endif
#ifdef NOCOMPILE_SUPERVISOR_WITHOUT_ITS_TREE
  (void)Of(MakeSupervisor(tree));
#endif
}

}  // namespace understudy
