// Links and monitors (actors/internal/turn/link_table.h; semantics 5.5, 5.6): two and three actors link, unlink,
// monitor and die while signals are under way. Every interleaving of these steps with the arrivals of signals is
// explored.
//
// LinkTable is a plain state machine, so the test explores without Explore: it copies the actors' state at each fork
// and skips states that it has seen. Signals between two actors stay in order; signals between different pairs may
// overtake each other.
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iostream>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "understudy/actors/internal/turn/link_table.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace {

constexpr size_t kActorsMax = 3;

Pid PidOf(size_t actor) { return Pid(1, static_cast<uint32_t>(actor), actor + 1); }

// The bug: any acknowledgement counts for the last unlink, even if its id is another one.
class WithoutIds : public LinkTable {
 public:
  uint64_t Unlink(Pid peer) {
    const uint64_t id = LinkTable::Unlink(peer);
    if (id != 0) last_[peer] = id;
    return id;
  }
  void OnUnlinkAck(Pid peer, uint64_t) { LinkTable::OnUnlinkAck(peer, last_[peer]); }

 private:
  std::map<Pid, uint64_t> last_;
};

// The bug: Unlink forgets the link at once and awaits no acknowledgement.
class WithoutAcknowledgement : public LinkTable {
 public:
  uint64_t Unlink(Pid peer) {
    const uint64_t id = LinkTable::Unlink(peer);
    LinkTable::OnUnlinkAck(peer, id);
    return id;
  }
  void OnUnlinkAck(Pid, uint64_t) {}
};

// The bug: an exit counts although this side has unlinked.
class WithLateExits : public LinkTable {
 public:
  bool OnLinkExit(Pid peer) {
    const size_t before = link_count();
    (void)LinkTable::OnLinkExit(peer);
    return link_count() < before;
  }
};

// One operation of an actor, on a peer unless the actor dies.
struct Act {
  enum class Kind { kLink, kUnlink, kMonitor, kDemonitor, kDie };
  Kind kind;
  size_t peer = 0;
};

template <class Table>
class Actors {
 public:
  explicit Actors(size_t count) : count_(count) {}

  void Do(size_t me, const Act& act) {
    Actor& actor = actors_[me];
    switch (act.kind) {
      case Act::Kind::kLink:
        if (actor.table.Link(PidOf(act.peer))) {
          ++actor.peers[act.peer].begun;
          Send(me, act.peer, {Signal::Kind::kLink});
        }
        break;
      case Act::Kind::kUnlink:
        if (const uint64_t id = actor.table.Unlink(PidOf(act.peer)); id != 0) {
          ++actor.peers[act.peer].unlinked;
          actor.peers[act.peer].last_unlink = id;
          Send(me, act.peer, {Signal::Kind::kUnlink, id});
        }
        break;
      case Act::Kind::kMonitor: {
        const uint64_t id = actor.table.NewId();
        actor.table.Monitor(id, PidOf(act.peer));
        actor.monitor = id;
        ++actor.monitors;
        Send(me, act.peer, {Signal::Kind::kMonitor, id});
        break;
      }
      case Act::Kind::kDemonitor:
        if (!actor.table.Demonitor(actor.monitor).is_null()) {
          ++actor.demonitors;
          Send(me, act.peer, {Signal::Kind::kDemonitor, actor.monitor});
        }
        break;
      case Act::Kind::kDie:
        actor.is_dead = true;
        for (size_t peer = 0; peer < count_; ++peer) {
          if (actor.table.IsLinked(PidOf(peer))) Send(me, peer, {Signal::Kind::kExit});
        }
        for (const auto& [watcher, id] : actor.table.watchers()) {
          Send(me, static_cast<size_t>(watcher.serial()) - 1, {Signal::Kind::kDown, id});
        }
        break;
    }
  }

  bool CanDeliver(size_t from, size_t to) const { return !queues_[from][to].empty(); }
  void Deliver(size_t from, size_t me) {
    const Signal signal = queues_[from][me].front();
    queues_[from][me].pop_front();
    Actor& actor = actors_[me];
    Peer& peer = actor.peers[from];
    const Pid pid = PidOf(from);
    if (actor.is_dead) {
      AnswerForTheDead(me, from, signal);
      return;
    }
    const bool was_linked = actor.table.IsLinked(pid);
    switch (signal.kind) {
      case Signal::Kind::kLink:
        actor.table.OnLink(pid);
        if (!was_linked && actor.table.IsLinked(pid)) ++peer.begun;
        break;
      case Signal::Kind::kUnlink:
        actor.table.OnUnlink(pid);
        if (was_linked) ++peer.unlinked;
        Send(me, from, {Signal::Kind::kUnlinkAck, signal.id});
        break;
      case Signal::Kind::kUnlinkAck:
        actor.table.OnUnlinkAck(pid, signal.id);
        break;
      case Signal::Kind::kExit:
        if (actor.table.OnLinkExit(pid)) {
          ++peer.exits;
          if (!was_linked) ++peer.late_exits;
        }
        break;
      case Signal::Kind::kMonitor:
        actor.table.OnMonitor(pid, signal.id);
        break;
      case Signal::Kind::kDemonitor:
        actor.table.OnDemonitor(pid, signal.id);
        break;
      case Signal::Kind::kDown:
        if (actor.table.OnDown(signal.id)) ++actor.downs;
        break;
    }
  }

  // Requires that no signal is under way. Returns the fault, or an empty text.
  std::string Fault() const {
    for (size_t me = 0; me < count_; ++me) {
      const Actor& actor = actors_[me];
      for (size_t other = 0; other < count_; ++other) {
        if (other == me) continue;
        const Peer& peer = actor.peers[other];
        if (peer.late_exits != 0) return "an exit arrived after the unlink";
        if (actor.is_dead) continue;
        const bool is_linked = actor.table.IsLinked(PidOf(other));
        if (peer.begun != peer.unlinked + peer.exits + (is_linked ? 1 : 0)) {
          return "a link ended otherwise than by one unlink or one exit";
        }
        if (is_linked && actors_[other].is_dead) return "linked to the dead, and not told";
        if (!actors_[other].is_dead && is_linked != actors_[other].table.IsLinked(PidOf(me))) {
          return "only one side is linked";
        }
      }
      if (actor.is_dead) continue;
      if (actor.table.link_count() != actor.table.Links().size()) return "an unlink is under way for ever";
      if (std::string fault = MonitorFault(actor, PidOf(me)); !fault.empty()) return fault;
    }
    return "";
  }

  // Returns a text that is equal for two states from which the same can follow.
  std::string State() const {
    std::string state;
    for (size_t me = 0; me < count_; ++me) {
      const Actor& actor = actors_[me];
      absl::StrAppend(&state, actor.is_dead ? "dead " : "", actor.monitor, ",", actor.monitors, ",", actor.demonitors,
                      ",", actor.downs, ";");
      for (const auto& [id, target] : actor.table.monitored()) absl::StrAppend(&state, id, "@", target.serial(), " ");
      for (const auto& [watcher, id] : actor.table.watchers()) absl::StrAppend(&state, watcher.serial(), "#", id, " ");
      for (size_t other = 0; other < count_; ++other) {
        const Peer& peer = actor.peers[other];
        Table probe = actor.table;
        probe.OnLink(PidOf(other));
        const bool is_unlinking = !probe.IsLinked(PidOf(other));
        absl::StrAppend(&state, "[",
                        is_unlinking                         ? "u"
                        : actor.table.IsLinked(PidOf(other)) ? "l"
                                                             : "-",
                        peer.last_unlink, ",", peer.begun, ",", peer.unlinked, ",", peer.exits, ",", peer.late_exits,
                        ":");
        for (const Signal& signal : queues_[other][me]) {
          absl::StrAppend(&state, static_cast<int>(signal.kind), ".", signal.id, " ");
        }
        absl::StrAppend(&state, "]");
      }
    }
    return state;
  }

 private:
  struct Signal {
    enum class Kind { kLink, kUnlink, kUnlinkAck, kExit, kMonitor, kDemonitor, kDown };
    Kind kind;
    uint64_t id = 0;
  };
  // The history of the links to one peer, as this side sees it.
  struct Peer {
    uint64_t last_unlink = 0;
    int begun = 0;
    int unlinked = 0;    // by either side
    int exits = 0;       // exits that counted
    int late_exits = 0;  // exits that counted although this side was not linked
  };
  struct Actor {
    Table table;
    bool is_dead = false;
    std::array<Peer, kActorsMax> peers;
    uint64_t monitor = 0;  // the id of the last monitor
    int monitors = 0, demonitors = 0, downs = 0;
  };

  void Send(size_t from, size_t to, Signal signal) { queues_[from][to].push_back(signal); }

  // Answers a signal to a dead actor, as SystemCore does.
  void AnswerForTheDead(size_t me, size_t from, const Signal& signal) {
    if (signal.kind == Signal::Kind::kLink) Send(me, from, {Signal::Kind::kExit});
    if (signal.kind == Signal::Kind::kUnlink) Send(me, from, {Signal::Kind::kUnlinkAck, signal.id});
    if (signal.kind == Signal::Kind::kMonitor) Send(me, from, {Signal::Kind::kDown, signal.id});
  }

  std::string MonitorFault(const Actor& actor, Pid pid) const {
    if (actor.monitors != actor.demonitors + actor.downs + static_cast<int>(actor.table.monitor_count())) {
      return "a monitor ended otherwise than by one down or by being removed";
    }
    for (const auto& [id, target] : actor.table.monitored()) {
      const Actor& watched = actors_[static_cast<size_t>(target.serial()) - 1];
      if (watched.is_dead) return "the watched is dead, and nobody was told";
      if (watched.table.watchers().count({pid, id}) == 0) return "the watched does not know its watcher";
    }
    for (size_t other = 0; other < count_; ++other) {
      for (const auto& [watcher, id] : actors_[other].table.watchers()) {
        if (!actors_[other].is_dead && watcher == pid && actor.table.monitored().count(id) == 0) {
          return "a removed monitor is still there";
        }
      }
    }
    return "";
  }

  size_t count_;
  std::array<Actor, kActorsMax> actors_;
  std::array<std::array<std::deque<Signal>, kActorsMax>, kActorsMax> queues_;
};

using Scripts = std::vector<std::vector<Act>>;

template <class Table>
class Walk {
 public:
  explicit Walk(Scripts scripts) : scripts_(std::move(scripts)) {}

  // Walks through all interleavings. Returns the first fault and the steps that led to it, or an empty text.
  std::string Go() {
    Step(Actors<Table>(scripts_.size()), {});
    return fault_;
  }
  size_t states() const { return seen_.size(); }
  size_t ends() const { return ends_; }

 private:
  using Done = std::array<size_t, kActorsMax>;

  void Step(const Actors<Table>& actors, const Done& done) {
    if (!fault_.empty() || !seen_.insert(absl::StrCat(done[0], done[1], done[2], actors.State())).second) return;
    bool has_moved = false;
    for (size_t me = 0; me < scripts_.size(); ++me) {
      if (done[me] < scripts_[me].size()) {
        Done after = done;
        ++after[me];
        has_moved = true;
        Fork(actors, after, absl::StrCat(me, " acts; "),
             [&](Actors<Table>& next) { next.Do(me, scripts_[me][done[me]]); });
      }
      for (size_t from = 0; from < scripts_.size(); ++from) {
        if (!actors.CanDeliver(from, me)) continue;
        has_moved = true;
        Fork(actors, done, absl::StrCat(from, " to ", me, "; "), [&](Actors<Table>& next) { next.Deliver(from, me); });
      }
    }
    if (has_moved) return;
    ++ends_;
    if (const std::string fault = actors.Fault(); !fault.empty() && fault_.empty()) {
      fault_ = absl::StrCat(fault, ", after: ", path_);
    }
  }

  template <class F>
  void Fork(const Actors<Table>& actors, const Done& done, const std::string& what, F&& move) {
    Actors<Table> next = actors;
    move(next);
    const size_t length = path_.size();
    path_ += what;
    Step(next, done);
    path_.resize(length);
  }

  const Scripts scripts_;
  std::unordered_set<std::string> seen_;
  std::string path_;
  std::string fault_;
  size_t ends_ = 0;
};

// Each letter is an operation. The letters l(ink), u(nlink), m(onitor) and x (demonitor) apply to the next actor; L, U,
// M and X apply to the one after it; d is d(ie).
std::vector<Act> Script(size_t me, const std::string& letters, size_t count) {
  std::vector<Act> script;
  for (const char letter : letters) {
    const bool is_next = letter >= 'a';
    const size_t peer = (me + (is_next ? 1 : 2)) % count;
    switch (is_next ? letter : static_cast<char>(letter - 'A' + 'a')) {
      case 'l':
        script.push_back({Act::Kind::kLink, peer});
        break;
      case 'u':
        script.push_back({Act::Kind::kUnlink, peer});
        break;
      case 'm':
        script.push_back({Act::Kind::kMonitor, peer});
        break;
      case 'x':
        script.push_back({Act::Kind::kDemonitor, peer});
        break;
      default:
        script.push_back({Act::Kind::kDie});
    }
  }
  return script;
}

struct Total {
  size_t states = 0, ends = 0;
  std::string fault;
};

template <class Table>
void Add(Total& total, const std::vector<std::string>& letters) {
  if (!total.fault.empty()) return;
  Scripts scripts;
  for (size_t i = 0; i < letters.size(); ++i) scripts.push_back(Script(i, letters[i], letters.size()));
  Walk<Table> walk(std::move(scripts));
  const std::string fault = walk.Go();
  total.states += walk.states();
  total.ends += walk.ends();
  if (fault.empty()) return;
  total.fault = fault;
  for (const std::string& each : letters) absl::StrAppend(&total.fault, " \"", each, "\"");
}

template <class Table>
Total WalkPairs() {
  Total total;
  const std::vector<std::string> lives = {"",  "l",   "lu",  "ld",   "lul",  "lud",
                                          "d", "ull", "uld", "lulu", "luld", "lulud"};
  for (const std::string& one : lives) {
    for (const std::string& other : lives) {
      if (one.size() + other.size() <= 8) Add<Table>(total, {one, other});
    }
  }
  return total;
}

TEST(LinkModelTest, TwoActorsEndSymmetricAndToldOnce) {
  const Total total = WalkPairs<LinkTable>();
  EXPECT_EQ(total.fault, "");
  EXPECT_GT(total.states, 50000U);
  EXPECT_GT(total.ends, 1900U);
  std::cout << total.states << " states, " << total.ends << " ends\n";
}

TEST(LinkModelTest, ThreeActorsEndSymmetricAndToldOnce) {
  // Each actor does at least three operations.
  Total total;
  for (const std::string one : {"lLd", "luL", "lud"}) {
    for (const std::string other : {"luL", "Lld"}) {
      for (const std::string third : {"lLU", "LUd"}) Add<LinkTable>(total, {one, other, third});
    }
  }
  EXPECT_EQ(total.fault, "");
  EXPECT_GT(total.states, 100000U);
  std::cout << total.states << " states, " << total.ends << " ends\n";
}

TEST(LinkModelTest, AMonitorFiresOnceOrIsRemoved) {
  Total total;
  for (const std::string one : {"m", "mx", "mm", "mxm", "mmx", "mxmx", "md", "mld", "lmu"}) {
    for (const std::string other : {"", "d", "md", "ld", "mxd", "lud"}) Add<LinkTable>(total, {one, other});
  }
  Add<LinkTable>(total, {"mMx", "mMX", "mMd"});
  Add<LinkTable>(total, {"mMd", "mxd", "MXm"});
  EXPECT_EQ(total.fault, "");
  EXPECT_GT(total.states, 13000U);
  std::cout << total.states << " states, " << total.ends << " ends\n";
}

TEST(LinkModelTest, AnUnlinkWithoutIdsIsFound) { EXPECT_NE(WalkPairs<WithoutIds>().fault, ""); }

TEST(LinkModelTest, AnUnlinkThatIsNotAcknowledgedIsFound) { EXPECT_NE(WalkPairs<WithoutAcknowledgement>().fault, ""); }

TEST(LinkModelTest, AnExitThatCountsAfterTheUnlinkIsFound) {
  EXPECT_NE(WalkPairs<WithLateExits>().fault.find("after the unlink"), std::string::npos);
}

}  // namespace
}  // namespace understudy
