// Measures one run of one workload, with the output of understudy_bench:
//   caf_ping_pong ping_pong 1200000 2
#include <cinttypes>
#include <string>

#include "caf_bench.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s WORKLOAD OPERATIONS THREADS\n", argv[0]);
    return 2;
  }
  const std::string workload = argv[1];
  const int64_t operations = std::atoll(argv[2]);
  caf::actor_system_config config;
  config.set("scheduler.max-threads", static_cast<size_t>(std::atoi(argv[3])));
  // CAF's default policy is work stealing, which walks the whole queue of the worker that it steals from. With many
  // thousand children in that queue the "sharing" policy, with one shared queue, is much faster.
  if (workload == "fork_join_create" || workload == "spawn_keep") config.set("scheduler.policy", caf::atom("sharing"));
  bench::Measurement measured;
  {
    caf::actor_system system{config};
    const int64_t warm_up = operations / 10 / 600 * 600;
    if (warm_up > 0 && workload != "idle_memory") bench::Run(system, warm_up);
    measured = bench::Run(system, operations);
  }
  bench::Check(measured.count == operations, "a wrong count");
  std::printf("workload=%s count=%" PRId64 " seconds=%.6f bytes=%" PRId64 " capacity=unbounded\n", workload.c_str(),
              measured.count, measured.seconds, measured.bytes);
  return 0;
}
