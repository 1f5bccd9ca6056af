// How a supervised child's name looks to other actors while the child is down. Each test runs with many seeds, because
// its guarantee must not depend on the order of turns.
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/named.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/test_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/tests/actors/script.h"
#include "understudy/tests/supervision/workers.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kSoon = absl::Seconds(1);

class VacantNameTest : public testing::TestWithParam<uint64_t> {
 protected:
  ChildBuilder Book(ChildBuilder child) {
    return std::move(child).RegisteredAs("book").Backoff({.min = absl::Seconds(20), .jitter = 0});
  }
  SupervisorRef Spawn(const SupervisorBuilder& tree) {
    launcher_ = system_.Spawn<Launcher>(tree, life_);
    system_.RunUntilIdle();
    return SupervisorRef(life_->pid());
  }
  void End(const ExitReason& reason) {
    Ref<Worker>(*system_.WhereIs("book"))[&Worker::end].Tell({reason});
    system_.RunUntilIdle();
  }
  // Ends the child, which cannot start again until Repair is called.
  void Crash() {
    manner_->start_fails = absl::UnavailableError("the disk is full");
    End(ExitReason::Failed(absl::InternalError("a bug")));
  }
  void Repair() { manner_->start_fails = absl::OkStatus(); }
  // Returns the error of a send to the name, which must equal the error of a Lookup that reaches its deadline.
  absl::Status Reached() {
    const absl::Status sent = named_->end().Send({ExitReason::Normal()});
    const absl::Status found = system_.Lookup<Ref<Worker>>("book", absl::ZeroDuration()).status();
    EXPECT_EQ(sent.code(), found.code()) << sent << found;
    return found;
  }

  class WorkerRef : public Ref<Worker> {
   public:
    using Ref<Worker>::Ref;
    static std::vector<MailboxSignature> Mailboxes() { return {}; }
    Channel<understudy::End> end() const { return (*this)[&Worker::end]; }
  };

  TestSystem system_{GetParam()};
  Named<WorkerRef> named_{system_, "book"};
  std::shared_ptr<RootLife> life_ = std::make_shared<RootLife>();
  Ref<Launcher> launcher_;
  std::shared_ptr<Journal> journal_ = std::make_shared<Journal>();
  std::shared_ptr<Manner> manner_ = std::make_shared<Manner>();
};

INSTANTIATE_TEST_SUITE_P(Seeds, VacantNameTest, testing::Range<uint64_t>(1, 21));

TEST_P(VacantNameTest, ANameIsRestartingUntilItsChildIsUpAgain) {
  Spawn(OneForOne().Child("a", Book(Of<Worker>("a", journal_, manner_))));
  Crash();
  EXPECT_TRUE(IsRestarting(Reached())) << Reached();
  EXPECT_TRUE(absl::IsUnavailable(Reached()));
  EXPECT_THAT(std::string(Reached().message()),
              HasSubstr("Restarting: the actor with the name book is being restarted"));
  // Longer than the first backoff wait and shorter than the next.
  system_.Advance(absl::Seconds(21));
  EXPECT_TRUE(IsRestarting(Reached())) << "its next start failed: " << Reached();
  Repair();
  const absl::StatusOr<WorkerRef> found = system_.Lookup<WorkerRef>("book", absl::Minutes(5));
  EXPECT_TRUE(found.ok()) << found.status();
}

TEST_P(VacantNameTest, ANameIsFreeWhenItsChildIsNotStartedAgain) {
  const SupervisorRef root =
      Spawn(OneForOne().Intensity(5, kSoon).Child("a", Book(Of<Worker>("a", journal_, manner_).Transient())));
  Crash();
  EXPECT_TRUE(IsRestarting(Reached())) << Reached();
  EXPECT_TRUE(system_.Ask(root.terminate_child(), TerminateChild{"a"}, kSoon).ok());
  EXPECT_TRUE(IsNoName(Reached())) << Reached();
  Repair();
  EXPECT_TRUE(system_.Ask(root.restart_child(), RestartChild{"a"}, kSoon).ok());
  Crash();
  EXPECT_TRUE(IsRestarting(Reached())) << Reached();
  launcher_[&Launcher::exit].Tell({ExitReason::Shutdown()});
  system_.RunUntilIdle();
  EXPECT_TRUE(IsNoName(Reached())) << Reached();
}

// An actor that has received the Down of the child must not find the child's name vacant any more.
TEST_P(VacantNameTest, ANameIsFreeBeforeTheDownOfAChildThatStaysDown) {
  for (const bool is_terminated : {false, true}) {
    const SupervisorRef root = Spawn(OneForOne().Child("a", Book(Of<Worker>("a", journal_, manner_).Transient())));
    absl::Status seen;
    system_.Spawn<Script>([&, pid = *system_.WhereIs("book")](Script& self) {
      const auto look = [&](const Down&) { seen = NoOwnerError(system_.registry(), "book"); };
      (void)self.context().Monitor(pid, look).Keep();
    });
    system_.RunUntilIdle();
    if (is_terminated) {
      EXPECT_TRUE(system_.Ask(root.terminate_child(), TerminateChild{"a"}, kSoon).ok());
    } else {
      End(ExitReason::Normal());
    }
    system_.RunUntilIdle();
    EXPECT_TRUE(IsNoName(seen)) << seen;
  }
}

TEST_P(VacantNameTest, AVacantNameIsRefusedToOthersAndNotToTheChild) {
  Spawn(OneForOne().Child("a", Book(Of<Worker>("a", journal_, manner_))).Child("b", Of<Worker>("b", journal_)));
  Crash();
  system_.Spawn<Worker>(SpawnOptions{.registered_as = "book"}, "rival", journal_);
  system_.RunUntilIdle();
  EXPECT_EQ(system_.WhereIs("book"), absl::nullopt);
  Repair();
  system_.Advance(absl::Minutes(2));
  EXPECT_NE(system_.WhereIs("book"), absl::nullopt);
  EXPECT_TRUE(life_->has_started() && !life_->has_ended());
}

TEST_P(VacantNameTest, ANewChildDoesNotTakeTheVacantNameOfASibling) {
  const SupervisorRef root = Spawn(OneForOne().Child("a", Book(Of<Worker>("a", journal_, manner_))));
  Crash();
  for (const bool start_fails : {false, true}) {
    auto manner = std::make_shared<Manner>();
    if (start_fails) manner->start_fails = absl::UnavailableError("no");
    const absl::Status added =
        system_.Ask(root.start_child(), StartChild{Book(Of<Worker>("b", journal_, manner)).Spec("b")}, kSoon).status();
    EXPECT_TRUE(absl::IsAlreadyExists(added)) << added;
    EXPECT_TRUE(IsRestarting(Reached())) << Reached();
  }
  Repair();
  system_.Advance(absl::Minutes(2));
  EXPECT_NE(system_.WhereIs("book"), absl::nullopt);
}

TEST_P(VacantNameTest, ASiblingThatTheGroupStartsAgainKeepsItsName) {
  Spawn(OneForAll()
            .Child("a", Of<Worker>("a", journal_, manner_).RegisteredAs("first").Backoff({.min = absl::Seconds(20)}))
            .Child("b", Book(Of<Worker>("b", journal_).Transient())));
  manner_->start_fails = absl::UnavailableError("the disk is full");
  Ref<Worker>(*system_.WhereIs("first"))[&Worker::crash].Tell(understudy::Crash());
  system_.RunUntilIdle();
  EXPECT_TRUE(IsRestarting(Reached())) << Reached();
  Repair();
  system_.Advance(absl::Minutes(2));
  EXPECT_NE(system_.WhereIs("book"), absl::nullopt);
}

TEST_P(VacantNameTest, AKilledSupervisorKeepsNoName) {
  const SupervisorRef root = Spawn(OneForOne().Child("a", Book(Of<Worker>("a", journal_, manner_))));
  Crash();
  EXPECT_TRUE(IsRestarting(Reached())) << Reached();
  system_.Kill(root.pid());
  system_.RunUntilIdle();
  EXPECT_TRUE(IsNoName(Reached())) << Reached();
}

}  // namespace
}  // namespace understudy
