#include "understudy/examples/patterns/request_reply.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"
#include "understudy/actors/testing/sanitized.h"

namespace understudy::patterns {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;
using RequestReplyTest = ActorTest;

// SEL 8
// The logistic map of the Savina suite, on one thread: ten series of 25,000 terms, or of 8,000 under a sanitizer, which
// have the same sum. No actor counts the terms: GetTerm is sent after the last NextTerm, so it is answered after it.
TEST_F(RequestReplyTest, TheLogisticMapHasItsKnownSum) {
  constexpr int kSeries = 10;
  constexpr int kTerms = kIsSanitized ? 8000 : 25'000;
  std::vector<Ref<SeriesWorker>> workers;
  for (int i = 0; i < kSeries; ++i) {
    Ref<RateComputer> computer = system().Spawn<RateComputer>(3.46 + 0.0025 * i);
    workers.push_back(system().Spawn<SeriesWorker>(computer, 0.0025 * i));
  }
  system().RunUntilIdle();
  for (int term = 0; term < kTerms; ++term) {
    for (const Ref<SeriesWorker>& worker : workers) worker[&SeriesWorker::next].Tell({});
  }
  double sum = 0;
  for (const Ref<SeriesWorker>& worker : workers) {
    sum += *Ask(worker[&SeriesWorker::get], GetTerm());
  }
  EXPECT_NEAR(sum, 6.387835144604120, 1e-12);
  EXPECT_TRUE(dead_letters().empty());
}

// Asks `computer` and monitors it.
class Patient final : public Actor {
 public:
  Mailbox<"next", NextTerm> next{this};
  Mailbox<"reply", double> reply{this};
  Patient(Channel<Compute> computer, Channel<std::string> out) : computer_(computer), out_(out) {}
  StartResult Start() override {
    watch_ = context().Monitor(computer_.pid(), [this](const Down& down) {
      out_.Tell(absl::StrCat("down ", down.reason.ToString()));
      Become(alone_);
    });
    return ready_;
  }

 private:
  Behavior AskOne(const NextTerm&) {
    computer_.Tell({0.5, context().ChannelTo(reply)});
    return waiting_;
  }
  Channel<Compute> computer_;
  Channel<std::string> out_;
  MonitorHandle watch_;
  Behavior ready_{"ready", On(next, &Patient::AskOne)};
  Behavior waiting_{"waiting", On(reply, [this](double) { return ready_; })};
  Behavior alone_{"alone", On(next, [this] { out_.Tell("alone"); })};
};

// SEL 37
// The replier is killed. A monitor frees the requester, which waits for the reply, because no guard can hold back the
// Down.
TEST_F(RequestReplyTest, ABlockedRequesterGoesOnWhenItsReplierIsKilled) {
  Probe<std::string> out(system());
  Probe<Compute> computer(system());  // never replies
  Ref<Patient> patient = system().Spawn<Patient>(computer.channel(), out.channel());
  for (int i = 0; i < 2; ++i) patient[&Patient::next].Tell({});
  EXPECT_TRUE(computer.Receive());
  computer.ExpectNothing();
  out.ExpectNothing();
  EXPECT_EQ(Ledger().waiting, 1) << "the second next: the patient is blocked";
  system().Kill(computer.pid());
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("down Killed", "alone"));
}

// Keeps its repliers and never answers.
class Hesitant final : public Actor {
 public:
  Mailbox<"compute", Call<double, double>> compute{this};
  explicit Hesitant(Channel<double> asked) : asked_(asked) {}
  StartResult Start() override { return thinking_; }

 private:
  void Keep(double term, Replier<double> replier) {
    asked_.Tell(term);
    repliers_.push_back(std::move(replier));
  }
  Channel<double> asked_;
  std::vector<Replier<double>> repliers_;
  Behavior thinking_{"thinking", On(compute, &Hesitant::Keep)};
};

// The requester Patient, as a coroutine.
class Awaiting final : public Actor {
 public:
  Mailbox<"next", NextTerm> next{this};
  Awaiting(Ref<Hesitant> computer, Channel<std::string> out) : computer_(computer), out_(out) {}
  StartResult Start() override { return ready_; }

 private:
  Task<> AskOne() {
    auto asked = computer_[&Hesitant::compute].Ask(0.5, absl::Minutes(1));
    const absl::StatusOr<double> answer = co_await asked;
    const absl::optional<ExitReason> reason = ExitReasonOf(answer.status());
    out_.Tell(reason ? absl::StrCat("callee exited ", reason->ToString()) : std::string(answer.status().message()));
  }
  Ref<Hesitant> computer_;
  Channel<std::string> out_;
  Behavior ready_{"ready", On(next, &Awaiting::AskOne)};
};

// SEL 37
TEST_F(RequestReplyTest, ARequesterThatAwaitsGoesOnWhenItsReplierIsKilled) {
  Probe<std::string> out(system());
  Probe<double> asked(system());
  Ref<Hesitant> computer = system().Spawn<Hesitant>(asked.channel());
  Ref<Awaiting> patient = system().Spawn<Awaiting>(computer, out.channel());
  for (int i = 0; i < 2; ++i) patient[&Awaiting::next].Tell({});
  EXPECT_THAT(asked.ReceiveAll(), ElementsAre(0.5));
  out.ExpectNothing();
  EXPECT_EQ(Ledger().waiting, 2) << "the first next is in hand, the second behind it";
  system().Kill(computer.pid());
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("callee exited Killed", StartsWith("NoProcess")));
}

}  // namespace
}  // namespace understudy::patterns
