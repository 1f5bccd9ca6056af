// Bitonic sort: Batcher's sorting network as a pipeline, in which an actor is one column of
// comparators. The column of distance d compares each number with the one d places on, and
// so keeps 2 d numbers at a time.
// Oracle: as many numbers as before, in order, with the same sum.
#include <algorithm>

#include "understudy/examples/savina/programs.h"
#include "understudy/examples/savina/sorting.h"

namespace understudy::savina {
namespace {

class Column final : public Actor {
 public:
  Mailbox<"number", int64_t> number{this};

  // Runs of `run` numbers leave in ascending and descending order by turns, when all columns
  // of smaller distance have had them.
  Column(size_t run, size_t distance, Channel<int64_t> next) : run_(run), distance_(distance), next_(next) {}
  StartResult Start() override { return comparing_; }

 private:
  Task<absl::Status> Take(int64_t taken) {
    kept_.push_back(taken);
    if (kept_.size() < 2 * distance_) co_return absl::OkStatus();
    const bool is_ascending = passed_ / run_ % 2 == 0;
    for (size_t i = 0; i < distance_; ++i) {
      if ((kept_[i] > kept_[i + distance_]) == is_ascending) std::swap(kept_[i], kept_[i + distance_]);
    }
    for (const int64_t kept : kept_) {
      auto sending = next_.SendWhenRoom(kept, kPatience);
      absl::Status sent = co_await sending;
      if (!sent.ok()) co_return Fail(sent);
    }
    passed_ += kept_.size();
    kept_.clear();
    co_return absl::OkStatus();
  }

  const size_t run_;
  const size_t distance_;
  const Channel<int64_t> next_;
  std::vector<int64_t> kept_;
  size_t passed_ = 0;
  Behavior comparing_{"comparing", On(number, &Column::Take)};
};

class BitonicSort final : public SortingProgram {
 public:
  explicit BitonicSort(int64_t numbers) : SortingProgram(PowerOfTwo(numbers)) {}

 private:
  // The smallest one that is at least `numbers`.
  static int64_t PowerOfTwo(int64_t numbers) {
    int64_t power = 1;
    while (power < numbers) power *= 2;
    return power;
  }

  Channel<int64_t> SpawnPipeline(Channel<int64_t> last) override {
    Channel<int64_t> next = last;
    for (size_t run = static_cast<size_t>(numbers()); run > 1; run /= 2) {
      for (size_t distance = 1; distance < run; distance *= 2) {
        next = context().Spawn<Column>(run, distance, next)[&Column::number];
      }
    }
    return next;
  }
};

}  // namespace

std::unique_ptr<Actor> MakeBitonicSort(int64_t numbers) { return std::make_unique<BitonicSort>(numbers); }

}  // namespace understudy::savina
