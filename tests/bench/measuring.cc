#include "understudy/tests/bench/measuring.h"

namespace understudy::bench {

void EndRefused(const absl::Status& refusal) { UNDERSTUDY_CHECK(false, "a send was refused: ", refusal.ToString()); }

void EndActors(ActorSystem& system, const std::vector<Pid>& actors) {
  for (Pid actor : actors) system.Exit(actor, ExitReason::Shutdown());
  AwaitActorsLeft(system, 0);
}

void AwaitActorsLeft(ActorSystem& system, int64_t actors_max) {
  Executor& executor = system.executor();
  UNDERSTUDY_CHECK(executor.BlockUntil([&] { return system.live_actors() <= actors_max; },
                                       executor.clock().Now() + absl::Minutes(10)),
                   system.live_actors(), " actors are left, and should be ", actors_max);
}

}  // namespace understudy::bench
