// Rows of several works about nodes: links, monitors, names and messages between actors of different nodes, in a
// cluster that is simulated on one thread.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/named.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/proto/ref.pb.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/ref_proto.h"
#include "understudy/transport/testing/simulated_cluster.h"
#include "understudy/transport/testing/simulated_network.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class NodesTest : public ClusterTest {
 protected:
  // Returns the pid of `puppet`, an actor of node `home`, as `node` addresses it. `node` may be `home`.
  Pid PidOn(absl::string_view node, const Puppeteer& puppet, absl::string_view home) {
    return node == home ? puppet.ref.pid() : Seen(node, puppet, home);
  }
  bool IsNamed(absl::string_view node, absl::string_view name) {
    return cluster().system(node).WhereIs(name).has_value();
  }
};

// ---- Links and monitors ----

// EBA 27, 28
TEST_F(NodesTest, AnAbnormalEndTakesARingOverThreeNodesWithItAndANormalOneNobody) {
  constexpr size_t kActors = 10;
  const std::vector<std::string> homes = {"a", "b", "c"};
  const auto home = [&homes](size_t i) -> const std::string& { return homes[i % homes.size()]; };
  for (const bool is_normal : {true, false}) {
    Join({.nodes = homes});
    std::vector<Puppeteer> ring;
    for (size_t i = 0; i < kActors; ++i) ring.push_back(Make(home(i)));
    for (size_t i = 0; i < kActors; ++i) {
      const size_t next = (i + 1) % kActors;
      Do(ring[i], [pid = PidOn(home(i), ring[next], home(next))](Puppet& p) { p.context().Link(pid); });
    }
    const Puppeteer trapping = Make("b");
    const Puppeteer behind = Make("c");
    Do(trapping, [pid = PidOn("b", ring[0], home(0)), last = PidOn("b", behind, "c")](Puppet& p) {
      p.Trap();
      p.context().Link(pid);
      p.context().Link(last);
    });
    Do(ring[4], [is_normal](Puppet& p) {
      if (is_normal) {
        p.context().Stop(ExitReason::Normal());
      } else {
        p.Fail(absl::DataLossError("gone"));
      }
    });
    Run(absl::Seconds(1));
    for (size_t i = 0; i < kActors; ++i) {
      if (is_normal) {
        EXPECT_THAT(*ring[i].diary, SizeIs(i == 4 ? 1 : 0)) << i;
      } else {
        EXPECT_THAT(*ring[i].diary, ElementsAre("exit Failed(DATA_LOSS: gone)")) << i;
      }
    }
    if (is_normal) {
      EXPECT_THAT(*trapping.diary, IsEmpty());
      continue;
    }
    EXPECT_THAT(*trapping.diary, ElementsAre("trapped Failed"));
    EXPECT_THAT(*behind.diary, IsEmpty());
    Do(trapping, [](Puppet& p) { p.Fail(absl::AbortedError("by itself")); });
    EXPECT_THAT(*trapping.diary, ElementsAre("trapped Failed", "exit Failed(ABORTED: by itself)"));
    EXPECT_THAT(*behind.diary, ElementsAre("exit Failed(ABORTED: by itself)"));
  }
}

// OTP MON-17
// Monitors are made and ended in any order. When an actor ends, each other actor gets one Down for each of its
// monitors.
TEST_F(NodesTest, AnyProgramOfMonitorsOfFourNodesEndsInAgreement) {
  const std::vector<std::string> homes = {"a", "b", "c", "d", "a"};
  int downs = 0;
  ForEachSeed(100, [&](uint64_t seed) {
    Join({.seed = seed, .nodes = {"a", "b", "c", "d"}});
    Random random(seed);
    std::vector<Puppeteer> actors;
    for (const std::string& home : homes) actors.push_back(Make(home));
    std::vector<std::vector<int>> standing(homes.size(), std::vector<int>(homes.size()));
    for (int step = 0; step < 40; ++step) {
      const size_t watcher = random.Below(homes.size());
      const size_t target = random.Below(homes.size());
      Puppet::Script script = [](Puppet& p) { p.monitors_.clear(); };
      if (random.Below(4) == 0 || watcher == target) {
        standing[watcher].assign(homes.size(), 0);
      } else {
        script = [pid = PidOn(homes[watcher], actors[target], homes[target])](Puppet& p) { p.Watch(pid); };
        ++standing[watcher][target];
      }
      ASSERT_TRUE(actors[watcher].ref[&Puppet::run].Send(std::move(script)).ok());
      Run(absl::Microseconds(random.Below(2000)));
    }
    Run();
    const size_t ended = random.Below(homes.size());
    Do(actors[ended], [](Puppet& p) { p.Fail(absl::DataLossError("gone")); });
    for (size_t watcher = 0; watcher < homes.size(); ++watcher) {
      if (watcher == ended) continue;
      EXPECT_THAT(*actors[watcher].diary, SizeIs(static_cast<size_t>(standing[watcher][ended]))) << watcher;
      EXPECT_THAT(*actors[watcher].diary, Each("down Failed"));
      downs += standing[watcher][ended];
    }
  });
  if (!SeedFromEnvironment()) {
    EXPECT_GT(downs, 50);
  }
}

// OTP LNK-07, XD-01, XD-02
// The order is guaranteed because one actor sends all these messages and signals. An exit that has arrived acts before
// messages of the same frame that have not been handled yet, so the receiver traps exits and does not end.
TEST_F(NodesTest, LinkUnlinkAndExitPassACongestedConnectionInOrder) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Pid seen = Seen("a", b, "b");
  Do(b, [](Puppet& p) { p.Trap(); });
  constexpr size_t kBefore = 300;
  net_testing::Note note = NoteOf(1);
  note.set_text(std::string(10'000, 'x'));
  // The credit grows with use.
  for (size_t i = 0; i < kBefore; ++i) ASSERT_TRUE(SendSoon(Ref<Puppet>(seen)[&Puppet::note], note).ok());
  Run(absl::Seconds(1));
  cluster().network().SetDelay("a", "b", absl::Milliseconds(500));
  size_t accepted = kBefore;
  Do(a, [seen, note, &accepted](Puppet& p) {
    for (; accepted < kBefore + 100 && Ref<Puppet>(seen)[&Puppet::note].Send(note).ok(); ++accepted) {
    }
    p.context().Link(seen);
    p.context().Unlink(seen);
    p.context().Link(seen);
    p.Fail(absl::DataLossError("gone"));
  });
  ASSERT_GT(accepted, kBefore + 10);
  EXPECT_LT(b.diary->size(), accepted) << "most messages are still in transit";
  Run(absl::Minutes(1));
  ASSERT_THAT(*b.diary, SizeIs(accepted + 1));
  EXPECT_THAT(*b.diary, Contains("trapped Failed").Times(1));
  EXPECT_THAT(cluster().peer_events("a"), Not(Contains(HasSubstr("ended"))));
}

// OTP XD-04, XD-05
TEST_F(NodesTest, ALinkToTheDeadOfAnotherNodeOrOfItsEarlierIncarnationAnswersNoProcess) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Pid old = Seen("a", b, "b");
  Do(b, [](Puppet& p) { p.context().Stop(); });
  Do(a, [old](Puppet& p) {
    p.Trap();
    p.context().Link(old);
  });
  EXPECT_THAT(*a.diary, ElementsAre("trapped NoProcess"));
  cluster().Crash("b");
  cluster().Start("b");
  Run(absl::Seconds(5));
  ASSERT_TRUE(cluster().IsJoined());
  Make("b");
  Do(a, [old](Puppet& p) { p.context().Link(old); });
  EXPECT_THAT(*a.diary, ElementsAre("trapped NoProcess", "trapped NoProcess")) << "no link is left at one end only";
}

// ---- Pids and messages ----

// EBA 20
// The diaries of the client and of the server are the same whether the server is on the client's node or on another.
TEST_F(NodesTest, AClientIsTheSameProgramForALocalAndForARemoteActor) {
  Join();
  std::vector<std::pair<Diary, Diary>> told;
  for (const char* home : {"a", "b"}) {
    const Puppeteer client = Make("a");
    const Puppeteer server = Make(home);
    const Pid callee = PidOn("a", server, home);
    Do(client, [callee](Puppet& p) {
      p.Watch(callee);
      for (int i = 1; i <= 3; ++i) Ref<Puppet>(callee)[&Puppet::note].Tell(NoteOf(i));
    });
    Ask(client, callee, 1);
    Ask(client, callee, 13);
    Do(client, [callee](Puppet& p) { p.context().RequestStop(callee); });
    told.emplace_back(*client.diary, *server.diary);
  }
  EXPECT_EQ(told[0], told[1]);
  EXPECT_THAT(told[0].first, ElementsAre("answer 2", "error unlucky", "down Shutdown"));
  EXPECT_THAT(told[0].second, ElementsAre("note 1", "note 2", "note 3", "exit Shutdown"));
}

// EBA 21; PONY 18
TEST_F(NodesTest, APidThatComesHomeIsTheActorItselfAndSendsNothing) {
  Join();
  const Puppeteer a = Make("a");
  const Ref<Puppet> at_b(Seen("b", a, "a"));
  const absl::StatusOr<Pid> home = PidFromProto(ToProto(at_b), Pid(cluster().system("a").node(), 0, 1));
  ASSERT_TRUE(home.ok()) << home.status();
  EXPECT_EQ(*home, a.ref.pid());
  const int64_t before = cluster().core("a").Ledger().accepted;
  bool has_run = false;
  // A script is not a wire message, so the send would be refused if it had to travel.
  EXPECT_TRUE(Ref<Puppet>(*home)[&Puppet::run].Send([&has_run](Puppet&) { has_run = true; }).ok());
  EXPECT_TRUE(Ref<Puppet>(*home)[&Puppet::note].Send(NoteOf(1)).ok());
  Run();
  EXPECT_TRUE(has_run);
  EXPECT_THAT(*a.diary, ElementsAre("note 1"));
  EXPECT_EQ(cluster().core("a").Ledger().accepted, before);
  const net_testing::Note to_b = NoteOf(2);
  EXPECT_TRUE(at_b[&Puppet::note].Send(to_b).ok());
  Run();
  EXPECT_THAT(*a.diary, ElementsAre("note 1", "note 2"));
}

// A message that is not a Note but is sent under Note's name.
struct NoNote {
  struct Descriptor {
    std::string full_name() const { return "understudy.net_testing.Note"; }
  };
  static const Descriptor* descriptor() {
    static constexpr Descriptor kDescriptor;
    return &kDescriptor;
  }
  bool SerializeToString(std::string* out) const {
    *out = "\xff";
    return true;
  }
  bool ParseFromArray(const void* /*data*/, int /*size*/) { return true; }
  size_t ByteSizeLong() const { return 1; }
};

// PEER 42; ASKED 7; EBA 34
TEST_F(NodesTest, ABadPayloadIsDroppedAndCountedAndTheNextMessageOfItsSessionArrives) {
  Join();
  const Puppeteer b = Make("b");
  const Pid seen = Seen("a", b, "b");
  const Channel<NoNote> bad(seen, internal::MailboxNames::Intern("puppet/note"));
  EXPECT_TRUE(Ref<Puppet>(seen)[&Puppet::note].Send(NoteOf(1)).ok());
  EXPECT_TRUE(bad.Send(NoNote()).ok());
  EXPECT_TRUE(Ref<Puppet>(seen)[&Puppet::note].Send(NoteOf(2)).ok());
  Run(absl::Seconds(1));
  EXPECT_THAT(*b.diary, ElementsAre("note 1", "note 2"));
  EXPECT_EQ(cluster().system("b").Ledger().of(Disposition::kDropped), 1);
  for (const char* node : {"a", "b"}) EXPECT_THAT(cluster().peer_events(node), Not(Contains(HasSubstr("ended"))));
  EXPECT_EQ(cluster().core("a").Peers()[0].epoch, 1U);
}

// PONY 13
// Each node sends 16 MB to the other at the same time.
TEST_F(NodesTest, TwoNodesThatSendEachOtherMuchAtOnceBothFinish) {
  constexpr size_t kNotes = 16;
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Channel<net_testing::Note> to[] = {Ref<Puppet>(Seen("a", b, "b"))[&Puppet::note],
                                           Ref<Puppet>(Seen("b", a, "a"))[&Puppet::note]};
  size_t sent[] = {0, 0};
  net_testing::Note note = NoteOf(1);
  note.set_text(std::string(1 << 20, 'x'));
  for (int round = 0; round < 20'000 && sent[0] + sent[1] < 2 * kNotes; ++round) {
    for (const size_t way : {0, 1}) {
      if (sent[way] < kNotes && to[way].Send(note).ok()) ++sent[way];
    }
    Run(absl::Milliseconds(1));
  }
  Run(absl::Seconds(10));
  for (const Puppeteer& one : {a, b}) EXPECT_THAT(*one.diary, SizeIs(kNotes));
}

// ---- Names ----

// EBA 22
TEST_F(NodesTest, ANameOfANodeIsItsOwnAndANameOfTheClusterLeadsThereFromEverywhere) {
  Join();
  std::vector<Ref<Puppet>> desks;
  for (const char* node : {"a", "b"}) {
    desks.push_back(
        cluster().system(node).Spawn<Puppet>(SpawnOptions{.registered_as = "desk"}, std::make_shared<Diary>()));
  }
  const Puppeteer lot = Make("b", "lot");
  EXPECT_EQ(cluster().system("a").WhereIs("desk"), desks[0].pid());
  EXPECT_EQ(cluster().system("b").WhereIs("desk"), desks[1].pid());
  TestSystem& a = cluster().system("a");
  EXPECT_TRUE(Named<Ref<Puppet>>(a, "lot").Resolve()[&Puppet::note].Send(NoteOf(1)).ok());
  const absl::Status unknown = Named<Ref<Puppet>>(a, "nobody").Resolve()[&Puppet::note].Send(NoteOf(2));
  EXPECT_TRUE(IsNoName(unknown)) << unknown;
  Run();
  EXPECT_THAT(*lot.diary, ElementsAre("note 1"));
}

// OTP GLB-08, GLB-23, GLB-36
TEST_F(NodesTest, AfterAPartitionANameIsThereAgainAndOneThatWasGivenUpMeanwhileIsNot) {
  Join();
  const Puppeteer stays = Make("b", "stays");
  const Puppeteer leaves = Make("b", "given up");
  ASSERT_TRUE(IsNamed("a", "given up"));
  cluster().network().Partition("a", "b");
  Run(absl::Minutes(2));
  EXPECT_FALSE(IsNamed("a", "stays"));
  Do(leaves, [](Puppet& p) { p.context().Unregister("given up"); });
  cluster().network().Heal("a", "b");
  Run(absl::Seconds(30));
  EXPECT_EQ(cluster().system("a").WhereIs("stays"), Seen("a", stays, "b"));
  for (const char* node : {"a", "b"}) EXPECT_FALSE(IsNamed(node, "given up")) << node;
  EXPECT_THAT(*stays.diary, IsEmpty()) << "the same owner on both sides is no conflict";
  EXPECT_THAT(*leaves.diary, IsEmpty());
}

// OTP GLB-06, GLB-37
TEST_F(NodesTest, TheNamesOfManyActorsThatEndAtOnceAreGoneOnEachOfFiveNodes) {
  const std::vector<std::string> nodes = {"a", "b", "c", "d", "e"};
  Join({.nodes = nodes});
  std::vector<Puppeteer> owners;
  std::vector<std::string> names;
  for (const std::string& node : nodes) {
    for (int i = 0; i < 20; ++i) {
      names.push_back(absl::StrCat(node, "/", i));
      owners.push_back(Make(node, names.back()));
    }
  }
  const auto is_anybody_named = [&] {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return std::any_of(nodes.begin(), nodes.end() - 1, [&](const std::string& node) { return IsNamed(node, name); });
    });
  };
  for (const std::string& node : nodes) {
    for (const std::string& name : names) ASSERT_TRUE(IsNamed(node, name)) << node << " " << name;
  }
  // The owners on four nodes end by failing; the owners on the fifth end when their node crashes.
  for (size_t i = 0; i < 80; ++i) {
    ASSERT_TRUE(owners[i].ref[&Puppet::run].Send([](Puppet& p) { p.Fail(absl::DataLossError("gone")); }).ok());
  }
  cluster().Crash("e");
  EXPECT_TRUE(cluster().RunUntil([&] { return !is_anybody_named(); }, absl::Seconds(20)));
}

// OTP GLB-10, GLB-11
// Each of six names is taken on both sides of a partition of three and four nodes; which side takes it first varies.
// One of the owners ends while the nodes reconnect.
TEST_F(NodesTest, OfEachNameThatBothSidesOfAPartitionHaveTakenOneOwnerIsLeftOnSevenNodes) {
  const std::vector<std::string> left = {"a", "b", "c"};
  const std::vector<std::string> right = {"d", "e", "f", "g"};
  std::vector<std::string> all = left;
  all.insert(all.end(), right.begin(), right.end());
  Join({.nodes = all});
  const auto for_each_pair = [&](const auto& act) {
    for (const std::string& one : left) {
      for (const std::string& other : right) act(one, other);
    }
  };
  for_each_pair([&](const auto& one, const auto& other) { cluster().network().Partition(one, other); });
  Run(absl::Minutes(1));
  std::vector<Puppeteer> first;
  std::vector<Puppeteer> second;
  for (size_t i = 0; i < 6; ++i) {
    const std::string name = absl::StrCat("name ", i);
    const std::string& here = left[i % left.size()];
    const std::string& there = right[i % right.size()];
    first.push_back(Make(i % 2 == 0 ? here : there, name));
    second.push_back(Make(i % 2 == 0 ? there : here, name));
  }
  for_each_pair([&](const auto& one, const auto& other) { cluster().network().Heal(one, other); });
  Run(absl::Milliseconds(1));
  Do(first[5], [](Puppet& p) { p.context().Stop(); });
  Run(absl::Seconds(30));
  for (size_t i = 0; i < 6; ++i) {
    const Puppeteer& owner = i == 5 ? second[i] : first[i];
    EXPECT_THAT(*owner.diary, IsEmpty()) << i;
    EXPECT_THAT(*(i == 5 ? first[i] : second[i]).diary, SizeIs(1)) << i;
    for (const std::string& node : all) {
      const absl::optional<Pid> found = cluster().system(node).WhereIs(absl::StrCat("name ", i));
      ASSERT_TRUE(found.has_value()) << node << " " << i;
      EXPECT_EQ(found->ToString(), owner.ref.pid().ToString()) << node << " " << i;
    }
  }
}

// OTP PG-20
TEST_F(NodesTest, ANodeThatWasStartedApartLearnsTheNamesWhenItMeetsTheOthers) {
  Join();
  Make("a", "of a");
  cluster().Crash("b");
  cluster().network().Partition("a", "b");
  cluster().Start("b");
  Run(absl::Minutes(1));
  Make("b", "of b");
  EXPECT_FALSE(IsNamed("b", "of a"));
  cluster().network().Heal("a", "b");
  Run(absl::Seconds(30));
  for (const char* node : {"a", "b"}) {
    for (const char* name : {"of a", "of b"}) EXPECT_TRUE(IsNamed(node, name)) << node << " " << name;
  }
}

// OTP GLB-31
TEST_F(NodesTest, ThirtyNodesThatMeetAtOnceKnowEachOthersNames) {
  SimulatedCluster::Options options;
  for (int i = 0; i < 30; ++i) options.nodes.push_back(absl::StrCat("n", i));
  options.traces = SimulatedCluster::Options::Traces::kNone;
  const std::vector<std::string> nodes = options.nodes;
  cluster_ = std::make_unique<SimulatedCluster>(std::move(options));
  for (const std::string& node : nodes) {
    cluster().system(node).Spawn<Puppet>(SpawnOptions{.published_as = node}, std::make_shared<Diary>());
  }
  const auto know_each_other = [&] {
    return std::all_of(nodes.begin(), nodes.end(), [&](const std::string& node) {
      return std::all_of(nodes.begin(), nodes.end(), [&](const std::string& name) { return IsNamed(node, name); });
    });
  };
  EXPECT_TRUE(cluster().RunUntil([&] { return cluster().IsJoined() && know_each_other(); }, absl::Seconds(20)));
}

}  // namespace
}  // namespace understudy
