// ClusterHistory: records what the actors of a simulated cluster did and what they were told, and checks that this
// agrees with semantics 3, 7 and 8:
//
//   1. Each send has an outcome, even if it waits for room. A message whose send returned OK is either handled
//      once, by its receiver, in its sender's order, or its loss was reported: by a dead letter, a counted
//      drop, or the end of the session that had accepted it. A message whose send was refused is not handled.
//   2. Each ask is answered once. Each monitor fires once, unless it was ended or its target is alive.
//   3. An actor ends only if the test ended it or allowed it to end. An actor loses its name only to another
//      actor of the cluster, which keeps the name.
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
  // The index of a life: one run of an actor, from its spawn to its end.
  using LifeId = int;
  struct Life {
    std::string node;
    NodeIncarnation incarnation;
    Pid pid;  // as its own node addresses it
    ActorAddress address;
    std::string name;  // a name published in the cluster, or empty
    bool has_started = false;
    bool has_ended = false;
    bool may_end = false;  // the test ends it, or links it to an actor that may end
    bool has_lost_its_name = false;
    MonotonicTime ended = MonotonicTime::InfiniteFuture();
    std::string end;  // its exit reason, if OnExit ran
  };
  // The two mailboxes of an actor for tells. When full, the first refuses messages and the second drops its oldest.
  enum class Box { kRefusing, kDropping };
  // Identifies a session by its epoch and the incarnations of its two nodes.
  using Session = std::tuple<uint64_t, uint64_t, uint64_t>;  // smaller incarnation, larger incarnation, epoch
  static Session SessionOf(NodeIncarnation a, NodeIncarnation b, uint64_t epoch);

  // Sets the clock that gives the times of events. The clock must outlive the last recorded event.
  void SetClock(Clock* clock) { clock_ = clock; }

  // ---- What happens ----

  LifeId NewLife(absl::string_view node, NodeIncarnation incarnation, absl::string_view name);
  void SetPid(LifeId life, Pid pid);
  void OnStarted(LifeId life) { lives_[life].has_started = true; }
  void OnExit(LifeId life, const ExitReason& reason) {
    lives_[life].end = reason.ToString();
    OnTrapped(life, lives_[life].pid, reason);
  }
  // Records that `life` was sent an exit signal by `from` and trapped it, or ended with it.
  void OnTrapped(LifeId life, Pid from, const ExitReason& reason);
  void OnGone(LifeId life) { End(lives_[life]); }
  // Records that each actor that has not started by now failed to start.
  void EndTheUnstarted();
  // Records that the test ends this actor, or one that it is linked to, so that its end is no error.
  void SetMayEnd(LifeId life) { lives_[life].may_end = true; }

  // Records the start of a tell or an ask and returns its number, which is never 0.
  int64_t OnSending(LifeId from, LifeId to, Box box);
  // Records the outcome of the send, and the epoch of the session that accepted the message (0: no session did).
  void OnSent(int64_t number, const absl::Status& sent, uint64_t epoch);
  // Records that the send of tell `number`, which waits for room, ended with `sent`. It began at `since`.
  void OnWaited(int64_t number, MonotonicTime since, const absl::Status& sent);
  void OnHandled(LifeId life, Box box, int64_t number);
  int64_t OnAsking(LifeId from, LifeId to);
  void OnAskHandled(LifeId life, int64_t number);
  // Records the outcome of an ask. `answer` is the number in the reply.
  void OnAnswered(int64_t number, const absl::Status& status, int64_t answer);
  // Counts a handled message that no actor of the cluster sent.
  void OnForeignHandled() { ++foreign_handled_; }

  int OnMonitoring(LifeId watcher, LifeId target);
  void OnMonitorEnded(int monitor) { monitors_[monitor].was_ended = true; }
  void OnDown(int monitor, const ExitReason& reason);

  void OnDeadLetter(const DeadLetter& letter);
  // Records that the node of incarnation `told` was told of the end of its session with `peer`.
  void OnSessionEnded(NodeIncarnation told, NodeIncarnation peer, uint64_t epoch) {
    told_.insert({told.bits, peer.bits, epoch});
  }
  // Records that the process of that incarnation has crashed, so that all its actors have ended.
  void OnCrashed(NodeIncarnation incarnation);

  // ---- The end ----

  // Counters that are read from the nodes after all traffic has ended.
  struct Counts {
    std::set<uint64_t> running;  // incarnations
    std::set<Session> live;
    // How many messages the sessions between two nodes may have lost, in both directions together. The key is the pair
    // of node names, the smaller name first.
    std::map<std::pair<std::string, std::string>, int64_t> unconfirmed;
    // False if a node may have forgotten its count, because a node that never dials a peer does not keep the count.
    bool is_unconfirmed_known = true;
    std::map<uint64_t, int64_t> dropped;  // dropped by mailbox policy, by incarnation
    // Without TLS (loopback TCP) a peer does not prove its name. A hostile peer may have posed as a node that had no
    // session, so that pids of that node seemed to have ended (may_be_taken_for_dead). It may even have posed as that
    // node's incarnation and received its messages (may_be_robbed).
    bool may_be_taken_for_dead = false;
    bool may_be_robbed = false;
  };
  // Returns one line for each violation, or an empty text if there is none.
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
    // Outcomes of senders that waited for room on another node: the message was accepted, the wait expired, the
    // connection was lost, or the send was refused because the session had no capacity for the message. The last must
    // not happen.
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
  using Route = std::tuple<LifeId, LifeId, Box>;  // sender, receiver, mailbox
  // Counts of tells that were accepted and not handled.
  struct Missing {
    int64_t sure = 0;      // accepted by a live session, or sent within one node
    int64_t doubtful = 0;  // accepted by a session that has ended
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
  std::set<std::tuple<uint64_t, uint64_t, uint64_t>> told_;  // the incarnation that was told, its peer, epoch
  int64_t last_number_ = 0;
  int64_t foreign_handled_ = 0;
  Totals waits_;
  int64_t lost_ = 0;
  std::vector<std::string> wrong_answers_;
  std::vector<std::string> complaints_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_SIM_CLUSTER_HISTORY_H_
