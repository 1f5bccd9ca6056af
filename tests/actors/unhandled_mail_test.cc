// Unhandled mail: messages that wait in mailboxes that keep it are given to the actor's next life (semantics 6.1).
#include "understudy/actors/unhandled_mail.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// State that the lives of a worker share.
struct Job {
  std::vector<std::string> notes;
  bool is_open = false;  // handles what it gets
  int starts_that_fail = 0;
  int constructors_that_fail = 0;
};

// Notes the messages that it handles once it is open; 13 ends it.
class Worker final : public Actor {
 public:
  Mailbox<"kept", int> kept{this, {.capacity_messages = 4, .on_restart = OnRestart::kKeep}};
  Mailbox<"lost", int> lost{this};
  Mailbox<"fresh", int> fresh{this, {.time_to_live = absl::Seconds(10), .on_restart = OnRestart::kKeep}};
  Mailbox<"call", Call<int, int>> call{this, {.on_restart = OnRestart::kKeep}};

  explicit Worker(std::shared_ptr<Job> job) : job_(std::move(job)) {}
  StartResult Start() override {
    if (job_->starts_that_fail > 0) {
      --job_->starts_that_fail;
      return absl::UnavailableError("not yet");
    }
    return job_->is_open ? open_ : closed_;
  }

 private:
  void Note(int n) {
    job_->notes.push_back(absl::StrCat(n));
    if (n == 13) Fail(absl::InternalError("13"));
  }
  int Answer(int n) {
    job_->notes.push_back(absl::StrCat("call ", n));
    return n;
  }

  const std::shared_ptr<Job> job_;
  Behavior closed_{"closed", On(lost, &Worker::Note)};
  Behavior open_{"open", On(kept, &Worker::Note), On(fresh, &Worker::Note), On(lost, &Worker::Note),
                 On(call, &Worker::Answer)};
};

// A parent that has its Downs, and does with them as the test says.
class Boss final : public Actor {
 public:
  Mailbox<"do", std::function<void(Boss&)>> act{this};
  StartResult Start() override {
    context().TrapExits([](const ExitEvent&) {});
    return bossing_;
  }
  using Actor::context;

  Ref<Worker> Spawn(std::shared_ptr<Job> job, UnhandledMail unhandled_mail = {}) {
    SpawnOptions options = SpawnOptions().OnDown(&Boss::WorkerDown).WithUnhandledMail(std::move(unhandled_mail));
    if (job->constructors_that_fail == 0) return context().Spawn<Worker>(std::move(options), job);
    --job->constructors_that_fail;
    ActorSpec<Ref<Worker>> failing;
    failing.make = [] { return std::unique_ptr<Actor>(); };
    return context().Spawn(std::move(options), failing);
  }
  std::vector<Down> downs;

 private:
  void WorkerDown(Down down) { downs.push_back(std::move(down)); }
  Behavior bossing_{"bossing", On(act, [this](const std::function<void(Boss&)>& what) { what(*this); })};
};

class UnhandledMailTest : public ActorTest {
 protected:
  void Act(std::function<void(Boss&)> what) {
    boss_[&Boss::act].Tell(std::move(what));
    system().RunUntilIdle();
  }
  // A first life, closed.
  void Begin() {
    Act([this](Boss& boss) { worker_ = boss.Spawn(job_); });
  }
  void End() {
    system().Exit(worker_.pid(), ExitReason::Failed(absl::DataLossError("disk")));
    system().RunUntilIdle();
  }
  // Spawns the next life with the last one's unhandled mail. `early` is sent at once.
  void BeginAgain(absl::optional<int> early = absl::nullopt) {
    Act([this, early](Boss& boss) {
      UnhandledMail unhandled_mail = std::move(boss.downs.back().unhandled_mail);
      boss.downs.clear();
      worker_ = boss.Spawn(job_, std::move(unhandled_mail));
      if (early) worker_[&Worker::kept].Tell(*early);
    });
  }
  void Drop() {
    Act([](Boss& boss) { boss.downs.clear(); });
  }
  size_t Left() {
    size_t size = 0;
    Act([&](Boss& boss) {
      for (const Down& down : boss.downs) size += down.unhandled_mail.size();
    });
    return size;
  }
  MessageLedger OfEnded(const std::string& mailbox) {
    for (const MailboxLedger& ledger : system().MailboxLedgers()) {
      if (ledger.actor.is_null() && ledger.mailbox == mailbox) return ledger.messages;
    }
    return {};
  }

  std::shared_ptr<Job> job_ = std::make_shared<Job>();
  Ref<Boss> boss_ = system().Spawn<Boss>();
  Ref<Worker> worker_;
};

TEST_F(UnhandledMailTest, WaitingMailGoesToTheNextLifeInOrderAndBeforeMailSentToIt) {
  Begin();
  for (int n = 1; n <= 3; ++n) {
    worker_[&Worker::kept].Tell(n);
    worker_[&Worker::fresh].Tell(10 * n);
  }
  system().RunUntilIdle();
  End();
  EXPECT_EQ(Left(), 6U);
  EXPECT_EQ(OfEnded("kept").waiting, 3) << "in the unhandled mail";
  ExpectLedgersBalance(system());
  job_->is_open = true;
  BeginAgain(/*early=*/4);
  EXPECT_THAT(job_->notes, ElementsAre("1", "10", "2", "20", "3", "30", "4"));
  EXPECT_EQ(OfEnded("kept").of(Disposition::kForwarded), 3);
  EXPECT_EQ(OfEnded("kept").waiting, 0);
  EXPECT_THAT(system().MailboxLedgers(worker_.pid())[0].messages.of(Disposition::kHandled), 4);
  EXPECT_THAT(dead_letters(), IsEmpty());
}

TEST_F(UnhandledMailTest, MailThatArrivesWithTheExitIsKeptToo) {
  Begin();
  worker_[&Worker::kept].Tell(1);
  Do(system().Spawn<Script>(), [this](Script& self) {
    worker_[&Worker::kept].Tell(2);
    self.context().Exit(worker_, ExitReason::Shutdown());
    worker_[&Worker::kept].Tell(3);
    worker_[&Worker::lost].Tell(4);
  });
  system().RunUntilIdle();
  job_->is_open = true;
  BeginAgain();
  EXPECT_THAT(job_->notes, ElementsAre("1", "2", "3"));
  EXPECT_THAT(dead_letters(), SizeIs(1)) << "of the mailbox that keeps nothing";
}

TEST_F(UnhandledMailTest, EarlyMailIsKeptThatIsNotSortedWhenTheLifeEnds) {
  job_->starts_that_fail = 1;
  Act([this](Boss& boss) {
    worker_ = boss.Spawn(job_);
    for (const int n : {1, 2}) worker_[&Worker::kept].Tell(n);
    worker_[&Worker::lost].Tell(3);
  });
  ExpectLedgersBalance(system());
  job_->is_open = true;
  BeginAgain(4);
  EXPECT_THAT(job_->notes, ElementsAre("1", "2", "4"));
  EXPECT_EQ(OfEnded("kept"), (MessageLedger{.accepted = 2, .dispositions = {0, 0, 0, 0, 0, 0, 0, 2}}));
  EXPECT_THAT(dead_letters(), SizeIs(1));
}

TEST_F(UnhandledMailTest, CallsAreAnsweredAndTheMessageInHandIsNotReplayed) {
  job_->is_open = true;
  Begin();
  std::vector<std::string> answers;
  Do(system().Spawn<Script>(), [this](Script&) {
    worker_[&Worker::kept].Tell(13);
    worker_[&Worker::kept].Tell(2);
  });
  RunTask(system().Spawn<Script>(), [&](Script&) -> Task<> {
    auto asked = worker_[&Worker::call].Ask(1, absl::Hours(1));
    const absl::StatusOr<int> answer = co_await asked;
    answers.push_back(answer.ok() ? "answered" : std::string(answer.status().message()));
  });
  system().RunUntilIdle();
  EXPECT_THAT(answers, SizeIs(1));
  BeginAgain();
  EXPECT_THAT(job_->notes, ::testing::IsSupersetOf({"13", "2"}));
  EXPECT_EQ(std::count(job_->notes.begin(), job_->notes.end(), "13"), 1);
  EXPECT_EQ(OfEnded("kept").of(Disposition::kFailed), 1);
}

TEST_F(UnhandledMailTest, MailThatNoSuccessorTakesBecomesDeadLettersOfTheActorThatLeftIt) {
  Begin();
  for (const int n : {1, 2}) worker_[&Worker::kept].Tell(n);
  End();
  EXPECT_THAT(dead_letters(), IsEmpty());
  Drop();
  ASSERT_THAT(dead_letters(), SizeIs(2));
  EXPECT_EQ(dead_letters()[0].to, worker_.pid());
  EXPECT_EQ(dead_letters()[0].mailbox, "kept");
  EXPECT_THAT(dead_letters()[0].ToString(), HasSubstr("disk"));
  EXPECT_EQ(OfEnded("kept").of(Disposition::kDeadLetter), 2);
}

TEST_F(UnhandledMailTest, OnlyAMonitoringParentGetsIt) {
  // Another actor than the worker's parent monitors it.
  Do(system().Spawn<Script>(), [this](Script& self) {
    worker_ = self.context().Spawn<Worker>(SpawnOptions{.link = SpawnLink::kUnlinked}, job_);
  });
  system().RunUntilIdle();
  size_t left = 0;
  Ref<Script> watcher = system().Spawn<Script>();
  Do(watcher, [&](Script& self) {
    self.monitors.push_back(
        self.context().Monitor(worker_, [&](Down down) { left += 1 + down.unhandled_mail.size(); }));
  });
  worker_[&Worker::kept].Tell(1);
  system().RunUntilIdle();
  End();
  EXPECT_EQ(left, 1U) << "a watcher is no heir";
  EXPECT_THAT(dead_letters(), SizeIs(1));
  // A root has none.
  worker_ = system().Spawn<Worker>(job_);
  worker_[&Worker::kept].Tell(1);
  system().RunUntilIdle();
  End();
  EXPECT_THAT(dead_letters(), SizeIs(2));
}

TEST_F(UnhandledMailTest, AParentThatHasEndedOrEndsHasNoUseForIt) {
  Begin();
  worker_[&Worker::kept].Tell(1);
  system().RunUntilIdle();
  system().Kill(boss_.pid());
  system().RunUntilIdle();
  EXPECT_THAT(dead_letters(), SizeIs(1));
  boss_ = system().Spawn<Boss>();
  Begin();
  worker_[&Worker::kept].Tell(2);
  system().RunUntilIdle();
  End();
  EXPECT_EQ(Left(), 1U);
  system().Kill(boss_.pid());
  system().RunUntilIdle();
  EXPECT_THAT(dead_letters(), SizeIs(2)) << "it had the unhandled mail";
}

TEST_F(UnhandledMailTest, AnOrdinaryMonitorOfTheParentHasItAndItsFirstOnly) {
  std::vector<size_t> sizes;
  Ref<Script> parent = system().Spawn<Script>();
  Do(parent, [&](Script& self) {
    worker_ = self.context().Spawn<Worker>(SpawnOptions{.link = SpawnLink::kUnlinked}, job_);
    for (int i = 0; i < 2; ++i) {
      self.monitors.push_back(
          self.context().Monitor(worker_, [&](Down down) { sizes.push_back(down.unhandled_mail.size()); }));
    }
  });
  system().RunUntilIdle();
  worker_[&Worker::kept].Tell(1);
  system().RunUntilIdle();
  End();
  EXPECT_THAT(sizes, ElementsAre(1U, 0U));
  EXPECT_THAT(dead_letters(), SizeIs(1)) << "the handler let it go";
}

// The successor is of another class.
class Other final : public Actor {
 public:
  Mailbox<"kept", int> kept{this, {.capacity_messages = 2, .capacity_bytes = 100}};
  Mailbox<"fresh", std::string> fresh{this};
  explicit Other(std::vector<int>* got) : got_(got) {}
  StartResult Start() override {
    return Behavior("open", On(kept, [this](int n) { got_->push_back(n); }));
  }

 private:
  std::vector<int>* const got_;
};

TEST_F(UnhandledMailTest, TheSuccessorTakesWhatItHasMailboxesAndRoomFor) {
  Begin();
  for (const int n : {1, 2, 3}) worker_[&Worker::kept].Tell(n);
  worker_[&Worker::fresh].Tell(4);
  End();
  std::vector<int> got;
  Act([&](Boss& boss) {
    boss.context().Spawn<Other>(SpawnOptions().WithUnhandledMail(std::move(boss.downs.back().unhandled_mail)), &got);
  });
  EXPECT_THAT(got, ElementsAre(1, 2));
  ASSERT_THAT(dead_letters(), SizeIs(2));
  EXPECT_TRUE(IsFull(dead_letters()[0].why)) << dead_letters()[0].why;
  EXPECT_TRUE(IsNoMailbox(dead_letters()[1].why)) << dead_letters()[1].why;
  EXPECT_EQ(OfEnded("kept").of(Disposition::kForwarded), 2);
  EXPECT_EQ(OfEnded("kept").of(Disposition::kDeadLetter), 1);
}

class Texts final : public Actor {
 public:
  Mailbox<"texts", std::string> texts;
  explicit Texts(MailboxOptions options) : texts(this, options) {}
  StartResult Start() override {
    return Behavior("closed", After(absl::InfiniteDuration(), [] {}));
  }
};

TEST_F(UnhandledMailTest, AMessageIsOfTheSuccessorsTimeWhereItsFirstMailboxHadNoTimeToLive) {
  Ref<Texts> texts;
  Act([&](Boss& boss) {
    SpawnOptions options = SpawnOptions().OnDown([&boss](Down down) { boss.downs.push_back(std::move(down)); });
    texts = boss.context().Spawn<Texts>(std::move(options), MailboxOptions{.on_restart = OnRestart::kKeep});
  });
  texts[&Texts::texts].Tell("one");
  system().Exit(texts.pid(), ExitReason::Shutdown());
  system().Advance(absl::Hours(1));
  Act([&](Boss& boss) {
    texts = boss.context().Spawn<Texts>(SpawnOptions().WithUnhandledMail(std::move(boss.downs.back().unhandled_mail)),
                                        MailboxOptions{.capacity_messages = 1, .time_to_live = absl::Minutes(1)});
  });
  EXPECT_TRUE(IsFull(texts[&Texts::texts].Send("two"))) << "which has what is too old expire";
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kExpired), 0);
}

TEST_F(UnhandledMailTest, ItGoesOnThroughStartsAndConstructorsThatFail) {
  Begin();
  for (const int n : {1, 2}) worker_[&Worker::kept].Tell(n);
  End();
  job_->starts_that_fail = 2;
  job_->constructors_that_fail = 2;
  for (int i = 0; i < 4; ++i) {
    BeginAgain();
    EXPECT_EQ(Left(), 2U) << i;
  }
  job_->is_open = true;
  BeginAgain(3);
  EXPECT_THAT(job_->notes, ElementsAre("1", "2", "3"));
}

TEST_F(UnhandledMailTest, ManyLivesLaterTheOldestIsFirst) {
  for (int life = 0; life < 3; ++life) {
    life == 0 ? Begin() : BeginAgain();
    worker_[&Worker::kept].Tell(life);
    system().RunUntilIdle();
    End();
  }
  // Two unhandled mail in one.
  Begin();
  worker_[&Worker::kept].Tell(3);
  system().RunUntilIdle();
  End();
  job_->is_open = true;
  Act([&](Boss& boss) {
    UnhandledMail all = std::move(boss.downs[0].unhandled_mail);
    all.Append(std::move(boss.downs[1].unhandled_mail));
    EXPECT_TRUE(boss.downs[1].unhandled_mail.empty());
    EXPECT_EQ(all.size(), 4U);
    boss.Spawn(job_, std::move(all));
  });
  EXPECT_THAT(job_->notes, ElementsAre("0", "1", "2", "3"));
}

TEST_F(UnhandledMailTest, TimeToLiveCountsFromTheFirstAcceptance) {
  Begin();
  worker_[&Worker::fresh].Tell(1);
  system().Advance(absl::Seconds(6));
  worker_[&Worker::fresh].Tell(2);
  End();
  system().Advance(absl::Seconds(5));
  job_->is_open = true;
  BeginAgain();
  EXPECT_THAT(job_->notes, ElementsAre("2"));
}

TEST_F(UnhandledMailTest, PostponedMailIsKept) {
  class Postponer final : public Actor {
   public:
    Mailbox<"kept", int> kept{this, {.on_restart = OnRestart::kKeep}};
    StartResult Start() override {
      return Behavior("postponing", On(kept, [this](const int&) { context().Postpone(); }));
    }
  };
  Ref<Postponer> postponer;
  Act([&](Boss& boss) {
    postponer = boss.context().Spawn<Postponer>(
        SpawnOptions().OnDown([&boss](Down down) { boss.downs.push_back(std::move(down)); }));
  });
  for (const int n : {1, 2}) postponer[&Postponer::kept].Tell(n);
  system().RunUntilIdle();
  system().Exit(postponer.pid(), ExitReason::Shutdown());
  system().RunUntilIdle();
  job_->is_open = true;
  BeginAgain();
  EXPECT_THAT(job_->notes, ElementsAre("1", "2"));
}

TEST_F(UnhandledMailTest, AKilledActorLeavesItsUnhandledMailAlsoWhenItIsFenced) {
  Begin();
  worker_[&Worker::kept].Tell(1);
  system().RunUntilIdle();
  system().Kill(worker_.pid());
  system().RunUntilIdle();
  EXPECT_EQ(Left(), 1U);
  Drop();
  // An actor whose handler does not return for a second.
  class Hog final : public Actor {
   public:
    Mailbox<"kept", int> kept{this, {.on_restart = OnRestart::kKeep}};
    explicit Hog(TestSystem& system) : system_(system) {}
    StartResult Start() override {
      return Behavior("hogging", On(kept, [this] { system_.seeded_executor().HoldHere(absl::Seconds(1)); }));
    }

   private:
    TestSystem& system_;
  };
  Ref<Hog> hog;
  Act([&](Boss& boss) {
    hog = boss.context().Spawn<Hog>(
        SpawnOptions().OnDown([&boss](Down down) { boss.downs.push_back(std::move(down)); }), std::ref(system()));
  });
  system().seeded_executor().RunAt(system().Now() + absl::Milliseconds(10), [&] {
    for (const int n : {2, 3}) hog[&Hog::kept].Tell(n);
    system().Kill(hog.pid());
  });
  job_->is_open = true;
  system().seeded_executor().RunAt(system().Now() + absl::Milliseconds(500), [this] {
    boss_[&Boss::act].Tell([this](Boss& boss) {
      ASSERT_THAT(boss.downs, SizeIs(1));
      EXPECT_TRUE(boss.downs[0].reason.handler_running());
      boss.Spawn(job_, std::move(boss.downs[0].unhandled_mail));
    });
  });
  hog[&Hog::kept].Tell(1);
  system().RunUntilIdle();
  EXPECT_THAT(job_->notes, ElementsAre("2", "3")) << "the one in hand is not replayed";
}

TEST_F(UnhandledMailTest, TheDownComesAfterTheOutcomeWithTheReasonAndOnce) {
  job_->starts_that_fail = 1;
  std::vector<std::string> told;
  Act([&](Boss& boss) {
    boss.context().Spawn<Worker>(
        SpawnOptions()
            .OnOutcome([&](const SpawnOutcome& outcome) {
              told.push_back(absl::StrCat("outcome ", outcome.reason.ToString()));
            })
            .OnDown([&](const Down& down) { told.push_back(absl::StrCat("down ", down.reason.ToString())); }),
        job_);
  });
  EXPECT_THAT(told, ElementsAre("outcome Failed(UNAVAILABLE: not yet)", "down Failed(UNAVAILABLE: not yet)"));
}

TEST(UnhandledMailLifetimeTest, MayOutliveItsSystem) {
  UnhandledMail kept;
  {
    TestSystem system;
    auto job = std::make_shared<Job>();
    const Ref<Boss> boss = system.Spawn<Boss>();
    Ref<Worker> worker;
    boss[&Boss::act].Tell([&](Boss& self) { worker = self.Spawn(job); });
    system.RunUntilIdle();
    worker[&Worker::kept].Tell(1);
    system.Exit(worker.pid(), ExitReason::Shutdown());
    system.RunUntilIdle();
    boss[&Boss::act].Tell([&](Boss& self) { kept = std::move(self.downs.back().unhandled_mail); });
    system.RunUntilIdle();
    EXPECT_EQ(system.Ledger().waiting, 1);
  }
  EXPECT_EQ(kept.size(), 1U);
}

}  // namespace
}  // namespace understudy
