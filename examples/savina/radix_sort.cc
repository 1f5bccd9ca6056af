// Radix sort: a pipeline of one actor for each bit. A stage passes on at once the numbers
// whose bit is 0, and keeps those whose bit is 1 until all numbers have come. A stage waits
// for room in the next one's mailbox, so a slow stage slows those before it.
// Oracle: the numbers arrive in order, and have the right sum.
#include "absl/strings/str_cat.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int kBits = 60;  // the suite's; its random numbers have 16

class Stage final : public Actor {
 public:
  Mailbox<"number", int64_t> number{this};

  Stage(int bit, int64_t numbers, Channel<int64_t> next) : bit_(bit), left_(numbers), next_(next) {}
  StartResult Start() override { return sorting_; }

 private:
  Task<absl::Status> Sort(int64_t value) {
    if ((value >> bit_ & 1) == 1) {
      kept_.push_back(value);
    } else {
      auto sending = next_.SendWhenRoom(value, kPatience);
      absl::Status sent = co_await sending;
      if (!sent.ok()) co_return Fail(sent);
    }
    if (--left_ > 0) co_return absl::OkStatus();
    for (const int64_t kept : kept_) {
      auto sending = next_.SendWhenRoom(kept, kPatience);
      absl::Status sent = co_await sending;
      if (!sent.ok()) co_return Fail(sent);
    }
    co_return absl::OkStatus();
  }

  const int bit_;
  int64_t left_;
  const Channel<int64_t> next_;
  std::vector<int64_t> kept_;
  Behavior sorting_{"sorting", On(number, &Stage::Sort)};
};

// Both ends of the pipeline.
class RadixSort final : public Program {
 public:
  Mailbox<"begin", Channel<int64_t>> begin{this};
  Mailbox<"sorted", int64_t> sorted{this};

  explicit RadixSort(int64_t numbers) : numbers_(numbers) {}

  StartResult Start() override {
    Channel<int64_t> next = context().ChannelTo(sorted);
    for (int bit = kBits - 1; bit >= 0; --bit) next = context().Spawn<Stage>(bit, numbers_, next)[&Stage::number];
    context().Tell(begin, next);
    return working_;
  }

 private:
  Task<absl::Status> Feed(Channel<int64_t> first) {
    for (int64_t i = 0; i < numbers_; ++i) {
      const int64_t number = random_.Next();
      sum_left_ += number;
      auto sending = first.SendWhenRoom(number, kPatience);
      absl::Status sent = co_await sending;
      if (!sent.ok()) co_return Fail(sent);
    }
    co_return absl::OkStatus();
  }
  Behavior Take(int64_t number) {
    if (number < last_) return Done(absl::InternalError(absl::StrCat(number, " came after ", last_)));
    last_ = number;
    sum_ += number;
    if (++taken_ < numbers_) return working_;
    return Done(Checked(absl::StrCat(taken_, " numbers in order, sum ", sum_), sum_ == sum_left_));
  }

  const int64_t numbers_;
  Random random_{2048};
  int64_t sum_left_ = 0;
  int64_t taken_ = 0;
  int64_t last_ = 0;
  int64_t sum_ = 0;
  // Numbers come while Feed still waits for room.
  Behavior working_{"working", On(begin, &RadixSort::Feed).Interleaved(), On(sorted, &RadixSort::Take)};
};

}  // namespace

std::unique_ptr<Actor> MakeRadixSort(int64_t numbers) { return std::make_unique<RadixSort>(numbers); }

}  // namespace understudy::savina
