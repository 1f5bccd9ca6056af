// Explore: walks through every schedule of a few threads over ModelAtomics.
//
//   Outcome outcome = Explore({}, [](Program& program) {
//     auto state = std::make_shared<State>();     // atomics, plain variables
//     program.Thread("sender", [state] { state->inbound.Push(&state->node, true); });
//     program.Thread("owner", [state] { ... });
//     program.AtEnd([state] { Expect(state->taken == 1, "the node is taken"); });
//   });
//   EXPECT_TRUE(outcome.holds()) << outcome.failure;
//
// The function sets up one run and is called once for each. Requires: a run depends only on its schedule, and threads
// share only Atomic and Plain of ModelAtomics (other accesses to shared state would be tried in some orders only). A
// variable that only one thread writes may be read AtEnd. A run fails when an Expect does not hold, when two threads
// access a Plain unordered, when no thread can go on, or when it takes too many steps.
//
// Every operation on an atomic is a point where any thread may go on, and a load may read any store that C++ lets it
// read (memory.h says what is left out). Without a bound on preemptions all schedules are covered; of those that differ
// only in the order of independent operations, one is run to its end (sleep sets). With a bound, all schedules are
// covered that switch from a thread that could go on at most that often. Reads of old stores can be bounded too.
//
// A failing schedule is printed step by step, with a text that replays it: see README.md.
#ifndef UNDERSTUDY_TESTS_MODEL_SCHEDULES_H_
#define UNDERSTUDY_TESTS_MODEL_SCHEDULES_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace understudy::model {

class Execution;

// The threads of one run, while it is set up.
class Program {
 public:
  explicit Program(Execution& execution) : execution_(execution) {}

  void Thread(std::string name, std::function<void()> body);
  // Called when all threads have ended; sees everything that they did.
  void AtEnd(std::function<void()> check);
  // How the atomics and plain variables in `object` are called in a schedule.
  template <class T>
  void Name(const T& object, std::string name) {
    NameBytes(&object, sizeof(T), std::move(name));
  }

 private:
  void NameBytes(const void* object, size_t bytes, std::string name);

  Execution& execution_;
};

// In a thread of the run or in its check: the run fails if this does not hold.
void Expect(bool condition, absl::string_view what);

// How schedules are left out that differ from another one only in the order of
// independent operations.
enum class Reduction {
  kSourceSets,  // a thread is tried only where something depends on it, and as kSleepSets
  kSleepSets,   // every thread is tried, and left when found to be like one before
};

struct Bounds {
  static constexpr int kUnbounded = -1;
  int preemptions_max = kUnbounded;
  // Loads, of a run, that read another store than the newest.
  int old_reads_max = std::numeric_limits<int>::max();
  Reduction reduction = Reduction::kSourceSets;  // without a bound on preemptions
  int64_t runs_max = 5'000'000;
  int steps_max = 1000;
};

struct Outcome {
  std::string failure;    // what went wrong and the schedule, step by step; empty if nothing did
  std::string schedule;   // the failing one, for Replay
  int64_t schedules = 0;  // run to their end
  int64_t cut = 0;        // left when found to be like one run before
  int64_t steps = 0;
  bool is_exhausted = false;  // there are no more

  // Everything was walked through, and nothing failed.
  bool holds() const { return is_exhausted && failure.empty(); }
};

// Stops at the first failure. With UNDERSTUDY_SCHEDULE in the environment it
// runs that schedule only.
Outcome Explore(const Bounds& bounds, absl::FunctionRef<void(Program&)> set_up);

// Runs one schedule; its failure, or its steps if there is none.
std::string Replay(absl::string_view schedule, absl::FunctionRef<void(Program&)> set_up);

}  // namespace understudy::model

#endif  // UNDERSTUDY_TESTS_MODEL_SCHEDULES_H_
