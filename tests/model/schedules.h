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
// read (memory.h lists the exceptions). Without a bound on preemptions all schedules are covered; of those that differ
// only in the order of independent operations, one is run to its end (sleep sets). With a bound, the exploration covers
// all schedules with at most that many preemptions, that is, switches from a thread that could go on. Reads of old
// stores can be bounded too.
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
  // `check` is called when all threads have ended, and sees everything that they did.
  void AtEnd(std::function<void()> check);
  // Sets the name that a printed schedule shows for the atomics and plain variables in `object`.
  template <class T>
  void Name(const T& object, std::string name) {
    NameBytes(&object, sizeof(T), std::move(name));
  }

 private:
  void NameBytes(const void* object, size_t bytes, std::string name);

  Execution& execution_;
};

// Fails the run if `condition` is false. Call it in a thread of the run or in the check.
void Expect(bool condition, absl::string_view what);

// How the exploration leaves out schedules that differ from another one only in the order of independent operations.
enum class Reduction {
  kSourceSets,  // tries a thread only where another step depends on it, and uses sleep sets too
  kSleepSets,   // tries every thread, and cuts a run that is equivalent to an earlier one
};

struct Bounds {
  static constexpr int kUnbounded = -1;
  int preemptions_max = kUnbounded;
  // How many loads of a run may read an older store than the newest.
  int old_reads_max = std::numeric_limits<int>::max();
  Reduction reduction = Reduction::kSourceSets;  // used only without a bound on preemptions
  int64_t runs_max = 5'000'000;
  int steps_max = 1000;
};

struct Outcome {
  std::string failure;    // what failed, and the steps of that schedule; empty if nothing failed
  std::string schedule;   // the schedule that failed, for Replay
  int64_t schedules = 0;  // schedules that were run to their end
  int64_t cut = 0;        // runs that were cut because they are equivalent to an earlier one
  int64_t steps = 0;
  bool is_exhausted = false;  // all schedules within the bounds are covered

  // The exploration was complete, and nothing failed.
  bool holds() const { return is_exhausted && failure.empty(); }
};

// Explores until the first failure. If UNDERSTUDY_SCHEDULE is set in the environment, runs only that schedule.
Outcome Explore(const Bounds& bounds, absl::FunctionRef<void(Program&)> set_up);

// Runs one schedule. Returns its failure, if there is one, and its steps.
std::string Replay(absl::string_view schedule, absl::FunctionRef<void(Program&)> set_up);

}  // namespace understudy::model

#endif  // UNDERSTUDY_TESTS_MODEL_SCHEDULES_H_
