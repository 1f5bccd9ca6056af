// Quicksort: an actor divides its numbers by a pivot, starts two others for the smaller and the greater ones, and joins
// the sorted parts that they send back. An actor that gets few numbers sorts them itself. Vectors are moved from actor
// to actor, not copied; an empty mailbox takes a vector of any size.
// Oracle: as many numbers as before, in order, with the same sum.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr size_t kSortedAtOnce = 2048;

using Numbers = std::vector<int64_t>;

class Sorter final : public Actor {
 public:
  Mailbox<"sort", Numbers> sort{this};
  Mailbox<"smaller", Numbers> smaller{this};
  Mailbox<"greater", Numbers> greater{this};

  Sorter(size_t sorted_at_once, Channel<Numbers> sorted) : sorted_at_once_(sorted_at_once), sorted_(sorted) {}
  StartResult Start() override { return waiting_; }

 private:
  void Sort(Numbers numbers) {
    if (numbers.size() <= sorted_at_once_) {
      std::sort(numbers.begin(), numbers.end());
      sorted_.Tell(std::move(numbers));
      context().Stop();
      return;
    }
    const int64_t pivot = numbers[numbers.size() / 2];
    Numbers below, above;
    for (const int64_t number : numbers) {
      (number < pivot ? below : number > pivot ? above : equal_).push_back(number);
    }
    const auto sort_apart = [this](Numbers part, Channel<Numbers> to) {
      context().Spawn<Sorter>(sorted_at_once_, to)[&Sorter::sort].Tell(std::move(part));
    };
    sort_apart(std::move(below), context().ChannelTo(smaller));
    sort_apart(std::move(above), context().ChannelTo(greater));
  }
  void TakeSmaller(Numbers numbers) {
    smaller_ = std::move(numbers);
    Join();
  }
  void TakeGreater(Numbers numbers) {
    greater_ = std::move(numbers);
    Join();
  }
  void Join() {
    if (++joined_ < 2) return;
    smaller_.insert(smaller_.end(), equal_.begin(), equal_.end());
    smaller_.insert(smaller_.end(), greater_.begin(), greater_.end());
    sorted_.Tell(std::move(smaller_));
    context().Stop();
  }

  const size_t sorted_at_once_;
  const Channel<Numbers> sorted_;
  Numbers smaller_, equal_, greater_;
  int joined_ = 0;
  Behavior waiting_{"waiting", On(sort, &Sorter::Sort), On(smaller, &Sorter::TakeSmaller),
                    On(greater, &Sorter::TakeGreater)};
};

class Quicksort final : public Program {
 public:
  Mailbox<"sorted", Numbers> sorted{this};

  explicit Quicksort(int64_t count) : count_(static_cast<size_t>(count)) {}

  StartResult Start() override {
    Random random(1024);
    Numbers numbers(count_);
    for (int64_t& number : numbers) number = random.Next();
    sum_ = std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
    const size_t sorted_at_once = std::min(kSortedAtOnce, 1 + count_ / 16);
    context().Spawn<Sorter>(sorted_at_once, context().ChannelTo(sorted))[&Sorter::sort].Tell(std::move(numbers));
    return waiting_;
  }

 private:
  Behavior Check(const Numbers& numbers) {
    const int64_t sum = std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
    return Done(Checked(absl::StrCat(numbers.size(), " numbers in order, sum ", sum),
                        numbers.size() == count_ && sum == sum_ && std::is_sorted(numbers.begin(), numbers.end())));
  }

  const size_t count_;
  int64_t sum_ = 0;
  Behavior waiting_{"waiting", On(sorted, &Quicksort::Check)};
};

}  // namespace

std::unique_ptr<Actor> MakeQuicksort(int64_t count) { return std::make_unique<Quicksort>(count); }

}  // namespace understudy::savina
