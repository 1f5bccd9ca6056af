// Concurrent sorted list: 20 clients share a list whose operations take longer the longer it is. One request in ten is
// an insertion, one in a hundred asks for the size.
// Oracle: the number of answers; at the end the list is sorted and has all inserted values.
#include <algorithm>

#include "understudy/actors/channel.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int kClients = 20;

struct GetSize {};
struct GetNumbers {};

class SortedList final : public Actor {
 public:
  Mailbox<"insert", Call<int64_t, bool>> insert{this};  // the answer to both: whether it was there before
  Mailbox<"find", Call<int64_t, bool>> find{this};
  Mailbox<"size", Call<GetSize, int64_t>> size{this};
  Mailbox<"numbers", Call<GetNumbers, std::vector<int64_t>>> numbers{this};

  StartResult Start() override { return serving_; }

 private:
  bool Insert(int64_t number) {
    const bool was_there = Find(number);
    numbers_.insert(std::upper_bound(numbers_.begin(), numbers_.end(), number), number);
    return was_there;
  }
  bool Find(int64_t number) { return std::find(numbers_.begin(), numbers_.end(), number) != numbers_.end(); }
  int64_t Size(const GetSize& /*request*/) { return static_cast<int64_t>(numbers_.size()); }
  std::vector<int64_t> Numbers(const GetNumbers& /*request*/) { return numbers_; }

  std::vector<int64_t> numbers_;
  Behavior serving_{"serving", On(insert, &SortedList::Insert), On(find, &SortedList::Find),
                    On(size, &SortedList::Size), On(numbers, &SortedList::Numbers)};
};

class Client final : public Actor {
 public:
  Client(Ref<SortedList> list, int64_t seed, int64_t requests, Channel<int64_t> ended)
      : list_(list), random_(seed), requests_(requests), ended_(ended) {}
  StartResult Start() override { return Work(); }

 private:
  Task<> Work() {
    int64_t good = 0;
    for (int64_t i = 0; i < requests_; ++i) {
      if (i % 100 == 1) {
        auto asked = list_[&SortedList::size].Ask(GetSize(), kPatience);
        absl::StatusOr<int64_t> size = co_await asked;
        if (size.ok()) ++good;
        continue;
      }
      const Channel<Call<int64_t, bool>> channel = i % 10 == 0 ? list_[&SortedList::insert] : list_[&SortedList::find];
      auto asked = channel.Ask(random_.Next(), kPatience);
      absl::StatusOr<bool> was_there = co_await asked;
      if (was_there.ok()) ++good;
    }
    ended_.Tell(good);
  }

  const Ref<SortedList> list_;
  Random random_;
  const int64_t requests_;
  const Channel<int64_t> ended_;
};

class ConcurrentSortedList final : public Program {
 public:
  Mailbox<"ended", int64_t> ended{this};

  explicit ConcurrentSortedList(int64_t requests) : requests_(requests) {}

  StartResult Start() override {
    list_ = context().Spawn<SortedList>();
    for (int i = 0; i < kClients; ++i) context().Spawn<Client>(list_, i, requests_, context().ChannelTo(ended));
    return counting_;
  }

 private:
  Task<Behavior> Count(int64_t good) {
    good_ += good;
    if (++ended_ < kClients) co_return counting_;
    auto asked = list_[&SortedList::numbers].Ask(GetNumbers(), kPatience);
    absl::StatusOr<std::vector<int64_t>> numbers = co_await asked;
    if (!numbers.ok()) co_return Fail(numbers.status());
    const auto inserted = static_cast<size_t>(kClients * ((requests_ + 9) / 10));
    if (!std::is_sorted(numbers->begin(), numbers->end()) || numbers->size() != inserted) {
      co_return Done(absl::InternalError("the list is not sorted, or lacks a number"));
    }
    co_return Done(Checked("answers", good_, kClients * requests_));
  }

  const int64_t requests_;
  Ref<SortedList> list_;
  int ended_ = 0;
  int64_t good_ = 0;
  Behavior counting_{"counting", On(ended, &ConcurrentSortedList::Count)};
};

}  // namespace

std::unique_ptr<Actor> MakeConcurrentSortedList(int64_t requests) {
  return std::make_unique<ConcurrentSortedList>(requests);
}

}  // namespace understudy::savina
