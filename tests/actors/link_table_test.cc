#include "understudy/actors/link_table.h"

#include <array>
#include <deque>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/pid.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const Pid kPeer(1, 1, 1);
const Pid kOther(1, 2, 2);

TEST(LinkTableTest, ALinkIsAtMostOnePerPair) {
  // semantics 5.5
  LinkTable table;
  EXPECT_TRUE(table.Link(kPeer));
  EXPECT_FALSE(table.Link(kPeer));
  EXPECT_THAT(table.Links(), ElementsAre(kPeer));
  EXPECT_NE(table.Unlink(kPeer), 0U);
  EXPECT_FALSE(table.IsLinked(kPeer));
  EXPECT_EQ(table.Unlink(kPeer), 0U);
}

TEST(LinkTableTest, UntilAnUnlinkIsAcknowledgedAnExitAlongTheOldLinkIsIgnored) {
  LinkTable table;
  table.OnLink(kPeer);
  (void)table.Unlink(kPeer);
  EXPECT_FALSE(table.OnLinkExit(kPeer));
  table.OnLink(kOther);
  EXPECT_TRUE(table.OnLinkExit(kOther));
  EXPECT_FALSE(table.OnLinkExit(kOther)) << "a link breaks once";
}

TEST(LinkTableTest, AnOldAcknowledgementDoesNotEndANewerUnlink) {
  LinkTable table;
  (void)table.Link(kPeer);
  const uint64_t first = table.Unlink(kPeer);
  EXPECT_TRUE(table.Link(kPeer));
  const uint64_t second = table.Unlink(kPeer);
  table.OnUnlinkAck(kPeer, first);
  EXPECT_EQ(table.link_count(), 1U);
  table.OnUnlinkAck(kPeer, second);
  EXPECT_EQ(table.link_count(), 0U);
}

TEST(LinkTableTest, AMonitorFiresOnceOrIsRemoved) {
  // semantics 5.6
  LinkTable table;
  const uint64_t first = table.Monitor(kPeer);
  const uint64_t second = table.Monitor(kPeer);
  EXPECT_NE(first, second);
  EXPECT_TRUE(table.OnDown(first));
  EXPECT_FALSE(table.OnDown(first));
  EXPECT_TRUE(table.Demonitor(first).is_null());
  EXPECT_EQ(table.Demonitor(second), kPeer);
  EXPECT_FALSE(table.OnDown(second));
  EXPECT_THAT(table.monitored(), IsEmpty());
}

TEST(LinkTableTest, EachMonitorOfAWatcherGetsItsOwnDown) {
  LinkTable table;
  table.OnMonitor(kPeer, 1);
  table.OnMonitor(kPeer, 2);
  table.OnMonitor(kOther, 1);
  table.OnDemonitor(kPeer, 2);
  table.OnDemonitor(kPeer, 7);
  EXPECT_THAT(table.watchers(), ElementsAre(std::pair(kPeer, uint64_t{1}), std::pair(kOther, uint64_t{1})));
}

// Two actors, each with its table, joined by two queues that keep the order of
// sending: every interleaving of what they do and of what arrives is walked.
class Pair {
 public:
  enum class Kind { kLink, kUnlink, kUnlinkAck, kExit };
  struct Sent {
    Kind kind;
    uint64_t id = 0;
  };
  struct Side {
    LinkTable table;
    std::deque<Sent> inbox;
    bool is_dead = false;
    uint64_t last_unlink = 0;
    int exits = 0;       // that counted
    int late_exits = 0;  // that counted though this side was not linked
  };

  static Pid PidOf(size_t side) { return Pid(1, static_cast<uint32_t>(side), side + 1); }

  void Link(size_t me) {
    if (sides_[me].table.Link(PidOf(1 - me))) Send(1 - me, {Kind::kLink});
  }
  void Unlink(size_t me) {
    const uint64_t id = sides_[me].table.Unlink(PidOf(1 - me));
    if (id == 0) return;
    sides_[me].last_unlink = id;
    Send(1 - me, {Kind::kUnlink, id});
  }
  void Die(size_t me) {
    Side& side = sides_[me];
    side.is_dead = true;
    for (const Pid peer : side.table.Links()) Send(peer == PidOf(1 - me) ? 1 - me : me, {Kind::kExit});
  }
  bool CanDeliver(size_t me) const { return !sides_[me].inbox.empty(); }
  void Deliver(size_t me) {
    Side& side = sides_[me];
    const Sent sent = side.inbox.front();
    side.inbox.pop_front();
    const Pid peer = PidOf(1 - me);
    if (side.is_dead) {
      // As SystemCore answers for the dead.
      if (sent.kind == Kind::kLink) Send(1 - me, {Kind::kExit});
      if (sent.kind == Kind::kUnlink) Send(1 - me, {Kind::kUnlinkAck, sent.id});
      return;
    }
    switch (sent.kind) {
      case Kind::kLink:
        side.table.OnLink(peer);
        break;
      case Kind::kUnlink:
        side.table.OnUnlink(peer);
        Send(1 - me, {Kind::kUnlinkAck, sent.id});
        break;
      case Kind::kUnlinkAck:
        side.table.OnUnlinkAck(peer, sent.id);
        break;
      case Kind::kExit: {
        const bool was_linked = side.table.IsLinked(peer);
        if (side.table.OnLinkExit(peer)) {
          ++side.exits;
          if (!was_linked) ++side.late_exits;
        }
        break;
      }
    }
  }
  const Side& side(size_t i) const { return sides_[i]; }
  // Equal for pairs that go on alike.
  std::string State() const {
    std::string state;
    for (size_t me = 0; me < 2; ++me) {
      const Side& mine = sides_[me];
      absl::StrAppend(&state, mine.is_dead, mine.exits, mine.late_exits, mine.table.IsLinked(PidOf(1 - me)),
                      mine.table.link_count(), "#", mine.last_unlink, "[");
      for (const Sent& sent : mine.inbox) absl::StrAppend(&state, static_cast<int>(sent.kind), ":", sent.id, " ");
      absl::StrAppend(&state, "]");
    }
    return state;
  }

 private:
  void Send(size_t to, Sent sent) { sides_[to].inbox.push_back(sent); }

  std::array<Side, 2> sides_;
};

// What one side does, a letter each: l(ink), u(nlink), d(ie).
void Do(Pair& pair, size_t me, char what) {
  if (what == 'l') pair.Link(me);
  if (what == 'u') pair.Unlink(me);
  if (what == 'd') pair.Die(me);
}

struct Walk {
  std::array<std::string, 2> scripts;
  int ends = 0;
  std::set<std::string> seen;

  void CheckEnd(const Pair& pair) {
    ++ends;
    const std::string what = absl::StrCat(scripts[0], " and ", scripts[1]);
    for (size_t me = 0; me < 2; ++me) {
      const Pair::Side& mine = pair.side(me);
      const Pair::Side& peer = pair.side(1 - me);
      ASSERT_EQ(mine.late_exits, 0) << what;
      if (mine.is_dead) continue;
      if (peer.is_dead) {
        // Nothing of it is left, and who wished a link last was told (unless the peer unlinked).
        ASSERT_EQ(mine.table.link_count(), 0U) << what;
        const bool wished = !scripts[me].empty() && scripts[me].back() == 'l';
        const bool peer_unlinked = scripts[1 - me].find('u') != std::string::npos;
        ASSERT_TRUE(!wished || peer_unlinked || mine.exits > 0) << what;
      } else {
        // Symmetric, and no unlink under way for ever.
        ASSERT_EQ(mine.table.IsLinked(Pair::PidOf(1 - me)), peer.table.IsLinked(Pair::PidOf(me))) << what;
        ASSERT_EQ(mine.table.link_count(), mine.table.Links().size()) << what;
      }
    }
  }

  void Go(const Pair& pair, std::array<size_t, 2> done) {
    if (!seen.insert(absl::StrCat(done[0], " ", done[1], " ", pair.State())).second) return;
    bool moved = false;
    for (size_t me = 0; me < 2; ++me) {
      if (done[me] < scripts[me].size()) {
        Pair next = pair;
        Do(next, me, scripts[me][done[me]]);
        std::array<size_t, 2> after = done;
        ++after[me];
        Go(next, after);
        moved = true;
      }
      if (pair.CanDeliver(me)) {
        Pair next = pair;
        next.Deliver(me);
        Go(next, done);
        moved = true;
      }
      if (testing::Test::HasFatalFailure()) return;
    }
    if (!moved) CheckEnd(pair);
  }
};

TEST(LinkTablePropertyTest, EveryInterleavingOfTwoActorsEndsSymmetricAndTold) {
  const std::vector<std::string> lives = {"",  "l",   "lu",  "ld",   "lul",  "lud",
                                          "d", "ull", "uld", "lulu", "luld", "lulud"};
  int ends = 0;
  for (const std::string& one : lives) {
    for (const std::string& other : lives) {
      if (one.size() + other.size() > 8) continue;
      Walk walk{.scripts = {one, other}};
      walk.Go(Pair(), {0, 0});
      ends += walk.ends;
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(ends, 500);
}

TEST(LinkTablePropertyTest, WhoUnlinkedLastIsNotLinked) {
  // One side only: what it did last is what holds.
  for (const std::string script : {"lu", "lul", "lulu", "lulul"}) {
    Walk walk{.scripts = {script, ""}};
    walk.Go(Pair(), {0, 0});
    Pair pair;
    for (const char what : script) Do(pair, 0, what);
    while (pair.CanDeliver(0) || pair.CanDeliver(1)) pair.Deliver(pair.CanDeliver(1) ? 1 : 0);
    EXPECT_EQ(pair.side(0).table.IsLinked(Pair::PidOf(1)), script.back() == 'l');
    EXPECT_EQ(pair.side(1).table.IsLinked(Pair::PidOf(0)), script.back() == 'l');
  }
}

}  // namespace
}  // namespace understudy
