// The rows of the papers on selectors about mailboxes and guards, in one process. The row about a race is in
// wake_up_race_test.cc; rows that need several processes are in nodes_programs_test.cc. In these tests a mailbox is
// closed by a behavior that does not name it, by a guard or by a ScopedClose.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/supervision/builders.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int> UpTo(int count) {
  std::vector<int> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

// An actor whose mailboxes are opened and closed by messages.
class Boxes final : public Actor {
 public:
  enum class How { kOpen, kClose, kOpenAll, kCloseAllBut };
  struct Change {
    int box = 0;
    How how = How::kOpen;
  };
  static constexpr size_t kBoxes = 3;
  MailboxArray<"box", int> boxes{this, kBoxes, {.capacity_messages = 20'000}};
  Mailbox<"change", Change> change{this};

  explicit Boxes(Channel<std::pair<int, int>> out) : out_(out), is_open_(kBoxes, true) {}
  StartResult Start() override { return working_; }

 private:
  bool IsOpen(size_t box) const { return is_open_[box]; }
  void Take(int n, size_t box) {
    out_.Tell({static_cast<int>(box), n});
    if (n < 0) is_open_[box] = false;  // closes this box, from the next message on
  }
  void Apply(const Change& asked) {
    for (size_t box = 0; box < kBoxes; ++box) {
      const bool is_meant = static_cast<int>(box) == asked.box;
      switch (asked.how) {
        case How::kOpen:
          if (is_meant) is_open_[box] = true;
          break;
        case How::kClose:
          if (is_meant) is_open_[box] = false;
          break;
        case How::kOpenAll:
          is_open_[box] = true;
          break;
        case How::kCloseAllBut:
          is_open_[box] = is_meant;
          break;
      }
    }
  }

  Channel<std::pair<int, int>> out_;
  std::vector<bool> is_open_;
  Behavior working_{"working", On(boxes, &Boxes::Take).When(&Boxes::IsOpen), On(change, &Boxes::Apply)};
};

class SelBoxesTest : public ActorTest {
 protected:
  using How = Boxes::How;
  SelBoxesTest() : out_(system(), {.capacity_messages = 20'000}), boxes_(system().Spawn<Boxes>(out_.channel())) {}
  void Send(int box, int n) { boxes_.At(&Boxes::boxes, box).Tell(n); }
  void Change(int box, How how) {
    boxes_[&Boxes::change].Tell({box, how});
    system().RunUntilIdle();
  }
  std::vector<int> BoxesHandled() {
    std::vector<int> boxes;
    for (const auto& [box, n] : out_.ReceiveAll()) boxes.push_back(box);
    return boxes;
  }
  std::vector<int> NumbersHandled() {
    std::vector<int> numbers;
    for (const auto& [box, n] : out_.ReceiveAll()) numbers.push_back(n);
    return numbers;
  }

  Probe<std::pair<int, int>> out_;
  Ref<Boxes> boxes_;
};

// SEL 1
TEST_F(SelBoxesTest, AClosedMailboxAcceptsAndHoldsAndKeepsItsOrder) {
  Change(1, How::kClose);
  for (int n = 0; n < 10'000; ++n) {
    Send(1, n);
    if (n % 1000 == 0) Send(0, n / 1000);
  }
  EXPECT_EQ(NumbersHandled(), UpTo(10));
  EXPECT_EQ(system().ClosedMailboxes().at(0).waiting, 10'000);
  Change(1, How::kOpen);
  EXPECT_EQ(NumbersHandled(), UpTo(10'000));
}

// SEL 2
// Differs from the row: a mailbox is open when the behavior names it (semantics 2.1), so "all open at birth" follows
// from this actor's guards and is not a rule.
TEST_F(SelBoxesTest, OpeningAndClosingAreIdempotentAndHoldFromTheNextMessage) {
  struct Case {
    std::vector<Boxes::Change> changes;
    std::vector<int> handled;
  };
  const std::vector<Case> cases = {
      {{}, {0, 1, 2}},
      {{{1, How::kClose}}, {0, 2}},
      {{{1, How::kClose}, {1, How::kClose}, {1, How::kOpen}}, {0, 1, 2}},
      {{{2, How::kCloseAllBut}}, {2}},
      {{{2, How::kCloseAllBut}, {2, How::kCloseAllBut}, {0, How::kOpen}}, {0, 2}},
      {{{0, How::kCloseAllBut}, {0, How::kOpenAll}, {0, How::kOpenAll}}, {0, 1, 2}},
  };
  for (const Case& one : cases) {
    for (const Boxes::Change& change : one.changes) Change(change.box, change.how);
    for (int box = 0; box < 3; ++box) Send(box, 7);
    EXPECT_EQ(BoxesHandled(), one.handled);
    Change(0, How::kOpenAll);
    (void)out_.ReceiveAll();
  }
  Send(0, -1);
  Send(0, 1);
  EXPECT_EQ(NumbersHandled(), std::vector<int>{-1}) << "the message that closes its own mailbox is still handled";
}

// SEL 3
// In virtual time, no turn runs for mail in a closed mailbox, and when a timer opens the mailbox its mail is handled at
// once.
TEST_F(SelBoxesTest, AnIdleActorWithABacklogCostsNothingAndWakesWhenItIsOpened) {
  Change(2, How::kClose);
  for (int n = 0; n < 1000; ++n) Send(2, n);
  EXPECT_FALSE(system().seeded_executor().RunOne()) << "nothing to run";
  system().seeded_executor().RunAt(system().Now() + absl::Seconds(2),
                                   [&] { boxes_[&Boxes::change].Tell({2, How::kOpen}); });
  system().Advance(absl::Seconds(2));
  EXPECT_EQ(NumbersHandled(), UpTo(1000));
}

// Four mailboxes of ranks 3 to 0, which are closed until the actor is told to open them.
class FourRanks final : public Actor {
 public:
  static constexpr int kQuota = 50;
  MailboxArray<"box", int> boxes{this, 4, {.capacity_messages = 10'000}};
  Mailbox<"open", int> open{this};
  explicit FourRanks(Channel<size_t> out) : out_(out) {}
  StartResult Start() override { return closed_; }

 private:
  Channel<size_t> out_;
  Behavior open_{"open", On(boxes, [this](int, size_t box) { out_.Tell(box); }).RankByPlace().Quota(kQuota)};
  Behavior closed_{"closed", On(open, [this](int) { return open_; })};
};

// SEL 4
// Our ranks are numbered the other way: the highest number is handled first.
TEST_F(SelBoxesTest, HigherRanksGoFirstWithinTheirQuota) {
  Probe<size_t> order(system());
  Ref<FourRanks> ranks = system().Spawn<FourRanks>(order.channel());
  for (const int box : {1, 3, 2}) {
    for (int n = 0; n < 50; ++n) ranks.At(&FourRanks::boxes, box).Tell(n);
  }
  ranks[&FourRanks::open].Tell(1);
  std::vector<size_t> expected(50, 3);
  expected.insert(expected.end(), 50, 2);
  expected.insert(expected.end(), 50, 1);
  EXPECT_EQ(order.ReceiveAll(), expected);
}

// SEL 5
// The mailboxes are saturated by a backlog instead of by a second of real time.
TEST_F(SelBoxesTest, TheLowestRankIsServedWithinItsBound) {
  Probe<size_t> order(system(), {.capacity_messages = 10'000});
  Ref<FourRanks> ranks = system().Spawn<FourRanks>(order.channel());
  for (int box = 1; box < 4; ++box) {
    for (int n = 0; n < 1000; ++n) ranks.At(&FourRanks::boxes, box).Tell(n);
  }
  ranks.At(&FourRanks::boxes, 0).Tell(1);
  ranks[&FourRanks::open].Tell(1);
  const std::vector<size_t> handled = order.ReceiveAll();
  const auto place = std::find(handled.begin(), handled.end(), 0U) - handled.begin() + 1;
  EXPECT_LE(place, (4 - 1) * FourRanks::kQuota + 1);
}

// Messages of three types end up in three mailboxes, which the receiver chooses.
class Post final : public Actor {
 public:
  Mailbox<"any", std::string> any{this};
  Mailbox<"number", int> number{this};
  Mailbox<"flag", bool> flag{this};
  Mailbox<"word", std::string> word{this};
  explicit Post(Channel<std::string> out) : out_(out) {}
  StartResult Start() override { return sorting_; }

 private:
  void Classify(const std::string& text) {
    if (text == "yes" || text == "no") {
      context().Forward(flag, text == "yes");
    } else if (text.find_first_not_of("0123456789") == std::string::npos) {
      context().Forward(number, std::stoi(text));
    } else {
      context().Forward(word, text);
    }
  }
  Channel<std::string> out_;
  Behavior sorting_{"sorting", On(any, &Post::Classify), On(number, [this](int n) { out_.Tell(absl::StrCat("n", n)); }),
                    On(flag, [this](bool is) { out_.Tell(is ? "true" : "false"); }),
                    On(word, [this](const std::string& text) { out_.Tell("w " + text); })};
};

// SEL 6
// Differs from the row: there is no send without a mailbox, so there is no default mailbox. A channel names its
// mailbox, both locally and on the wire. The receiver chooses by a classifier.
TEST_F(SelBoxesTest, TheReceiverMayChooseTheMailbox) {
  Probe<std::string> out(system());
  Ref<Post> post = system().Spawn<Post>(out.channel());
  for (const char* text : {"12", "yes", "hello", "7", "no"}) post[&Post::any].Tell(text);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("n12", "true", "w hello", "n7", "false"));
  EXPECT_EQ(Ledger().of(Disposition::kForwarded), 5);
}

// A bounded buffer made of guards, which counts how often the guard of `put` is evaluated.
class CountedBuffer final : public Actor {
 public:
  Mailbox<"put", int> put{this};
  Mailbox<"take", Channel<int>> take{this};
  explicit CountedBuffer(int* looks) : looks_(looks) {}
  StartResult Start() override { return working_; }

 private:
  bool HasRoom() const {
    ++*looks_;
    return items_.size() < 3;
  }
  bool HasItem() const { return !items_.empty(); }
  void Take(const Channel<int>& consumer) {
    consumer.Tell(items_.front());
    items_.erase(items_.begin());
  }
  int* looks_;
  std::vector<int> items_;
  Behavior working_{"working", On(put, [this](int n) { items_.push_back(n); }).When(&CountedBuffer::HasRoom),
                    On(take, &CountedBuffer::Take).When(&CountedBuffer::HasItem)};
};

// SEL 7
TEST_F(SelBoxesTest, GuardsAreLookedAtAtTheStartAndAfterEachMessageAndNeverForASend) {
  Probe<int> out(system());
  int looks = 0;
  Ref<CountedBuffer> buffer = system().Spawn<CountedBuffer>(&looks);
  for (int i = 0; i < 2; ++i) buffer[&CountedBuffer::take].Tell(out.channel());
  system().RunUntilIdle();
  EXPECT_GE(looks, 1) << "guards are evaluated at the start; `take` is closed";
  out.ExpectNothing();
  for (int n = 0; n < 6; ++n) {
    const int before = looks;
    buffer[&CountedBuffer::put].Tell(n);
    EXPECT_EQ(looks, before) << "a send must not evaluate guards";
    system().RunUntilIdle();
    if (n < 5) {
      EXPECT_GT(looks, before) << "guards are evaluated after each message";
    }
  }
  EXPECT_THAT(out.ReceiveAll(), ElementsAre(0, 1));
  const int before = looks;
  for (int n = 6; n < 506; ++n) buffer[&CountedBuffer::put].Tell(n);
  system().RunUntilIdle();
  EXPECT_EQ(looks, before) << "the buffer is full, so a send must not wake it";
  for (int i = 0; i < 504; ++i) buffer[&CountedBuffer::take].Tell(out.channel());
  std::vector<int> rest = UpTo(506);
  rest.erase(rest.begin(), rest.begin() + 2);
  EXPECT_EQ(out.ReceiveAll(), rest);
}

// An actor whose start takes half a second of virtual time.
class SlowStarter final : public Actor {
 public:
  Mailbox<"number", int> number{this, {.capacity_messages = 10'000}};
  SlowStarter(Channel<int> out, bool* is_made) : out_(out) { *is_made = true; }
  StartResult Start() override { return Begin(); }

 private:
  Task<StartResult> Begin() {
    auto pause = context().Sleep(absl::Milliseconds(500));
    (void)co_await pause;
    co_return Behavior("running", On(number, [this](int n) { out_.Tell(n); }));
  }
  Channel<int> out_;
};

// SEL 14
TEST_F(SelBoxesTest, ARefIsUsableBeforeItsActorIsMadeAndEarlySendsComeFirst) {
  Probe<int> out(system(), {.capacity_messages = 3000});
  bool is_made = false;
  Ref<SlowStarter> slow = system().Spawn<SlowStarter>(out.channel(), &is_made);
  EXPECT_FALSE(is_made) << "Spawn has returned, and nothing has run";
  for (int n = 0; n < 1000; ++n) slow[&SlowStarter::number].Tell(n);
  system().Advance(absl::Milliseconds(499));
  EXPECT_TRUE(is_made);
  out.ExpectNothing();
  for (int n = 1000; n < 2000; ++n) slow[&SlowStarter::number].Tell(n);
  system().Advance(absl::Milliseconds(1));
  EXPECT_EQ(out.ReceiveAll(), UpTo(2000));
}

// An actor whose mailboxes are all closed. It still gets events that are not messages.
class ShutIn final : public Actor {
 public:
  Mailbox<"item", int> item{this};
  Mailbox<"other", int> other{this};
  ShutIn(Channel<std::string> out, Pid watched) : out_(out), watched_(watched) {}
  StartResult Start() override {
    watch_ = context().Monitor(watched_, [this](const Down&) { out_.Tell("down"); });
    context().TrapExits([this](const ExitEvent&) { out_.Tell("exit"); });
    EXPECT_TRUE(context().StartTimer("bell", absl::Seconds(1), [this] { out_.Tell("timer"); }).ok());
    return shut_;
  }
  void OnExit(const ExitReason& reason) override { out_.Tell("ended " + reason.ToString()); }

 private:
  bool Never() const { return false; }
  Channel<std::string> out_;
  Pid watched_;
  MonitorHandle watch_;
  Behavior shut_{"shut", On(item, [] {}).When(&ShutIn::Never), On(other, [] {}).When(&ShutIn::Never)};
};

class Bully final : public Actor {
 public:
  explicit Bully(Pid victim) : victim_(victim) {}
  StartResult Start() override {
    context().Exit(victim_, ExitReason::Failed(absl::AbortedError("by another")));
    return Behavior("resting", After(absl::InfiniteDuration(), [] {}));
  }

 private:
  Pid victim_;
};

// SEL 37
TEST_F(SelBoxesTest, ExitsDownsAndTimersPassWhenEveryMailboxIsClosed) {
  Probe<std::string> out(system());
  Ref<Boxes> watched = system().Spawn<Boxes>(out_.channel());
  Ref<ShutIn> shut_in = system().Spawn<ShutIn>(out.channel(), watched.pid());
  shut_in[&ShutIn::item].Tell(1);
  out.ExpectNothing();
  system().Kill(watched.pid());
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("down"));
  system().Spawn<Bully>(shut_in.pid());
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("exit"));
  system().Advance(absl::Seconds(1));
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("timer"));
  system().Spawn<ShutIn>(out.channel(), watched.pid());
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("down")) << "the Down of an actor that had already ended";
  system().RequestStop(shut_in.pid());
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("ended Shutdown"));
}

// An actor whose guard closes after one message. A negative message ends the actor.
class OneShot final : public Actor {
 public:
  Mailbox<"item", int> item{this};
  Mailbox<"fail", int> fail{this};
  explicit OneShot(Channel<int> out) : out_(out) {}
  StartResult Start() override { return working_; }

 private:
  bool IsUnused() const { return !is_used_; }
  void Take(int n) {
    is_used_ = true;
    out_.Tell(n);
  }
  Channel<int> out_;
  bool is_used_ = false;
  Behavior working_{"working", On(item, &OneShot::Take).When(&OneShot::IsUnused),
                    On(fail, [this] { Fail(absl::InternalError("told to")); })};
};

// SEL 37
TEST_F(SelBoxesTest, ARestartResetsGuards) {
  Probe<int> out(system());
  system().Spawn(
      OneForOne().Intensity(3, absl::Seconds(10)).Child("one", Of<OneShot>(out.channel()).RegisteredAs("one")));
  const auto one = [&] { return Ref<OneShot>(system().WhereIs("one").value_or(Pid())); };
  system().RunUntilIdle();
  for (int n = 1; n <= 2; ++n) one()[&OneShot::item].Tell(n);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre(1));
  one()[&OneShot::fail].Tell(1);
  system().Advance(absl::Seconds(1));
  one()[&OneShot::item].Tell(3);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre(3)) << "the guard is open again, and mail of the old life is a dead letter";
  EXPECT_EQ(dead_letters().size(), 1U);
}

}  // namespace
}  // namespace understudy
