#include "understudy/transport/testing/random_faults.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/testing/simulated_cluster.h"
#include "understudy/transport/testing/simulated_network.h"

namespace understudy {
namespace {

// The kinds, in the order of the numbers in Options.
enum : int { kCrash, kPause, kCut, kStall, kPartition, kDelay };

}  // namespace

RandomFaults::RandomFaults(SimulatedCluster& cluster, Options options)
    : cluster_(cluster),
      options_(std::move(options)),
      nodes_(options_.nodes.empty() ? cluster.nodes() : options_.nodes),
      random_(options_.seed ^ 0x6661756c7473) {  // not the numbers that the cluster draws
  UNDERSTUDY_CHECK(options_.every > absl::ZeroDuration() && options_.lasts_max > absl::ZeroDuration(),
                   "RandomFaults: every and lasts_max must be positive, got ", absl::FormatDuration(options_.every),
                   " and ", absl::FormatDuration(options_.lasts_max));
  UNDERSTUDY_CHECK(
      std::min({options_.crashes, options_.pauses, options_.cuts, options_.stalls, options_.partitions,
                options_.delays}) >= 0 &&
          options_.crashes + options_.pauses + options_.cuts + options_.stalls + options_.partitions + options_.delays >
              0,
      "RandomFaults: how often each kind comes must not be negative, and one must be positive");
  next_fault_ = Now() + UntilNextFault();
}

absl::Duration RandomFaults::UntilNextFault() {
  // Exponential, so that faults come in bursts too.
  return options_.every * std::min(-std::log(1 - random_.Fraction()), 10.0);
}

void RandomFaults::RunFor(absl::Duration duration) {
  const MonotonicTime until = Now() + duration;
  while (true) {
    const MonotonicTime end = ends_.empty() ? until : std::min(until, ends_.begin()->first);
    const MonotonicTime next = std::min(end, next_fault_);
    if (next > Now()) cluster_.RunFor(next - Now());
    if (!ends_.empty() && ends_.begin()->first <= Now()) {
      ends_.extract(ends_.begin()).mapped()();
    } else if (next_fault_ <= Now()) {
      next_fault_ = Now() + UntilNextFault();
      Break();
    } else {
      return;
    }
  }
}

void RandomFaults::Heal() {
  while (!ends_.empty()) ends_.extract(ends_.begin()).mapped()();
}

void RandomFaults::EndLater(std::function<void()> end) {
  const double share = random_.Below(2) == 0 ? 0.01 : 1.0;
  ends_.emplace(Now() + options_.lasts_max * (share * random_.Fraction()), std::move(end));
}

void RandomFaults::Break() {
  const int weights[] = {options_.crashes, options_.pauses,     options_.cuts,
                         options_.stalls,  options_.partitions, options_.delays};
  uint64_t sum = 0;
  for (const int weight : weights) sum += static_cast<uint64_t>(weight);
  uint64_t drawn = random_.Below(sum);
  int kind = 0;
  while (drawn >= static_cast<uint64_t>(weights[kind])) drawn -= static_cast<uint64_t>(weights[kind++]);
  ++count_;
  if (kind == kCrash) return CrashOne();
  if (kind == kPause) return PauseOne();
  BreakNetwork(kind);
}

void RandomFaults::CrashOne() {
  const std::string& node = AnyNode();
  if (!cluster_.IsRunning(node)) return;
  cluster_.Crash(node);
  EndLater([this, node] { cluster_.Start(node); });
}

void RandomFaults::PauseOne() {
  const std::string& node = AnyNode();
  if (!cluster_.IsRunning(node) || cluster_.IsPaused(node)) return;
  cluster_.Pause(node);
  EndLater([this, node] {
    // A crash may have ended the pause.
    if (cluster_.IsPaused(node)) cluster_.Resume(node);
  });
}

void RandomFaults::BreakNetwork(int kind) {
  const std::string& a = AnyNode();
  const std::string& b = AnyNode();
  if (a == b) return;
  SimulatedNetwork& network = cluster_.network();
  switch (kind) {
    case kCut:
      return network.Cut(a, b);
    case kStall:
      return network.Stall(a, b);
    case kPartition:
      random_.Below(2) == 0 ? network.Partition(a, b) : network.PartitionOneWay(a, b);
      return EndLater([&network, a, b] { network.Heal(a, b); });
    default:
      network.SetDelay(a, b, absl::Seconds(1) * random_.Fraction());
      return EndLater([&network, a, b] { network.SetDelay(a, b, absl::ZeroDuration()); });
  }
}

}  // namespace understudy
