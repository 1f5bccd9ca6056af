// Bitonic sort: Batcher's sorting network as a pipeline, in which an actor is one column of
// comparators. The column of distance d compares each number with the one d places on, and
// so keeps 2 d numbers at a time.
// Oracle: as many numbers as before, in order, with the same sum.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "understudy/examples/savina/programs.h"

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

// Both ends of the network.
class BitonicSort final : public Program {
 public:
  Mailbox<"begin", Channel<int64_t>> begin{this};
  Mailbox<"sorted", int64_t> sorted{this};

  explicit BitonicSort(int64_t numbers) {
    while (count_ < static_cast<size_t>(numbers)) count_ *= 2;
  }

  StartResult Start() override {
    Channel<int64_t> next = context().ChannelTo(sorted);
    for (size_t run = count_; run > 1; run /= 2) {
      for (size_t distance = 1; distance < run; distance *= 2) {
        next = context().Spawn<Column>(run, distance, next)[&Column::number];
      }
    }
    context().Tell(begin, next);
    return working_;
  }

 private:
  Task<absl::Status> Feed(Channel<int64_t> first) {
    for (size_t i = 0; i < count_; ++i) {
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
    sum_left_ -= number;
    sum_ += number;
    if (++taken_ < count_) return working_;
    return Done(Checked(absl::StrCat(taken_, " numbers in order, sum ", sum_), sum_left_ == 0));
  }

  size_t count_ = 1;  // a power of two
  Random random_{2048};
  int64_t sum_left_ = 0;
  size_t taken_ = 0;
  int64_t last_ = 0;
  int64_t sum_ = 0;
  // Numbers come while Feed still waits for room.
  Behavior working_{"working", On(begin, &BitonicSort::Feed).Interleaved(), On(sorted, &BitonicSort::Take)};
};

}  // namespace

std::unique_ptr<Actor> MakeBitonicSort(int64_t numbers) { return std::make_unique<BitonicSort>(numbers); }

}  // namespace understudy::savina
