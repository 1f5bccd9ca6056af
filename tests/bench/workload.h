// Workload: one benchmark of the kernel.
//
// A workload spawns its actors on a given system, measures from the first message to the last, checks what the actors
// counted, and ends its actors. It uses the public headers only, and runs on any executor.
#ifndef UNDERSTUDY_TESTS_BENCH_WORKLOAD_H_
#define UNDERSTUDY_TESTS_BENCH_WORKLOAD_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/bench/measuring.h"  // IWYU pragma: export

namespace understudy::bench {

// The number of producers in the contention workloads, of actors in the ring, of players in "big", and of receivers in
// "fork_join_throughput".
inline constexpr int kProducers = 20;
inline constexpr int kRingActors = 100;
inline constexpr int kBigActors = 120;
inline constexpr int kForkJoinWorkers = 60;
// The number of creatures in "chameneos".
inline constexpr int kCreatures = 100;
// The number of children of each inner actor of the tree in "skynet".
inline constexpr int kSkynetChildren = 10;
// The capacity of the mailbox that the producers fill in the "_bounded" workloads.
inline constexpr int64_t kBoundedCapacity = 100;

struct Workload {
  absl::string_view name;
  // The noun for one operation, in the singular.
  absl::string_view operation;
  // The capacity of the mailbox that fills most.
  int64_t capacity_messages = 0;
  // `operations` is a multiple of kUnit.
  Measurement (*run)(ActorSystem& system, int64_t operations) = nullptr;

  friend void PrintTo(const Workload& workload, std::ostream* out) { *out << workload.name; }
};

// Each number of operations is a multiple of kUnit, so that each producer and each player has the same share.
inline constexpr int64_t kUnit = 600;

const std::vector<Workload>& Workloads();
// Returns null if there is no workload of that name.
const Workload* FindWorkload(absl::string_view name);

Measurement RunPingPong(ActorSystem& system, int64_t operations);
Measurement RunRing(ActorSystem& system, int64_t operations);
Measurement RunCounting(ActorSystem& system, int64_t operations);
Measurement RunContention(ActorSystem& system, int64_t operations);
Measurement RunBig(ActorSystem& system, int64_t operations);
Measurement RunForkJoinCreate(ActorSystem& system, int64_t operations);
Measurement RunForkJoinThroughput(ActorSystem& system, int64_t operations);
Measurement RunChameneos(ActorSystem& system, int64_t operations);
Measurement RunSpawnKeep(ActorSystem& system, int64_t operations);
Measurement RunSkynet(ActorSystem& system, int64_t operations);
Measurement RunCountingBounded(ActorSystem& system, int64_t operations);
Measurement RunContentionBounded(ActorSystem& system, int64_t operations);
Measurement RunAsk(ActorSystem& system, int64_t operations);
Measurement RunBecome(ActorSystem& system, int64_t operations);
Measurement RunGuardMiss(ActorSystem& system, int64_t operations);
Measurement RunMulticastSimple(ActorSystem& system, int64_t operations);
Measurement RunMulticastAck(ActorSystem& system, int64_t operations);
Measurement RunMulticastGroup(ActorSystem& system, int64_t operations);
Measurement RunRestart(ActorSystem& system, int64_t operations);
Measurement RunRestartLatency(ActorSystem& system, int64_t operations);
Measurement RunPool(ActorSystem& system, int64_t operations);
Measurement RunPoolSharded(ActorSystem& system, int64_t operations);

}  // namespace understudy::bench

#endif  // UNDERSTUDY_TESTS_BENCH_WORKLOAD_H_
