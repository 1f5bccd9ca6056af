// The races of OTP's gen_statem_SUITE. Each runs with many seeds, and many times on threads (rounds.h).
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tests/conformance/rounds.h"
#include "understudy/tests/conformance/scene.h"

namespace understudy {
namespace {

// Answers each call after the delay that the call asks for.
class LateEcho final : public Actor {
 public:
  Mailbox<"ask", Call<std::pair<int, absl::Duration>, int>> ask{this};
  StartResult Start() override { return echoing_; }

 private:
  void Ask(const std::pair<int, absl::Duration>& what, Replier<int> replier) {
    const int number = what.first;
    repliers_.emplace(number, std::move(replier));
    EXPECT_TRUE(context()
                    .StartTimer(absl::StrCat(number), what.second,
                                [this, number] {
                                  repliers_.at(number).Reply(number);
                                  repliers_.erase(number);
                                })
                    .ok());
  }
  std::map<int, Replier<int>> repliers_;
  Behavior echoing_{"echoing", On(ask, &LateEcho::Ask)};
};

// Replies arrive when the timeouts of their calls expire. Each call must get exactly one answer, its own.
void LateReply(ActorSystem& system, Random& random) {
  Tally answered(system);
  const absl::Duration due = absl::Microseconds(1 + random.Below(3));
  Ref<LateEcho> echo = system.Spawn<LateEcho>();
  Ref<Script> asker = system.Spawn<Script>();
  RunTask(asker, [&, due](Script&) -> Task<> {
    for (int i = 0; i < 3; ++i) {
      const auto late = echo[&LateEcho::ask].Ask(std::make_pair(10 + i, due), due);
      const absl::StatusOr<int> answer = co_await late;
      EXPECT_TRUE(IsExpired(answer.status()) || answer.value_or(0) == 10 + i) << AnswerText(answer);
      answered.Add();
    }
    const auto next = echo[&LateEcho::ask].Ask(std::make_pair(20, due), absl::Minutes(5));
    const absl::StatusOr<int> own = co_await next;
    EXPECT_EQ(AnswerText(own), "20");
    answered.Add();
  });
  answered.Await(4);
  Do(asker, [](Script& self) { self.context().Stop(); });
  system.Kill(echo.pid());
  ExpectAllEnded(system);
  EXPECT_EQ(answered.count(), 4);
}

// OTP FSM-25
TEST(FsmRaceTest, ALateReplyNeverReachesItsAskerWithEverySeed) { WithEverySeed(LateReply); }
// OTP FSM-25
TEST(FsmRaceTest, ALateReplyNeverReachesItsAskerOnThreads) { OnThreads(LateReply); }

// Collects calls. When it has `calls` of them, it answers all with their numbers and stops in the same turn.
class AnswersAndStops final : public Actor {
 public:
  Mailbox<"ask", Call<int, int>> ask{this};
  explicit AnswersAndStops(size_t calls) : calls_(calls) {}
  StartResult Start() override { return serving_; }

 private:
  void Ask(int number, Replier<int> replier) {
    held_.emplace_back(number, std::move(replier));
    if (held_.size() < calls_) return;
    context().Stop(DiskFailed());
    for (auto& [call, held] : held_) held.Reply(call);
  }
  const size_t calls_;
  std::vector<std::pair<int, Replier<int>>> held_;
  Behavior serving_{"serving", On(ask, &AnswersAndStops::Ask)};
};

// What an asker is told, in order.
struct Told {
  bool has_answer = false;
  int exits = 0;
  int downs = 0;
  int before_answer = 0;  // exits and Downs that came before the answer
};

// Links to and monitors the server that it asks. It receives the server's end while it awaits the answer, or after it.
class Asker final : public Actor {
 public:
  Mailbox<"hears", int> hears{this};
  Mailbox<"waits", int> waits{this};
  Asker(Ref<AnswersAndStops> server, Told* told, Tally* all) : server_(server), told_(*told), all_(*all) {}
  StartResult Start() override {
    context().TrapExits([this](const ExitEvent& event) { Ended(event.reason, told_.exits); });
    context().Link(server_);
    (void)context().Monitor(server_, [this](const Down& down) { Ended(down.reason, told_.downs); }).Keep();
    return asking_;
  }

 private:
  Task<> Ask(int number) {
    const auto asked = server_[&AnswersAndStops::ask].Ask(number, absl::Minutes(5));
    const absl::StatusOr<int> answer = co_await asked;
    EXPECT_EQ(AnswerText(answer), absl::StrCat(number));
    told_.has_answer = true;
    all_.Add();
  }
  void Ended(const ExitReason& reason, int& count) {
    EXPECT_EQ(reason, DiskFailed());
    if (!told_.has_answer) ++told_.before_answer;
    ++count;
    all_.Add();
  }
  const Ref<AnswersAndStops> server_;
  Told& told_;
  Tally& all_;
  Behavior asking_{"asking", On(hears, &Asker::Ask).Interleaved(), On(waits, &Asker::Ask)};
};

// A server answers its askers and stops. Each asker must get its answer before the server's exit and Down.
void ReplyAgainstExit(ActorSystem& system, Random& random) {
  constexpr size_t kAskers = 3;
  Tally all(system);
  Told told[kAskers];
  std::vector<Ref<Asker>> askers;
  Ref<AnswersAndStops> server = system.Spawn<AnswersAndStops>(kAskers);
  for (size_t i = 0; i < kAskers; ++i) {
    askers.push_back(system.Spawn<Asker>(server, &told[i], &all));
    const bool hears = random.Below(4) != 0;
    const Channel<int> ask = hears ? askers[i][&Asker::hears] : askers[i][&Asker::waits];
    ask.Tell(static_cast<int>(i));
  }
  all.Await(3 * kAskers);
  for (const Ref<Asker>& asker : askers) system.Kill(asker.pid());
  ExpectAllEnded(system);
  for (const Told& one : told) {
    EXPECT_EQ(one.before_answer, 0);
    EXPECT_EQ(one.exits, 1);
    EXPECT_EQ(one.downs, 1);
  }
}

// OTP FSM-31
TEST(FsmRaceTest, RepliesThatGoWithAStopComeBeforeTheExitWithEverySeed) { WithEverySeed(ReplyAgainstExit); }
// OTP FSM-31
TEST(FsmRaceTest, RepliesThatGoWithAStopComeBeforeTheExitOnThreads) { OnThreads(ReplyAgainstExit); }

}  // namespace
}  // namespace understudy
