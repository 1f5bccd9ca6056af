#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/actors/limits.h"
#include "understudy/supervision/limits.h"
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {

const std::vector<Workload>& Workloads() {
  static const auto* const workloads = new std::vector<Workload>{
      {"ping_pong", "round trip", limits::kMailboxCapacityMessages, &RunPingPong},
      {"ring", "hop", limits::kMailboxCapacityMessages, &RunRing},
      {"counting", "message", kLargeCapacity, &RunCounting},
      {"contention", "message", kLargeCapacity, &RunContention},
      {"big", "round trip", kLargeCapacity, &RunBig},
      {"fork_join_create", "actor", kLargeCapacity, &RunForkJoinCreate},
      {"ask", "ask", limits::kMailboxCapacityMessages, &RunAsk},
      {"become", "message", kLargeCapacity, &RunBecome},
      {"guard_miss", "message", kLargeCapacity, &RunGuardMiss},
      {"multicast_simple", "message", kLargeCapacity, &RunMulticastSimple},
      {"multicast_ack", "message", kLargeCapacity, &RunMulticastAck},
      {"multicast_group", "message", kLargeCapacity, &RunMulticastGroup},
      {"restart", "restart", kLargeCapacity, &RunRestart},
      {"restart_latency", "restart", kLargeCapacity, &RunRestartLatency},
      {"pool", "child", limits::kSupervisorRequestsMax, &RunPool},
      {"pool_sharded", "child", limits::kSupervisorRequestsMax, &RunPoolSharded},
      {"idle_memory", "actor", limits::kMailboxCapacityMessages, &RunIdleMemory},
  };
  return *workloads;
}

const Workload* FindWorkload(absl::string_view name) {
  for (const Workload& workload : Workloads()) {
    if (workload.name == name) return &workload;
  }
  return nullptr;
}

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
