// ClusterRun: one random history of a simulated cluster, and its checks. Traders on two to four nodes do errands while
// streams break, single directions stall or are slow, nodes pause, crash and restart, and actors end and claim the same
// names; a hostile peer may take part. Then all faults are healed and the guarantees are checked.
//
//   ClusterRun run(/*seed=*/7);
//   EXPECT_EQ(run.Run(), "");
//
// Threads: one.
#ifndef UNDERSTUDY_TESTS_SIM_CLUSTER_RUN_H_
#define UNDERSTUDY_TESTS_SIM_CLUSTER_RUN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/ref.h"
#include "understudy/tests/sim/cluster_history.h"
#include "understudy/tests/sim/hostile_peer.h"
#include "understudy/tests/sim/trader_actor.h"
#include "understudy/transport/core/node_core.h"
#include "understudy/transport/testing/simulated_cluster.h"

namespace understudy {

class ClusterRun {
 public:
  explicit ClusterRun(uint64_t seed);

  // Runs the cluster and returns one line for each violation, or an empty text if there is none. Call once.
  std::string Run();

  // How often each kind of fault and each outcome occurred in the whole run.
  struct Tally {
    int64_t cuts = 0, one_way = 0, two_way = 0, pauses = 0, crashes = 0, slow = 0, kills = 0;
    int64_t sessions_ended = 0, welcomes = 0, hostile_frames = 0, bad_frames = 0, conflicts = 0;
    ClusterHistory::Totals totals;

    Tally& operator+=(const Tally& other);
    std::string ToString() const;
  };
  const Tally& tally() const { return tally_; }

 private:
  using LifeId = ClusterHistory::LifeId;
  static constexpr absl::string_view kHostile = "mallory";
  static constexpr size_t kLivesMax = 60;

  static SimulatedCluster::Options OptionsOf(Random& random, ClusterRun& run);
  void OnPeer(absl::string_view node, const PeerEvent& event);
  void Watch(absl::string_view node);  // subscribes to its dead letters

  // The random steps of a run.
  void DoSomething();
  void Disturb();
  void HealSome();
  void HealAll();
  void Spawn(absl::string_view node, absl::string_view name = "");
  void SpawnNamed();
  void SendErrand();
  void TieTwo();
  void EndOne();
  void CrashOne();
  void TellTheHostile();

  // Checks while the cluster runs, and checks at the end; see cluster_run_checks.cc.
  void Look();
  void LookAt(absl::string_view node);

  void CheckConnected();
  void CheckCounts();
  void CheckNames();
  void CheckRoom();
  void CheckTalk();
  enum class Loss { kOfTheEnded, kOfACrash };
  void NoteLosses(absl::string_view node, Loss loss);

  std::string ANode() { return nodes_[random_.Below(nodes_.size())]; }
  std::string ARunningNode();
  LifeId ALife();  // a live actor with high probability; -1 if none was found
  Pid As(absl::string_view node, LifeId life);
  uint64_t EpochOf(LifeId from, LifeId to);
  Ref<Trader> RefOf(LifeId life) { return Ref<Trader>(history_.lives()[life].pid); }
  bool Chance(uint64_t of) { return random_.Below(of) == 0; }
  void RunFor(absl::Duration duration) { cluster_->RunFor(duration); }

  Random random_;
  std::vector<std::string> nodes_;
  HostilePeer::Impostor impostors_ = HostilePeer::Impostor::kNever;
  bool one_dials_ = false;  // only one node of each pair dials
  int64_t bytes_max_ = 0;   // bound on the bytes that wait for one peer
  std::map<LifeId, Trader::Settings> settings_;
  std::map<std::string, NodeIncarnation, std::less<>> incarnations_;  // of running nodes
  ClusterHistory::Counts counts_;
  Tally tally_;
  ClusterHistory history_;
  std::unique_ptr<HostilePeer> hostile_;
  std::unique_ptr<SimulatedCluster> cluster_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_SIM_CLUSTER_RUN_H_
