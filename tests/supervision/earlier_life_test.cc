// A reply or Down for an earlier life of a child must not reach the child's next life (semantics 6.1), however late it
// arrives, and although the next life asks and monitors under the same numbers.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/actors/test_system.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/seeds.h"
#include "understudy/supervision/builders.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervisor.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Oracle;

struct Question {
  int life = 0;
  int number = 0;
};

// An actor that exists only to be monitored.
class Star final : public Actor {
 public:
  StartResult Start() override {
    return Behavior("shining", After(absl::InfiniteDuration(), [] {}));
  }
};

// State that the lives of a child share.
struct Lives {
  Ref<Oracle> oracle;
  int lives = 0;
  std::vector<std::string> heard;
  int strange = 0;  // answers and Downs that reached a life for which they were not meant
  int answered = 0;
  int answered_too_late = 0;  // answered after the life that asked had ended
  int downs = 0;
};

// Answers the oldest questions when it is told to.
class Oracle final : public Actor {
 public:
  Mailbox<"ask", Call<Question, Question>> ask{this};
  Mailbox<"answer", int> answer{this};
  explicit Oracle(std::shared_ptr<Lives> lives) : lives_(std::move(lives)) {}
  StartResult Start() override { return open_; }

 private:
  struct Asked {
    Question question;
    Replier<Question> replier;
  };
  void Ask(const Question& question, Replier<Question> replier) { asked_.push_back({question, std::move(replier)}); }
  void Answer(int count) {
    for (; count > 0 && !asked_.empty(); --count) {
      if (asked_.front().question.life < lives_->lives) ++lives_->answered_too_late;
      asked_.front().replier.Reply(asked_.front().question);
      asked_.erase(asked_.begin());
    }
  }
  const std::shared_ptr<Lives> lives_;
  std::vector<Asked> asked_;
  Behavior open_{"open", On(ask, &Oracle::Ask), On(answer, &Oracle::Answer)};
};

// Asks and monitors when it is told to.
class Astronomer final : public Actor {
 public:
  Mailbox<"ask", int> ask{this};
  Mailbox<"watch", Pid> watch{this};
  explicit Astronomer(std::shared_ptr<Lives> lives) : lives_(std::move(lives)) {}
  StartResult Start() override {
    life_ = ++lives_->lives;
    return open_;
  }

 private:
  Task<> Ask(int number) {
    auto asked = lives_->oracle[&Oracle::ask].Ask({life_, number}, absl::Hours(1));
    const absl::StatusOr<Question> answer = co_await asked;
    if (!answer.ok()) {
      lives_->heard.push_back(answer.status().ToString());
      co_return;
    }
    ++lives_->answered;
    if (answer->life != life_ || answer->number != number) ++lives_->strange;
    lives_->heard.push_back(absl::StrCat("life ", life_, ": answer to life ", answer->life));
  }
  void Watch(Pid star) {
    // The handle is given up, so the monitor exists until it fires or this life ends.
    MonitorHandle monitor = context().Monitor(star, [this, life = life_, star](const Down& down) {
      ++lives_->downs;
      if (life != lives_->lives || down.pid != star) ++lives_->strange;
      lives_->heard.push_back(absl::StrCat("life ", life, ": down to life ", life));
    });
    std::move(monitor).Keep();
  }

  const std::shared_ptr<Lives> lives_;
  int life_ = 0;
  Behavior open_{"open", On(ask, &Astronomer::Ask).Interleaved(), On(watch, &Astronomer::Watch)};
};

// A supervisor with one child, and the actor that the child asks and monitors.
struct Observatory {
  explicit Observatory(uint64_t seed) : system(seed), lives(std::make_shared<Lives>()) {
    lives->oracle = system.Spawn<Oracle>(lives);
    root = system.Spawn(OneForOne().Intensity(1000, absl::Seconds(1)).Child("astronomer", Of<Astronomer>(lives)));
    system.RunUntilIdle();
  }
  ~Observatory() { ExpectNothingLost(system); }

  Ref<Astronomer> Child() {
    const absl::StatusOr<Children> children = system.Ask(root.which_children(), WhichChildren(), absl::Seconds(1));
    EXPECT_TRUE(children.ok()) << children.status();
    return children.ok() ? Ref<Astronomer>(children->children[0].pid) : Ref<Astronomer>();
  }
  void Crash() { system.Exit(Child().pid(), ExitReason::Failed(absl::DataLossError("disk"))); }
  // Returns the answers and Downs that the child's lives have received since the last call.
  std::vector<std::string> Heard() {
    system.RunUntilIdle();
    return std::exchange(lives->heard, {});
  }

  TestSystem system;
  const std::shared_ptr<Lives> lives;
  SupervisorRef root;
};

TEST(EarlierLifeTest, AnAnswerThatComesAfterTheRestartIsNotTheNextLifes) {
  Observatory all(1);
  all.Child()[&Astronomer::ask].Tell(1);
  all.system.RunUntilIdle();
  all.Crash();
  all.system.RunUntilIdle();
  ASSERT_EQ(all.lives->lives, 2);
  // This is also the first ask of its life, so it has the same number.
  all.Child()[&Astronomer::ask].Tell(1);
  all.system.RunUntilIdle();
  all.lives->oracle[&Oracle::answer].Tell(1);
  EXPECT_THAT(all.Heard(), IsEmpty()) << "the question of the first life was answered";
  all.lives->oracle[&Oracle::answer].Tell(1);
  EXPECT_THAT(all.Heard(), ElementsAre("life 2: answer to life 2"));
}

TEST(EarlierLifeTest, AMonitorOfTheLastLifeTellsTheNextNothing) {
  Observatory all(1);
  const Ref<Star> first = all.system.Spawn<Star>();
  const Ref<Star> second = all.system.Spawn<Star>();
  all.Child()[&Astronomer::watch].Tell(first.pid());
  all.system.RunUntilIdle();
  all.Crash();
  all.system.RunUntilIdle();
  // This is also the first monitor of its life, so it has the same number.
  all.Child()[&Astronomer::watch].Tell(second.pid());
  all.system.RunUntilIdle();
  all.system.Kill(first.pid());
  EXPECT_THAT(all.Heard(), IsEmpty());
  all.system.Kill(second.pid());
  EXPECT_THAT(all.Heard(), ElementsAre("life 2: down to life 2"));
}

// The crash, the answers and the ends happen in any order, and also at the same time.
TEST(EarlierLifeTest, EachLifeHearsOnlyWhatItAskedForAndWatchesUnderEverySeed) {
  int answered = 0;
  int downs = 0;
  int lives = 0;
  int too_late = 0;
  ForEachSeed(300, [&](uint64_t seed) {
    Observatory all(seed);
    Random random(seed);
    std::vector<Pid> stars;
    for (int step = 0; step < 60; ++step) {
      switch (random.Below(6)) {
        case 0:
          all.Child()[&Astronomer::ask].Send(step).IgnoreError();  // the child may just have ended
          break;
        case 1:
          stars.push_back(all.system.Spawn<Star>().pid());
          all.Child()[&Astronomer::watch].Send(stars.back()).IgnoreError();
          break;
        case 2:
          all.lives->oracle[&Oracle::answer].Tell(static_cast<int>(random.Below(3)));
          break;
        case 3:
          if (stars.empty()) break;
          all.system.Kill(stars[random.Below(stars.size())]);
          break;
        case 4:
          if (random.Below(2) == 0) all.Crash();
          break;
        default:
          for (uint64_t turns = random.Below(6); turns > 0; --turns) (void)all.system.seeded_executor().RunOne();
      }
    }
    all.system.RunUntilIdle();
    EXPECT_EQ(all.lives->strange, 0) << testing::PrintToString(all.Heard());
    answered += all.lives->answered;
    downs += all.lives->downs;
    lives += all.lives->lives;
    too_late += all.lives->answered_too_late;
  });
  if (!SeedFromEnvironment()) {
    EXPECT_GT(answered, 500);
    EXPECT_GT(downs, 300);
    EXPECT_GT(lives, 1000);
    EXPECT_GT(too_late, 100);
  }
}

}  // namespace
}  // namespace understudy
