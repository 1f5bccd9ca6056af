// Radix sort: a pipeline of one actor for each bit. A stage passes on at once the numbers
// whose bit is 0, and keeps those whose bit is 1 until all numbers have come. A stage waits
// for room in the next one's mailbox, so a slow stage slows those before it.
// Oracle: the numbers arrive in order, and have the right sum.
#include "understudy/examples/savina/programs.h"
#include "understudy/examples/savina/sorting.h"

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

class RadixSort final : public SortingProgram {
 public:
  explicit RadixSort(int64_t numbers) : SortingProgram(numbers) {}

 private:
  Channel<int64_t> SpawnPipeline(Channel<int64_t> last) override {
    Channel<int64_t> next = last;
    for (int bit = kBits - 1; bit >= 0; --bit) next = context().Spawn<Stage>(bit, numbers(), next)[&Stage::number];
    return next;
  }
};

}  // namespace

std::unique_ptr<Actor> MakeRadixSort(int64_t numbers) { return std::make_unique<RadixSort>(numbers); }

}  // namespace understudy::savina
