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
      {"fork_join_throughput", "message", kLargeCapacity, &RunForkJoinThroughput},
      {"chameneos", "meeting", limits::kMailboxCapacityMessages, &RunChameneos},
      {"spawn_keep", "actor", kLargeCapacity, &RunSpawnKeep},
      {"skynet", "leaf", limits::kMailboxCapacityMessages, &RunSkynet},
      {"counting_bounded", "message", kBoundedCapacity, &RunCountingBounded},
      {"contention_bounded", "message", kBoundedCapacity, &RunContentionBounded},
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

}  // namespace understudy::bench
