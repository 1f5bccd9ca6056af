#include "understudy/examples/savina/savina.h"

#include "absl/strings/str_cat.h"
#include "understudy/actors/actor_system.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {

absl::StatusOr<std::string> Checked(absl::string_view what, int64_t got, int64_t expected) {
  if (got == expected) return absl::StrCat(got, " ", what);
  return absl::InternalError(absl::StrCat(got, " ", what, ": expected ", expected));
}

absl::StatusOr<std::string> Checked(std::string line, bool is_right) {
  if (is_right) return line;
  return absl::InternalError(absl::StrCat("wrong result: ", line));
}

const std::vector<Entry>& Programs() {
  static const auto* const programs = new std::vector<Entry>{
      {"ping_pong", "round trips", 40'000, 100, MakePingPong},
      {"counting", "messages", 1'000'000, 3000, MakeCounting},
      {"fork_join_create", "actors", 40'000, 100, MakeForkJoinCreate},
      {"fork_join_throughput", "messages to each of 60", 10'000, 20, MakeForkJoinThroughput},
      {"thread_ring", "hops", 100'000, 550, MakeThreadRing},
      {"chameneos", "meetings", 200'000, 300, MakeChameneos},
      {"big", "pings of each of 120", 20'000, 5, MakeBig},
      {"concurrent_dictionary", "requests of each of 20", 10'000, 30, MakeConcurrentDictionary},
      {"concurrent_sorted_list", "requests of each of 20", 8'000, 30, MakeConcurrentSortedList},
      {"producer_consumer", "items of each of 40", 1'000, 10, MakeProducerConsumer},
      {"dining_philosophers", "meals of each of 20", 10'000, 20, MakeDiningPhilosophers},
      {"sleeping_barber", "customers", 5'000, 100, MakeSleepingBarber},
      {"cigarette_smokers", "rounds", 1'000, 100, MakeCigaretteSmokers},
      {"logistic_map", "terms of each of 10", 25'000, 50, MakeLogisticMap},
      {"bank_transaction", "transfers", 50'000, 500, MakeBankTransaction},
      {"radix_sort", "numbers", 100'000, 50, MakeRadixSort},
      {"filter_bank", "columns", 16'384, 16, MakeFilterBank},
      {"sieve", "numbers", 100'000, 500, MakeSieve},
      {"unbalanced_tree", "nodes", 200'000, 300, MakeUnbalancedTree},
      {"facility_location", "customers", 100'000, 500, MakeFacilityLocation},
      {"trapezoid", "pieces", 10'000'000, 1000, MakeTrapezoid},
      {"pi_precision", "digits", 5'000, 100, MakePiPrecision},
      {"matrix_multiplication", "rows", 1'024, 20, MakeMatrixMultiplication},
      {"quicksort", "numbers", 1'000'000, 1000, MakeQuicksort},
      {"shortest_paths", "nodes", 300, 15, MakeShortestPaths},
      {"over_relaxation", "points in each direction", 20, 4, MakeOverRelaxation},
      {"guided_search", "nodes in each direction", 30, 5, MakeGuidedSearch},
      {"nqueens", "queens", 12, 6, MakeNQueens},
      {"fibonacci", "n", 25, 8, MakeFibonacci},
      {"bitonic_sort", "numbers", 4'096, 64, MakeBitonicSort},
  };
  return *programs;
}

absl::StatusOr<std::string> RunProgram(ActorSystem& system, const Entry& program, int64_t size) {
  if (size < 1) return absl::InvalidArgumentError(absl::StrCat("invalid size ", size, ": expected at least 1"));
  ActorSpec<Ref<Program>> spec{.make = [make = program.make, size] { return make(size); }};
  spec.options.label = std::string(program.name);
  const Ref<Program> first = system.Spawn(spec);
  absl::StatusOr<std::string> result = system.Ask(first[&Program::result], GetResult(), absl::Hours(1));
  // Ends also the actors that are linked to the first one, if they have not ended.
  system.Exit(first.pid(), ExitReason::Shutdown());
  Executor& executor = system.executor();
  const auto have_all_ended = [&system] { return system.live_actors() == 0; };
  if (!executor.BlockUntil(have_all_ended, executor.clock().Now() + absl::Minutes(1)) && result.ok()) {
    return absl::InternalError(absl::StrCat(system.live_actors(), " actors have not ended: expected none"));
  }
  return result;
}

}  // namespace understudy::savina
