// RandomFaults: breaks a SimulatedCluster as its seed says, while time passes: crashes, pauses, broken streams, lost
// frames, partitions and slow directions, each of which ends again.
//
//   ForEachSeed(50, [](uint64_t seed) {
//     Disk disk;
//     SimulatedCluster cluster({.seed = seed, .nodes = {"shop", "stock"}, .on_start = …});
//     RandomFaults faults(cluster, {.seed = seed});
//     for (int i = 0; i < 100; ++i) {
//       CallTheService(cluster, i);                  // by an ask with a callback, if the node runs
//       faults.RunFor(absl::Milliseconds(20));
//     }
//     faults.Heal();                                 // all nodes run and reach each other
//     cluster.RunFor(absl::Minutes(1));
//     EXPECT_EQ(…);                                  // what must hold after any of that
//   });
//
// A fault begins at a random time, so between any two messages. Threads: one. Lifetime: ends before the cluster. While
// a RandomFaults exists, the test itself does not crash, start, pause or resume nodes.
#ifndef UNDERSTUDY_TRANSPORT_TESTING_RANDOM_FAULTS_H_
#define UNDERSTUDY_TRANSPORT_TESTING_RANDOM_FAULTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/random.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {

class RandomFaults {
 public:
  struct Options {
    uint64_t seed = 1;
    // The mean time between the beginnings of two faults.
    absl::Duration every = absl::Milliseconds(500);
    // A fault lasts up to this long; half of them last at most a hundredth of it, so some end before anybody notices.
    absl::Duration lasts_max = absl::Seconds(20);
    // The nodes that crash and pause, and between which the network fails; empty: all.
    std::vector<std::string> nodes;
    // How often each kind comes, in relation to the others.
    int crashes = 2;
    int pauses = 1;
    int cuts = 2;        // streams break and are dialled again
    int stalls = 1;      // what is under way is lost, and nobody is told
    int partitions = 1;  // of both directions, or of one
    int delays = 1;      // of one direction, up to a second
  };

  // CHECKs that `every` and `lasts_max` are positive and that a kind has a positive number.
  RandomFaults(SimulatedCluster& cluster, Options options);
  RandomFaults(const RandomFaults&) = delete;
  RandomFaults& operator=(const RandomFaults&) = delete;

  // Lets time pass, and faults begin and end.
  void RunFor(absl::Duration duration);
  // Ends all faults: every node runs, and every two reach each other.
  void Heal();

  // How many faults have begun.
  int64_t count() const { return count_; }

 private:
  void Break();
  void CrashOne();
  void PauseOne();
  void BreakNetwork(int kind);
  MonotonicTime Now() { return cluster_.executor().clock().Now(); }
  absl::Duration UntilNextFault();
  void EndLater(std::function<void()> end);
  const std::string& AnyNode() { return nodes_[random_.Below(nodes_.size())]; }

  SimulatedCluster& cluster_;
  const Options options_;
  const std::vector<std::string> nodes_;
  Random random_;
  MonotonicTime next_fault_;
  std::multimap<MonotonicTime, std::function<void()>> ends_;
  int64_t count_ = 0;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_TESTING_RANDOM_FAULTS_H_
