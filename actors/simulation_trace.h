// SimulationTrace: the steps of all simulated systems and clusters that begin while it exists.
//
//   SimulationTrace trace;
//   RunScenario(/*seed=*/17);               // makes a TestSystem or a SimulatedCluster, whatever it traces itself
//   for (const std::string& line : trace.lines()) std::puts(line.c_str());
//
// A line is the virtual time in nanoseconds and one of these:
//
//   1000000000 <shop.3.7> handles event of start from <no actor> as shop::Order "order-7"
//   1002000000 <shop.3.7> handles shop.Order/Pay of shop.PayRequest from <no actor>
//   1002000000 <shop.3.7> resumes shop.Order/Pay of shop.PayRequest from <no actor>
//   1003000000 <shop.3.7> ends: normal
//   1003000000 crash shop                   // of a SimulatedCluster: faults, frames and sessions
//
// A message is "handled" when its handler begins, and its handler "resumes" when the awaited answer is there.
// The sender of a message that a test sends is <no actor>. ForEachSeed (testing/seeds.h) records the seed that fails;
// sequence_diagram.h draws the lines.
//
// At most one SimulationTrace exists at a time. It keeps the last kLinesMax lines. Threads: the simulation's one
// thread. Lifetime: it may end before the systems do.
#ifndef UNDERSTUDY_ACTORS_SIMULATION_TRACE_H_
#define UNDERSTUDY_ACTORS_SIMULATION_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>

#include "absl/strings/string_view.h"
#include "understudy/actors/clock.h"

namespace understudy {

class SimulationTrace {
 public:
  // Some 20 MiB: more than a scenario of a minute's work, and little enough for a test.
  static constexpr size_t kLinesMax = 200'000;

  SimulationTrace();
  ~SimulationTrace();
  SimulationTrace(const SimulationTrace&) = delete;
  SimulationTrace& operator=(const SimulationTrace&) = delete;

  // The one that exists, or null.
  static SimulationTrace* Current() { return current_; }

  void Add(MonotonicTime now, absl::string_view line);

  const std::deque<std::string>& lines() const { return lines_; }
  // How many older lines were dropped.
  int64_t dropped() const { return dropped_; }

 private:
  static SimulationTrace* current_;

  std::deque<std::string> lines_;
  int64_t dropped_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_SIMULATION_TRACE_H_
