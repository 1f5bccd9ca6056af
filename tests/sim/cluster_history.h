// ClusterHistory: what the actors of a simulated cluster did and were told, and whether that agrees with semantics 3, 7
// and 8:
//
//   1. Each send has an outcome, even if it waits for room. A message whose send returned OK is handled
//      once, by its receiver, in its sender's order; or its loss was told: by a dead letter, a counted
//      drop, or the end of the session that had accepted it. A message whose send was refused is not handled.
//   2. Each ask is answered once, and each monitor fires once, unless it was ended or its target lives.
//   3. No actor ends except by what the test did to it, and none loses its name except to another actor
//      of the cluster, which keeps it.
//
// Actors report each step as they take it, and Check compares the reports at the end. Threads: one. Lifetime: a history
// must outlive the cluster.
#ifndef UNDERSTUDY_TESTS_SIM_CLUSTER_HISTORY_H_
#define UNDERSTUDY_TESTS_SIM_CLUSTER_HISTORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/dead_letter.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"

namespace understudy {

class ClusterHistory {
 public:
  // A life of an actor, by its index.
  using LifeId = int;
  struct Life {
    std::string node;
    NodeIncarnation incarnation;
    Pid pid;  // on its own node
    ActorAddress address;
    std::string name;  // of the cluster, or empty
    bool has_started = false;
    bool has_ended = false;
    bool may_end = false;  // the test ends it, or links it to one that may end
    bool has_lost_its_name = false;
    MonotonicTime ended = MonotonicTime::InfiniteFuture();
    std::string end;  // its reason, if OnExit ran
  };
  // The two mailboxes of an actor for tells: a full one refuses messages, or drops the oldest.
  enum class Box { kRefusing, kDropping };
  // Identifies a session by the two incarnations and their epoch.
  using Session = std::tuple<uint64_t, uint64_t, uint64_t>;  // of the smaller and larger incarnation, epoch
  static Session SessionOf(NodeIncarnation a, NodeIncarnation b, uint64_t epoch);

  // Outlives its use here.
  void SetClock(Clock* clock) { clock_ = clock; }

  // ---- What happens ----

  LifeId NewLife(absl::string_view node, NodeIncarnation incarnation, absl::string_view name);
  void SetPid(LifeId life, Pid pid);
  void OnStarted(LifeId life) { lives_[life].has_started = true; }
  void OnExit(LifeId life, const ExitReason& reason) {
    lives_[life].end = reason.ToString();
    OnTrapped(life, lives_[life].pid, reason);
  }
  // An exit that did not end it, by `from`.
  void OnTrapped(LifeId life, Pid from, const ExitReason& reason);
  void OnGone(LifeId life) { End(lives_[life]); }
  // Records that each actor that has not started by now failed to start.
  void EndTheUnstarted();
  // Records that the test ends this actor, or one that it is linked to, so that its end is no error.
  void SetMayEnd(LifeId life) { lives_[life].may_end = true; }

  // A number for a tell or an ask; never 0.
  int64_t OnSending(LifeId from, LifeId to, Box box);
  // The outcome of the send, and the epoch of the session that accepted it (0: none).
  void OnSent(int64_t number, const absl::Status& sent, uint64_t epoch);
  // The sender of that tell waited for room, perhaps for no time.
  void OnWaited(int64_t number, MonotonicTime since, const absl::Status& sent);
  void OnHandled(LifeId life, Box box, int64_t number);
  int64_t OnAsking(LifeId from, LifeId to);
  void OnAskHandled(LifeId life, int64_t number);
  // `answer` is the number in the answer.
  void OnAnswered(int64_t number, const absl::Status& status, int64_t answer);
  // Counts a handled message that no actor of the cluster sent.
  void OnForeignHandled() { ++foreign_handled_; }

  int OnMonitoring(LifeId watcher, LifeId target);
  void OnMonitorEnded(int monitor) { monitors_[monitor].was_ended = true; }
  void OnDown(int monitor, const ExitReason& reason);

  void OnDeadLetter(const DeadLetter& letter);
  // A node was told of the end of a session.
  void OnSessionEnded(NodeIncarnation told, NodeIncarnation peer, uint64_t epoch) {
    told_.insert({told.bits, peer.bits, epoch});
  }
  // The process of that incarnation is gone.
  void OnCrashed(NodeIncarnation incarnation);

  // ---- The end ----

  // Counts of the nodes, read after all traffic has ended.
  struct Counts {
    std::set<uint64_t> running;  // incarnations
    std::set<Session> live;
    // For two nodes, by their names: how many messages sessions between them may have lost, both directions together.
    std::map<std::pair<std::string, std::string>, int64_t> unconfirmed;
    // False if a node may have forgotten its count: a node that never dials a peer does not keep it.
    bool is_unconfirmed_known = true;
    std::map<uint64_t, int64_t> dropped;  // by policy, on that incarnation
    // Without TLS (loopback TCP) no peer proves its name. A hostile peer may have posed as a node that had no session,
    // so that pids of that node seemed to have ended; or even as that node's incarnation, and got its messages.
    bool may_be_taken_for_dead = false;
    bool may_be_robbed = false;
  };
  // Returns each violation as a line; an empty text if there is none.
  std::string Check(const Counts& counts);
  void Complain(absl::string_view what) { complaints_.push_back(std::string(what)); }

  // ---- Observers ----

  const std::vector<Life>& lives() const { return lives_; }
  // Returns the life whose pid is `pid`, or -1 if the history has none.
  LifeId Find(Pid pid) const;
  bool IsAlive(LifeId life) const { return !lives_[life].has_ended; }
  std::string Describe(LifeId life) const;
  struct Totals {
    int64_t sent = 0, handled = 0, dead_letters = 0, lost = 0, dropped = 0, asked = 0, answered = 0, fired = 0;
    int64_t foreign = 0;
    // Senders that waited for room of another node, and what became of that; none is refused because the session has no
    // room for its message.
    int64_t served = 0, expired = 0, disconnected = 0, session_full = 0;
  };
  Totals totals() const;

 private:
  struct Tell {
    LifeId from = 0;
    LifeId to = 0;
    Box box = Box::kRefusing;
    enum class State { kSending, kSent, kRefused } state = State::kSending;
    uint64_t epoch = 0;
    bool was_handled = false;
  };
  struct Ask {
    LifeId from = 0;
    LifeId to = 0;
    int handled = 0;
    int answered = 0;
  };
  struct Monitor {
    LifeId watcher = 0;
    LifeId target = 0;
    int fired = 0;
    bool was_ended = false;
    ExitReason reason;
  };
  using Route = std::tuple<LifeId, LifeId, Box>;  // from, to
  // Tells that were accepted and not handled.
  struct Missing {
    int64_t sure = 0;      // the session lives that accepted them, or there was none
    int64_t doubtful = 0;  // it has ended
  };

  bool Runs(LifeId life, const Counts& counts) const;
  void End(Life& life);
  bool HasRival(LifeId life) const;
  void CheckTells(const Counts& counts);
  bool IsSure(const Tell& tell, const Counts& counts);
  void CheckMissing(const std::map<Route, Missing>& missing, const Counts& counts);
  void CheckAsks(const Counts& counts);
  void CheckMonitors(const Counts& counts);
  void CheckEnds(const Counts& counts);

  Clock* clock_ = nullptr;
  std::vector<Life> lives_;
  std::map<std::tuple<uint64_t, uint32_t, uint64_t>, LifeId> by_address_;
  std::map<int64_t, Tell> tells_;
  std::map<int64_t, Ask> asks_;
  std::vector<Monitor> monitors_;
  std::map<Route, int64_t> last_handled_;
  std::map<Route, int64_t> letters_;
  std::set<std::tuple<uint64_t, uint64_t, uint64_t>> told_;  // incarnation told, peer, epoch
  int64_t last_number_ = 0;
  int64_t foreign_handled_ = 0;
  Totals waits_;
  int64_t lost_ = 0;
  std::vector<std::string> wrong_answers_;
  std::vector<std::string> complaints_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_SIM_CLUSTER_HISTORY_H_
