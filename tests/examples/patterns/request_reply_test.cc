#include "understudy/examples/patterns/request_reply.h"

#include <vector>

#include "gtest/gtest.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"

namespace understudy::patterns {
namespace {

using RequestReplyTest = ActorTest;

// SEL 8
// The logistic map of the Savina suite, on one thread: ten series of 8,000 terms (its small size, with the sum of
// 25,000 terms too). Nobody counts: GetTerm, sent after the last NextTerm, is answered after it. "Computers in another
// process" is later: nodes.
TEST_F(RequestReplyTest, TheLogisticMapHasItsKnownSum) {
  constexpr int kSeries = 10;
  constexpr int kTerms = 8000;
  std::vector<Ref<SeriesWorker>> workers;
  for (int i = 0; i < kSeries; ++i) {
    Ref<RateComputer> computer = system().Spawn<RateComputer>(3.46 + 0.0025 * i);
    workers.push_back(system().Spawn<SeriesWorker>(computer, 0.0025 * i));
  }
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

// Asks, and watches whom it asks.
class Patient final : public Actor {
 public:
  Mailbox<"next", NextTerm> next{this};
  Mailbox<"reply", double> reply{this};
  Patient(Ref<RateComputer> computer, Channel<int> out) : computer_(computer), out_(out) {}
  Next Start() override {
    watch_ = context().Monitor(computer_, [this](const Down&) { Become(alone_); });
    return ready_;
  }

 private:
  Behavior AskOne(const NextTerm&) {
    computer_[&RateComputer::compute].Tell({0.5, Ref<Patient>(context().Self())[&Patient::reply]});
    return waiting_;
  }
  Ref<RateComputer> computer_;
  Channel<int> out_;
  MonitorHandle watch_;
  Behavior ready_{"ready", On(next, &Patient::AskOne)};
  Behavior waiting_{"waiting", On(reply, [this](double) { return ready_; })};
  Behavior alone_{"alone", On(next, [this] { out_.Tell(1); })};
};

// SEL 37
// A replier that is killed: the requester, blocked for its reply, is freed by a monitor, whose Down no guard closes.
TEST_F(RequestReplyTest, ABlockedRequesterGoesOnWhenItsReplierIsKilled) {
  Probe<int> out(system());
  Ref<RateComputer> computer = system().Spawn<RateComputer>(2.0);
  Ref<Patient> patient = system().Spawn<Patient>(computer, out.channel());
  system().RunUntilIdle();
  system().Kill(computer.pid());
  patient[&Patient::next].Tell({});  // may be handled before the Down comes: then it is not answered
  (void)out.ReceiveAll();
  patient[&Patient::next].Tell({});
  out.Expect(1);
}

}  // namespace
}  // namespace understudy::patterns
