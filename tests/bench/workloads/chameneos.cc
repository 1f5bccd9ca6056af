// Savina's "chameneos": 100 creatures meet in pairs at a mall. The mall sends the second creature of a pair to the
// first. The first takes the complement of the second's colour and sends its new colour to the second, which does
// likewise. Then both go to the mall again.
#include "absl/types/optional.h"
#include "understudy/tests/bench/workload.h"

namespace understudy::bench {
namespace {

class Creature;

struct Visitor {
  Ref<Creature> creature;
  int64_t colour = 0;  // of three
};

int64_t Complement(int64_t colour, int64_t other) { return colour == other ? colour : 3 - colour - other; }

class Mall final : public Actor {
 public:
  Mailbox<"meet", Visitor> meet{this};
  Mailbox<"start", int64_t> start{this};
  Mailbox<"home", int64_t> home{this};  // how often that creature has met another

  explicit Mall(Finish* finish) : finish_(finish) {}

  StartResult Start() override { return open_; }

 private:
  void Begin(int64_t meetings);
  void Meet(const Visitor& visitor);
  void SendHome(int64_t met) {
    met_ += met;
    if (++creatures_home_ == kCreatures) finish_->Report(met_);
  }

  Finish* const finish_;
  int64_t meetings_left_ = 0;
  absl::optional<Visitor> waiting_;
  int creatures_home_ = 0;
  int64_t met_ = 0;
  Behavior open_{"open", On(meet, &Mall::Meet), On(start, &Mall::Begin), On(home, &Mall::SendHome)};
};

class Creature final : public Actor {
 public:
  Mailbox<"other", Visitor> other{this};
  Mailbox<"change", int64_t> change{this};
  Mailbox<"close", int64_t> close{this};

  Creature(Ref<Mall> mall, int64_t colour) : mall_(mall[&Mall::meet]), home_(mall[&Mall::home]), colour_(colour) {}

  StartResult Start() override {
    Go();
    return living_;
  }

 private:
  void Go() { SendOrDie(mall_, Visitor{Ref<Creature>(context().Self()), colour_}); }
  void MeetOther(const Visitor& visitor) {
    colour_ = Complement(colour_, visitor.colour);
    SendOrDie(visitor.creature[&Creature::change], colour_);
    ++met_;
    Go();
  }
  void Change(int64_t of_other) {
    colour_ = Complement(colour_, of_other);
    ++met_;
    Go();
  }
  void Leave(int64_t) {
    SendOrDie(home_, met_);
    context().Stop();
  }

  const Channel<Visitor> mall_;
  const Channel<int64_t> home_;
  int64_t colour_;
  int64_t met_ = 0;
  Behavior living_{"living", On(other, &Creature::MeetOther), On(change, &Creature::Change),
                   On(close, &Creature::Leave)};
};

void Mall::Begin(int64_t meetings) {
  meetings_left_ = meetings;
  for (int i = 0; i < kCreatures; ++i) {
    context().Spawn<Creature>(SpawnOptions{.link = SpawnLink::kUnlinked}, Ref<Mall>(context().Self()), i % 3);
  }
}

void Mall::Meet(const Visitor& visitor) {
  if (meetings_left_ == 0) return SendOrDie(visitor.creature[&Creature::close], int64_t{0});
  if (!waiting_) {
    waiting_ = visitor;
    return;
  }
  SendOrDie(waiting_->creature[&Creature::other], Visitor(visitor));
  waiting_.reset();
  --meetings_left_;
}

}  // namespace

Measurement RunChameneos(ActorSystem& system, int64_t operations) {
  Finish finish(system);
  const Ref<Mall> mall = system.Spawn<Mall>(&finish);
  const Stopwatch stopwatch;
  SendOrDie(mall[&Mall::start], operations);
  const int64_t met = finish.Await();
  Measurement measured{.count = operations};
  measured.seconds = stopwatch.Seconds();
  UNDERSTUDY_CHECK(met == 2 * operations, "the creatures have met ", met, " others");
  AwaitActorsLeft(system, 1);
  EndActors(system, {mall.pid()});
  return measured;
}

}  // namespace understudy::bench
