// Cigarette smokers: an arbiter gives ingredients to a random one of 200 smokers, which
// tells it when it begins to smoke; then the arbiter gives the next. A smoker who smokes is
// in another behavior, and does not take new ingredients until it is done.
// Oracle: as many cigarettes were smoked as there were rounds.
#include "understudy/actors/channel.h"
#include "understudy/actors/pending_group.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int64_t kSmokers = 200;
constexpr absl::Duration kSmokingTime = absl::Milliseconds(1);

struct Ingredients {};
struct Began {};
struct GetSmoked {};

class Smoker final : public Actor {
 public:
  Mailbox<"table", Ingredients> table{this};
  Mailbox<"smoked", Call<GetSmoked, int64_t>> smoked{this};

  explicit Smoker(Channel<Began> arbiter) : arbiter_(arbiter) {}
  StartResult Start() override { return waiting_; }

 private:
  Behavior Begin() {
    arbiter_.Tell(Began());
    return smoking_;
  }
  Behavior End() {
    ++smoked_;
    return waiting_;
  }

  const Channel<Began> arbiter_;
  int64_t smoked_ = 0;
  Behavior waiting_{"waiting", On(table, &Smoker::Begin), On(smoked, [this](const GetSmoked&) { return smoked_; })};
  Behavior smoking_{"smoking", After(kSmokingTime, &Smoker::End)};
};

class Arbiter final : public Program {
 public:
  Mailbox<"began", Began> began{this};

  explicit Arbiter(int64_t rounds) : rounds_(rounds) {}

  StartResult Start() override {
    for (int64_t i = 0; i < kSmokers; ++i) smokers_.push_back(context().Spawn<Smoker>(context().ChannelTo(began)));
    Give();
    return arbitrating_;
  }

 private:
  void Give() { smokers_[static_cast<size_t>(random_.Below(kSmokers))][&Smoker::table].Tell(Ingredients()); }
  Task<Behavior> Next() {
    if (++rounds_begun_ < rounds_) {
      Give();
      co_return arbitrating_;
    }
    std::vector<Channel<Call<GetSmoked, int64_t>>> counts;
    for (const Ref<Smoker>& smoker : smokers_) counts.push_back(smoker[&Smoker::smoked]);
    auto asked = AskAll(counts, GetSmoked(), kPatience);  // those who smoke answer when they are done
    auto all = All(asked);
    std::vector<absl::StatusOr<int64_t>> answers = co_await all;
    int64_t cigarettes = 0;
    for (const absl::StatusOr<int64_t>& answer : answers) cigarettes += answer.value_or(0);
    co_return Done(Checked("cigarettes", cigarettes, rounds_));
  }

  const int64_t rounds_;
  int64_t rounds_begun_ = 0;
  Random random_;
  std::vector<Ref<Smoker>> smokers_;
  Behavior arbitrating_{"arbitrating", On(began, &Arbiter::Next)};
};

}  // namespace

std::unique_ptr<Actor> MakeCigaretteSmokers(int64_t rounds) { return std::make_unique<Arbiter>(rounds); }

}  // namespace understudy::savina
