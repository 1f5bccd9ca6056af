// Fork-join, creation: an actor starts many others, each of which is told one thing,
// answers and ends. What an actor has sent before it ended arrives before its Down, so the
// sum is complete when the last Down has come.
// Oracle: as many actors have ended as were started, with reason Normal, and the sum.
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

class Worker final : public Actor {
 public:
  Mailbox<"square", int64_t> square{this};

  explicit Worker(Channel<int64_t> squares) : squares_(squares) {}
  StartResult Start() override { return working_; }

 private:
  void Square(int64_t number) {
    squares_.Tell(number * number);
    context().Stop();
  }

  const Channel<int64_t> squares_;
  Behavior working_{"working", On(square, &Worker::Square)};
};

class ForkJoinCreate final : public Program {
 public:
  Mailbox<"squares", int64_t> squares;

  explicit ForkJoinCreate(int64_t actors) : squares(this, {.capacity_messages = actors}), actors_(actors) {}

  StartResult Start() override {
    for (int64_t number = 1; number <= actors_; ++number) {
      const Ref<Worker> worker = context().Spawn<Worker>(
          SpawnOptions{.link = SpawnLink::kUnlinked}.OnDown(&ForkJoinCreate::Join), context().ChannelTo(squares));
      worker[&Worker::square].Tell(number);
    }
    return joining_;
  }

 private:
  void Add(int64_t square) { sum_ += square; }
  void Join(const Down& down) {
    if (down.reason == ExitReason::Normal()) ++normal_;
    if (++ended_ < actors_) return;
    const bool is_sum_right = sum_ == actors_ * (actors_ + 1) * (2 * actors_ + 1) / 6;
    Become(Done(is_sum_right ? Checked("actors ended", normal_, actors_) : absl::InternalError("a square is missing")));
  }

  const int64_t actors_;
  int64_t sum_ = 0;
  int64_t ended_ = 0;
  int64_t normal_ = 0;
  Behavior joining_{"joining", On(squares, &ForkJoinCreate::Add)};
};

}  // namespace

std::unique_ptr<Actor> MakeForkJoinCreate(int64_t actors) { return std::make_unique<ForkJoinCreate>(actors); }

}  // namespace understudy::savina
