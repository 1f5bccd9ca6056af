#include "understudy/actors/mailbox_array.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/mailbox_signature.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using MailboxArrayTest = ActorTest;

// A desk with a window for each label. A message in `mode` chooses how the windows are handled.
class Desk final : public Actor {
 public:
  static constexpr const char* kService = "town.Desk";
  MailboxArray<"window", std::string> windows{this, {"left", "right"}, {.capacity_messages = 2}};
  MailboxArray<"clerk", Call<std::string, std::string>> clerks{this, 3};
  Mailbox<"mode", std::string> mode{this};

  explicit Desk(Channel<std::string> out) : out_(out) {}
  StartResult Start() override { return by_place_; }

 private:
  void ByPlace(const std::string& text, size_t place) { out_.Tell(absl::StrCat(place, " ", text)); }
  void ByLabel(std::string text, absl::string_view label) { out_.Tell(absl::StrCat(label, " ", text)); }
  void Plain(const std::string& text) { out_.Tell(text); }
  absl::StatusOr<std::string> Answer(const std::string& text, size_t place) {
    if (text.empty()) return absl::InvalidArgumentError("empty");
    return absl::StrCat(place, " ", text);
  }
  void AnswerLater(const std::string& text, Replier<std::string> replier, absl::string_view label) {
    replier.Reply(absl::StrCat(label, " ", text));
  }
  Task<> Await(const std::string& text, size_t place) {
    auto pause = context().Sleep(absl::Seconds(1));
    (void)co_await pause;
    out_.Tell(absl::StrCat("awaited ", place, " ", text));
  }
  bool IsOpen(size_t place) const noexcept { return place == open_place_; }
  bool IsLeftOpen() const noexcept { return open_place_ == 0; }
  void Mode(const std::string& what) {
    closes_.clear();
    if (what == "labels") Become(by_label_);
    if (what == "await") Become(awaiting_);
    if (what == "reference") Become(by_reference_);
    if (what == "one") Become(by_element_);
    if (what == "guards") Become(guarded_);
    if (what == "away") Become(away_);
    if (what == "assigned") {
      auto clause = On(windows, &Desk::Plain);
      clause = std::move(clause).When(&Desk::IsLeftOpen);
      auto answering = On(clerks[0], [](const std::string& text) { return text; });
      answering = std::move(answering).Rank(1).If([](const std::string& text) { return !text.empty(); });
      Become(Behavior("assigned", std::move(clause), std::move(answering), On(mode, &Desk::Mode)));
    }
    if (what == "scoped close all") closes_ = context().Close(windows);
    if (what == "scoped close right") closes_.push_back(context().Close(windows.at("right")));
    open_place_ = what == "guards" ? 1 : 0;
  }

  Channel<std::string> out_;
  size_t open_place_ = 0;
  std::vector<ScopedClose> closes_;
  Behavior by_place_{"by place", On(windows, &Desk::ByPlace), On(clerks, &Desk::Answer), On(mode, &Desk::Mode)};
  Behavior by_label_{"by label", On(windows, &Desk::ByLabel), On(clerks, &Desk::AnswerLater), On(mode, &Desk::Mode)};
  Behavior awaiting_{"awaiting", On(windows, &Desk::Await), On(mode, &Desk::Mode)};
  Behavior by_reference_{"by reference",
                         On(windows,
                            [this](const std::string& text, const auto& place) -> Task<> {
                              auto pause = context().Sleep(absl::Seconds(1));
                              (void)co_await pause;
                              out_.Tell(absl::StrCat("kept ", place, " ", text));
                            }),
                         On(mode, &Desk::Mode)};
  Behavior by_element_{"by element", On(windows.at("right"), &Desk::Plain),
                       On(windows[0], [this](const std::string& text) { out_.Tell("first: " + text); }),
                       On(clerks[2], [](const std::string& text) { return "only " + text; }), On(mode, &Desk::Mode)};
  Behavior guarded_{"guarded", On(windows, &Desk::Plain).When(&Desk::IsOpen), On(mode, &Desk::Mode)};
  Behavior away_{"away", Drop(windows), Refuse(clerks, absl::UnavailableError("lunch")), On(mode, &Desk::Mode)};
};

class DeskTest : public ActorTest {
 protected:
  DeskTest() : out_(system()), desk_(system().Spawn<Desk>(out_.channel())) {}
  void Both() {
    desk_.At(&Desk::windows, "left").Tell("a");
    desk_.At(&Desk::windows, "right").Tell("b");
  }
  void Mode(const char* what) {
    desk_[&Desk::mode].Tell(what);
    system().RunUntilIdle();
  }

  Probe<std::string> out_;
  Ref<Desk> desk_;
};

TEST_F(DeskTest, OneClauseHandlesEachMailboxAndMayTakeItsPlaceOrItsLabel) {
  Both();
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("0 a", "1 b"));
  EXPECT_EQ(*Ask(desk_.At(&Desk::clerks, 2), std::string("c")), "2 c");
  EXPECT_EQ(Ask(desk_.At(&Desk::clerks, 0), std::string()).status(), absl::InvalidArgumentError("empty"));
  Mode("labels");
  Both();
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("left a", "right b"));
  EXPECT_EQ(*Ask(desk_.At(&Desk::clerks, "1"), std::string("c")), "1 c");
}

TEST_F(DeskTest, AClauseMayBeAssignedWhatItsSetterReturns) {
  Mode("assigned");
  Both();
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("a", "b"));
  EXPECT_EQ(*Ask(desk_.At(&Desk::clerks, 0), std::string("c")), "c");
}

TEST_F(DeskTest, ACoroutineMayTakeItsPlaceByReference) {
  Mode("reference");
  Both();
  system().Advance(absl::Seconds(3));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("kept 0 a", "kept 1 b"));
}

TEST_F(DeskTest, ACoroutineKeepsItsPlace) {
  Mode("await");
  Both();
  system().Advance(absl::Seconds(5));
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("awaited 0 a", "awaited 1 b"));
}

TEST_F(DeskTest, AnElementIsAMailboxLikeAnyOther) {
  Mode("one");
  Both();
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("first: a", "b"));
  EXPECT_EQ(*Ask(desk_.At(&Desk::clerks, 2), std::string("c")), "only c");
  EXPECT_TRUE(IsExpired(Ask(desk_.At(&Desk::clerks, 0), std::string("c")).status())) << "it is not named";
}

TEST_F(DeskTest, AGuardMayTakeThePlace) {
  Mode("guards");
  Both();
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("b"));
  Mode("");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("a"));
}

TEST_F(DeskTest, DropAndRefuseTakeTheWholeArray) {
  Mode("away");
  Both();
  out_.ExpectNothing();
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 2);
  EXPECT_EQ(Ask(desk_.At(&Desk::clerks, 1), std::string("c")).status(), absl::UnavailableError("lunch"));
}

TEST_F(DeskTest, ScopedClosesCloseOneOrAll) {
  Mode("scoped close all");
  Both();
  out_.ExpectNothing();
  Mode("scoped close right");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("0 a"));
  Mode("");
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("1 b"));
}

TEST_F(DeskTest, EachMailboxHasItsOwnBound) {
  Mode("scoped close all");
  for (int i = 0; i < 3; ++i) {
    const absl::Status sent = desk_.At(&Desk::windows, "left").Send("a");
    EXPECT_EQ(sent.ok(), i < 2) << sent;
    if (!sent.ok()) {
      EXPECT_THAT(std::string(sent.message()), HasSubstr("mailbox town.Desk/window[left] holds 2"));
    }
  }
  EXPECT_TRUE(desk_.At(&Desk::windows, "right").Send("b").ok());
  Mode("");
}

TEST_F(DeskTest, AChannelToALabelThatIsNotThereIsRefusedAndNamesIt) {
  system().RunUntilIdle();
  const absl::Status sent = desk_.At(&Desk::windows, "middle").Send("a");
  EXPECT_TRUE(IsNoMailbox(sent)) << sent;
  EXPECT_THAT(std::string(sent.message()), HasSubstr("no mailbox town.Desk/window[middle]"));
  EXPECT_TRUE(IsNoMailbox(desk_.At(&Desk::windows, "").Send("a")));
  EXPECT_TRUE(IsNoMailbox(Ask(desk_.At(&Desk::clerks, 3), std::string("c")).status()));
}

TEST_F(DeskTest, ItsSignaturesAreThoseOfItsMailboxes) {
  const MailboxSignature signature = SignatureOf(&Desk::windows, "left");
  EXPECT_EQ(signature.name, "town.Desk/window[left]");
  EXPECT_FALSE(signature.is_call);
  EXPECT_EQ(SignatureOf(&Desk::clerks, "2").name, "town.Desk/clerk[2]");
  EXPECT_TRUE(SignatureOf(&Desk::clerks, "2").is_call);
}

// Labels that the test chooses, in the constructor.
class Labelled final : public Actor {
 public:
  explicit Labelled(std::vector<std::string> labels) : boxes(this, std::move(labels)) {}
  StartResult Start() override {
    return Behavior("labelled", On(boxes, [](int) {}), On(other, [] {}));
  }
  MailboxArray<"box", int> boxes;
  Mailbox<"other", int> other{this};
};

TEST_F(MailboxArrayTest, ALabelWithTheHashOfAnotherReachesNobody) {
  // Their names box[…] have one hash. Labels may come from data.
  const char* const declared = "client-16873194025822651983";
  const char* const strange = "client-3635182160082752511";
  Ref<Labelled> before = system().Spawn<Labelled>(std::vector<std::string>{"a"});
  system().RunUntilIdle();
  EXPECT_TRUE(IsNoMailbox(before.At(&Labelled::boxes, strange).Send(1)));
  EXPECT_TRUE(IsNoMailbox(before.At(&Labelled::boxes, declared).Send(1)));
  Ref<Labelled> labelled = system().Spawn<Labelled>(std::vector<std::string>{declared});
  system().RunUntilIdle();
  EXPECT_TRUE(labelled.At(&Labelled::boxes, declared).Send(1).ok());
  EXPECT_TRUE(IsNoMailbox(labelled.At(&Labelled::boxes, strange).Send(1)));
  EXPECT_TRUE(IsNoMailbox(labelled.At(&Labelled::boxes, std::string(1000, 'x')).Send(1))) << "longer than any";
}

class Asks final : public Actor {
 public:
  MailboxArray<"box", int> boxes{this, {"a"}};
  explicit Asks(int place) : place_(place) {}
  StartResult Start() override {
    (void)(place_ < 0 ? boxes.at("b").index() : boxes[static_cast<size_t>(place_)].index());
    return StartResult::Ignore();
  }

 private:
  int place_;
};

class Counted final : public Actor {
 public:
  explicit Counted(int count) : boxes(this, count) {}
  StartResult Start() override { return StartResult::Ignore(); }
  MailboxArray<"box", int> boxes;
};

using MailboxArrayDeathTest = ActorTest;

template <class A, class... Args>
void SpawnAlone(Args... args) {
  TestSystem system;
  system.Spawn<A>(args...);
  system.RunUntilIdle();
}

TEST_F(MailboxArrayDeathTest, BadLabelsAndPlacesSayWhatIsWrong) {
  using Labels = std::vector<std::string>;
  EXPECT_DEATH(SpawnAlone<Labelled>(Labels{"a", ""}), "mailbox array box has an empty label at place 1");
  EXPECT_DEATH(SpawnAlone<Labelled>(Labels{"a", "b", "a"}), "mailbox array box has the label a twice");
  EXPECT_DEATH(SpawnAlone<Labelled>(Labels{std::string(limits::kMailboxLabelBytesMax + 1, 'x')}),
               "mailbox array box has a label of 65 bytes, x*; at most 64 are allowed");
  EXPECT_DEATH(SpawnAlone<Counted>(-1), "an array of -1 mailboxes: an actor has at most 64");
  EXPECT_DEATH(SpawnAlone<Counted>(65), "an array of 65 mailboxes: an actor has at most 64");
  EXPECT_DEATH(SpawnAlone<Asks>(1), "mailbox array box has 1 mailboxes, and none at 1");
  EXPECT_DEATH(SpawnAlone<Asks>(-1), "mailbox array box has no label b; it has a");
}

TEST_F(MailboxArrayDeathTest, ItsMailboxesCountTowardTheSixtyFour) {
  std::vector<std::string> labels = internal::LabelsUpTo(63);
  SpawnAlone<Labelled>(labels);  // and one more
  labels.push_back("63");
  EXPECT_DEATH(SpawnAlone<Labelled>(labels), "mailbox other is one too many: an actor has at most 64");
  labels.push_back("64");
  EXPECT_DEATH(SpawnAlone<Labelled>(labels), "mailbox box.64. is one too many: an actor has at most 64");
}

}  // namespace
}  // namespace understudy
