// Debug builds CHECK that an actor's context, handles and behaviours are used in that actor's turn.
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

#ifdef NDEBUG
constexpr bool kChecks = false;
#else
constexpr bool kChecks = true;
#endif

// Lets others in.
class Open final : public Actor {
 public:
  Mailbox<"note", int> note{this};
  Mailbox<"other", int> other{this};
  explicit Open(Open** self) { *self = this; }
  StartResult Start() override { return opened; }
  void TakeNote(int /*note*/) {}
  bool IsOpen() const { return true; }
  void Enter() {}
  using Actor::Become;
  using Actor::context;
  using Actor::Fail;
  Behavior opened{"opened", On(note, [](int) {})};
};

class OwnerTurnTest : public ActorTest {
 protected:
  void SetUp() override {
    if (!kChecks) GTEST_SKIP() << "debug builds only";
    outside_pid_ = system().Spawn<Open>(&outside_).pid();
    system().RunUntilIdle();
  }
  Open& outside() { return *outside_; }
  Pid outside_pid() const { return outside_pid_; }

 private:
  Open* outside_ = nullptr;
  Pid outside_pid_;
};

// All functions of context.h and actor.h; a template is covered by the function that it calls.
TEST_F(OwnerTurnTest, ACallOfItsContextOutsideItIsNamed) {
  Open& self = outside();
  Context& context = self.context();
  const Pid nobody;
  const std::vector<std::pair<const char*, std::function<void()>>> calls = {
      {"Self", [&] { (void)context.Self(); }},
      {"Parent", [&] { (void)context.Parent(); }},
      {"Now", [&] { (void)context.Now(); }},
      {"WallNow", [&] { (void)context.WallNow(); }},
      {"Random", [&] { (void)context.Random(); }},
      {"Log", [&] { (void)context.Log(); }},
      {"Spawn", [&] { (void)context.Spawn<Script>(); }},
      {"Spawner", [&] { (void)context.Spawner(); }},
      {"Link", [&] { context.Link(nobody); }},
      {"Unlink", [&] { context.Unlink(nobody); }},
      {"Monitor", [&] { (void)context.Monitor(nobody); }},
      {"Exit", [&] { context.Exit(nobody, ExitReason::Normal()); }},
      {"Kill", [&] { context.Kill(nobody); }},
      {"RequestStop", [&] { context.RequestStop(nobody); }},
      {"TrapExits", [&] { context.TrapExits(); }},
      {"TrapStops", [&] { context.TrapStops([](const StopRequest&) {}); }},
      {"FinishStart", [&] { context.FinishStart(); }},
      {"DeclineStart", [&] { context.DeclineStart(); }},
      {"Stop", [&] { context.Stop(); }},
      {"BecomeStacked", [&] { (void)context.BecomeStacked(self.opened); }},
      {"Unbecome", [&] { (void)context.Unbecome(); }},
      {"Close", [&] { (void)context.Close(self.note); }},
      {"Postpone", [&] { context.Postpone(); }},
      {"StartTimer", [&] { (void)context.StartTimer("t", absl::Seconds(1)); }},
      {"CancelTimer", [&] { (void)context.CancelTimer("t"); }},
      {"Register", [&] { (void)context.Register("name"); }},
      {"Publish", [&] { (void)context.Publish("name"); }},
      {"Unregister", [&] { context.Unregister("name"); }},
      {"Lookup", [&] { (void)context.Lookup<Ref<Script>>("name", absl::Seconds(1)); }},
      {"WatchName", [&] { (void)context.WatchName("name"); }},
      {"UnwatchName", [&] { context.UnwatchName("name"); }},
      {"Mailboxes", [&] { (void)context.Mailboxes(); }},
      {"Become", [&] { self.Become(self.opened); }},
      {"Fail", [&] { (void)self.Fail(absl::InternalError("outside")); }},
  };
  for (const auto& [name, call] : calls) {
    EXPECT_DEATH(call(), R"(context\(\) of <.*> is used outside its turn)") << name;
  }
}

TEST_F(OwnerTurnTest, EndingAScopedCloseOrAMonitorHandleOutsideItIsNamed) {
  std::optional<ScopedClose> close;
  std::optional<MonitorHandle> watch;
  const Ref<Script> owner = system().Spawn<Script>();
  Do(owner, [&](Script& self) {
    close = self.context().Close(self.note);
    watch = self.context().Monitor(outside_pid(), [](const Down&) {});
  });
  system().RunUntilIdle();
  EXPECT_DEATH(close.reset(), "a ScopedClose of <.*> ends outside its turn");
  EXPECT_DEATH(watch.reset(), "a MonitorHandle of <.*> ends outside its turn");
  EXPECT_DEATH(close->End(), "a ScopedClose of <.*> ends outside its turn");
  EXPECT_DEATH(*watch = MonitorHandle(), "a MonitorHandle of <.*> ends outside its turn");
  Do(system().Spawn<Script>(),
     [&](Script& /*other*/) { EXPECT_DEATH(close.reset(), "a ScopedClose of <.*> ends outside its turn"); });
  system().RunUntilIdle();
  // Objects that outlive their actor may be destroyed outside of a turn.
  system().Kill(owner.pid());
  system().RunUntilIdle();
  close.reset();
  watch.reset();
}

TEST_F(OwnerTurnTest, ACallOfItsContextInTheTurnOfAnotherActorIsNamed) {
  Do(system().Spawn<Script>(), [this](Script& other) {
    EXPECT_EQ(other.context().Now(), system().Now());
    EXPECT_DEATH((void)outside().context().Now(), "outside its turn");
    EXPECT_DEATH((void)outside().Fail(absl::InternalError("outside")), "outside its turn");
  });
  system().RunUntilIdle();
}

// Has a handler, a guard and a hook that are another class's, or another actor's mailbox.
class Borrower final : public Actor {
 public:
  enum class What { kHandler, kGuard, kHook, kMailbox };
  Mailbox<"note", int> note{this};
  Borrower(What what, Open* lender) : what_(what), lender_(lender) {}
  StartResult Start() override {
    switch (what_) {
      case What::kHandler:
        return Behavior("borrowing", On(note, &Open::TakeNote));
      case What::kGuard:
        return Behavior("borrowing", On(note, [] {}).When(&Open::IsOpen));
      case What::kHook:
        return Behavior("borrowing", On(note, [] {})).WhenEntered(&Open::Enter);
      case What::kMailbox:
        return Behavior("borrowing", On(lender_->other, [] {}));
    }
    return StartResult::Ignore();
  }

 private:
  const What what_;
  Open* const lender_;
};

TEST_F(OwnerTurnTest, AClauseOfAnotherClassOrActorIsNamed) {
  const auto borrow = [this](Borrower::What what) {
    system().Spawn<Borrower>(what, &outside())[&Borrower::note].Tell(1);
    system().RunUntilIdle();
  };
  for (const auto what : {Borrower::What::kHandler, Borrower::What::kGuard, Borrower::What::kHook}) {
    EXPECT_DEATH(borrow(what), "a member of .*Open in a behavior of a .*Borrower, which is none");
  }
  EXPECT_DEATH(borrow(Borrower::What::kMailbox),
               "behavior borrowing of <.*> names a mailbox of another actor: this one has 1");
}

}  // namespace
}  // namespace understudy
