// Links: OTP's erl_link_SUITE. Its races are in otp_lnk_race_test.cc.
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/limits.h"
#include "understudy/tests/conformance/scene.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

using LnkTest = ConformanceTest;

// OTP LNK-01
TEST_F(LnkTest, ALinkIsMadeAndEndedFromEitherEnd) {
  for (const bool linked_by_first : {false, true}) {
    for (const bool unlinked_by_first : {false, true}) {
      Ref<Script> first = NewScript();
      Ref<Script> trapping = NewScript(TrapOthers);
      Ref<Script> linker = linked_by_first ? first : trapping;
      Ref<Script> unlinker = unlinked_by_first ? first : trapping;
      Step(linker, [&](Script& self) { Link(self, linker == first ? trapping.pid() : first.pid()); });
      Step(unlinker, [&](Script& self) { self.context().Unlink(unlinker == first ? trapping : first); });
      End(first, DiskFailed());
      EXPECT_THAT(Notes(), IsEmpty());
      EXPECT_TRUE(IsAlive(trapping));
      // Linked again, twice, it gets one exit.
      first = NewScript();
      Step(trapping, [&](Script& self) {
        Link(self, first.pid());
        Link(self, first.pid());
      });
      Step(first, [&](Script& self) { Link(self, trapping.pid()); });
      End(first, DiskFailed());
      EXPECT_THAT(Notes(), ElementsAre("exit Failed(DATA_LOSS: disk)"));
    }
  }
}

// OTP LNK-01
TEST_F(LnkTest, AnExitEndsALinkedActorThatDoesNotTrapAndALinkToOneselfIsNothing) {
  Ref<Script> watcher = NewScript();
  Ref<Script> one = NewScript();
  Ref<Script> other = NewScript();
  Watch(watcher, other.pid());
  Step(one, [&](Script& self) {
    Link(self, other.pid());
    Link(self, one.pid());
    self.context().Unlink(one);
  });
  EXPECT_TRUE(IsAlive(one));
  End(one, DiskFailed());
  EXPECT_THAT(Notes(), ElementsAre("down Failed(DATA_LOSS: disk)"));
}

// OTP LNK-04: Ended monitors and links take no space at either end.
TEST_F(LnkTest, MonitorsAndLinksThatHaveEndedTakeNoRoom) {
  Ref<Script> watched = NewScript(TrapOthers);
  Ref<Script> watcher = NewScript(TrapOthers);
  Step(watcher, [&](Script& self) {
    for (size_t i = 0; i < limits::kMonitorsPerActorMax + 10; ++i) {
      MonitorHandle handle =
          self.context().Monitor(watched, [&self](const Down&) { self.Note("of an ended monitor"); });
      handle.End();
    }
    for (size_t i = 0; i < limits::kLinksPerActorMax + 10; ++i) {
      self.context().Link(watched);
      self.context().Unlink(watched);
    }
  });
  EXPECT_THAT(Notes(), IsEmpty());
  Watch(watcher, watched.pid());
  Step(watcher, [&](Script& self) { Link(self, watched.pid()); });
  End(watched, DiskFailed());
  EXPECT_THAT(Notes(), testing::UnorderedElementsAre("down Failed(DATA_LOSS: disk)", "exit Failed(DATA_LOSS: disk)"));
}

// OTP LNK-05, LNK-09, LNK-11, LNK-14: Here for a node with which this node has no session.
TEST_F(LnkTest, AnUnreachablePeerAnswersNoConnectionAndIsUnlinkedInSilence) {
  const Pid gone(*system().InternPeer("gone", NodeIncarnation{5}), 3, 4);
  Ref<Script> trapping = NewScript(TrapOthers);
  Step(trapping, [&](Script& self) { Link(self, gone); });
  EXPECT_THAT(Notes(), ElementsAre(StartsWith("exit NoConnection")));
  Step(trapping, [&](Script& self) {
    Link(self, gone);
    self.context().Unlink(gone);
    MonitorHandle handle = self.context().Monitor(gone, [&self](const Down&) { self.Note("down"); });
    handle.End();
  });
  EXPECT_THAT(Notes(), IsEmpty());
  Ref<Script> plain = NewScript();
  Step(plain, [&](Script& self) { Link(self, gone); });
  EXPECT_FALSE(IsAlive(plain));
}

// An actor whose mailbox `closed` holds one message and is never opened.
class Jammed final : public Actor {
 public:
  Mailbox<"closed", int> closed{this, {.capacity_messages = 1}};
  Mailbox<"open", int> open{this};
  explicit Jammed(std::vector<std::string>* notes) : notes_(*notes) {}
  StartResult Start() override {
    context().TrapExits(
        [this](const ExitEvent& event) { notes_.push_back("jammed hears " + event.reason.ToString()); });
    return Behavior("jammed", On(open, [] {}));
  }

 private:
  std::vector<std::string>& notes_;
};

// OTP LNK-07: Here with a full mailbox instead of a congested connection.
TEST_F(LnkTest, LinksUnlinksAndExitsPassAFullMailboxInOrder) {
  Ref<Jammed> jammed = system().Spawn<Jammed>(&notes_);
  Ref<Script> one = NewScript(TrapOthers);
  EXPECT_TRUE(jammed[&Jammed::closed].Send(1).ok());
  EXPECT_TRUE(IsFull(jammed[&Jammed::closed].Send(2)));
  Step(one, [&](Script& self) {
    for (int i = 0; i < 100; ++i) {
      self.context().Link(jammed);
      self.context().Unlink(jammed);
    }
    self.context().Link(jammed);
    self.context().Exit(jammed, ExitReason::OsExit(1));
    self.context().Exit(jammed, ExitReason::OsExit(2));
    self.context().Stop(ExitReason::OsExit(3));
  });
  EXPECT_THAT(Notes(), ElementsAre("jammed hears OsExit(1)", "jammed hears OsExit(2)", "jammed hears OsExit(3)"));
  system().Kill(jammed.pid());
}

}  // namespace
}  // namespace understudy
