// Addresses between nodes: a ref works for every actor that is given it, and an address that was never given out
// reaches no actor.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/context.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/proto/ref.pb.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/puppet.h"
#include "understudy/transport/ref_proto.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class AddressesTest : public ClusterTest {
 protected:
  // The actor as `node` knows it by a ref that came in a message.
  Pid Received(absl::string_view node, const std::string& ref_bytes) {
    proto::Ref ref;
    EXPECT_TRUE(ref.ParseFromString(ref_bytes));
    const Pid local(cluster().system(node).node(), 0, 1);
    const absl::StatusOr<Pid> pid = PidFromProto(ref, local);
    EXPECT_TRUE(pid.ok()) << pid.status();
    return pid.ok() ? *pid : Pid();
  }
  void Watch(const Puppeteer& watcher, Pid target) {
    Do(watcher, [target](Puppet& self) { self.Watch(target); });
  }
};

// EBA 20: A to B to C to A.
TEST_F(AddressesTest, ARefThatWasPassedOnWorksAtOnceAndWhenItsMessengerIsGone) {
  Join({.nodes = {"a", "b", "c"}});
  const Puppeteer a = Make("a");
  const Puppeteer c = Make("c");
  const std::string from_a = ToProto(a.ref).SerializeAsString();
  const std::string from_b = ToProto(Received("b", from_a)).SerializeAsString();
  EXPECT_EQ(from_b, from_a);
  const Pid at_c = Received("c", from_b);
  EXPECT_EQ(at_c.ToString(), a.ref.pid().ToString());
  Ask(c, at_c, 5);
  EXPECT_THAT(*c.diary, ElementsAre("answer 6"));
  // Back at A it is the same actor.
  EXPECT_EQ(Received("a", ToProto(at_c).SerializeAsString()), a.ref.pid());

  cluster().Crash("b");
  Run(absl::Minutes(1));
  // Stored bytes are as good as fresh ones.
  const Pid stored = Received("c", from_b);
  EXPECT_EQ(stored, at_c);
  Ask(c, stored, 7);
  Watch(c, stored);
  Do(c, [stored](Puppet& self) { self.context().Exit(stored, ExitReason::Shutdown()); });
  Run(absl::Seconds(1));
  EXPECT_THAT(*c.diary, ElementsAre("answer 6", "answer 8", "down Shutdown"));
  EXPECT_THAT(*a.diary, ElementsAre("exit Shutdown"));
}

TEST_F(AddressesTest, ANeighbourOfAKnownAddressIsNoProcessAndCountedAsForged) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Puppeteer neighbour = Make("b");
  const Pid known = Known("a", b.ref.pid(), "b");
  // The address that the neighbour would have without the permutation, and two guesses near a known address.
  const Pid guesses[] = {Pid(known.place(), neighbour.ref.pid().cell(), neighbour.ref.pid().serial()),
                         Pid(known.place(), known.cell(), known.serial() + 1),
                         Pid(known.place(), known.cell() ^ 1, known.serial())};
  int64_t forged = 0;
  for (const Pid guess : guesses) {
    EXPECT_TRUE(Ref<Puppet>(guess)[&Puppet::note].Send(NoteOf(1)).ok());
    Ask(a, guess, 5);
    Watch(a, guess);
    forged += 3;
    EXPECT_EQ(cluster().core("b").counters().forged, forged);
  }
  EXPECT_THAT(*a.diary, ElementsAre("error NoProcess", "down NoProcess", "error NoProcess", "down NoProcess",
                                    "error NoProcess", "down NoProcess"));
  EXPECT_THAT(*b.diary, IsEmpty());
  EXPECT_THAT(*neighbour.diary, IsEmpty());
}

TEST_F(AddressesTest, TheAddressOfADeadActorIsNoProcessAndNotForged) {
  Join();
  const Puppeteer a = Make("a");
  const Puppeteer b = Make("b");
  const Pid known = Known("a", b.ref.pid(), "b");
  Do(b, [](Puppet& self) { self.context().Stop(ExitReason::Normal()); });
  Ask(a, known, 5);
  Watch(a, known);
  EXPECT_THAT(*a.diary, ElementsAre("error NoProcess", "down NoProcess"));
  EXPECT_EQ(cluster().core("b").counters().forged, 0);
}

}  // namespace
}  // namespace understudy
