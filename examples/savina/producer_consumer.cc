// Producers and consumers with a bounded buffer: 40 producers put items into a buffer of 50, and 40 consumers take
// them. Two guards are the whole coordination: producers' calls wait while the buffer is full, consumers' calls while
// it is empty.
// Oracle: all items are taken, and there were never more than 50.
#include <algorithm>
#include <deque>

#include "understudy/actors/channel.h"
#include "understudy/examples/savina/programs.h"

namespace understudy::savina {
namespace {

constexpr int kProducers = 40;
constexpr int kConsumers = kProducers;  // so that each takes as many as one of those puts
constexpr size_t kItemsMax = 50;

struct Take {};
struct Stored {};

class Buffer final : public Program {
 public:
  Mailbox<"put", Call<int64_t, Stored>> put{this};
  Mailbox<"take", Call<Take, int64_t>> take{this};

  explicit Buffer(int64_t items_of_each) : items_of_each_(items_of_each) {}
  StartResult Start() override;

 private:
  bool HasRoom() const { return items_.size() < kItemsMax; }
  bool HasItem() const { return !items_.empty(); }

  Stored Put(int64_t item) {
    items_.push_back(item);
    most_ = std::max(most_, items_.size());
    return {};
  }
  int64_t TakeOldest(const Take& /*request*/) {
    const int64_t item = items_.front();
    items_.pop_front();
    sum_ += item;
    const int64_t all = kProducers * items_of_each_;
    if (++taken_ == all) {
      const bool is_right = sum_ == kProducers * (items_of_each_ * (items_of_each_ + 1) / 2) && most_ <= kItemsMax;
      Become(Done(is_right ? Checked("items taken", taken_, all) : absl::InternalError("a wrong item, or too many")));
    }
    return item;
  }

  const int64_t items_of_each_;
  std::deque<int64_t> items_;
  size_t most_ = 0;
  int64_t taken_ = 0;
  int64_t sum_ = 0;
  Behavior buffering_{"buffering", On(put, &Buffer::Put).When(&Buffer::HasRoom),
                      On(take, &Buffer::TakeOldest).When(&Buffer::HasItem)};
};

class Producer final : public Actor {
 public:
  Producer(Ref<Buffer> buffer, int64_t items) : buffer_(buffer), items_(items) {}
  StartResult Start() override { return Produce(); }

 private:
  Task<> Produce() {
    for (int64_t item = 1; item <= items_; ++item) {
      auto asked = buffer_[&Buffer::put].Ask(item, kPatience);
      absl::StatusOr<Stored> stored = co_await asked;
      if (!stored.ok()) co_return;
    }
  }

  const Ref<Buffer> buffer_;
  const int64_t items_;
};

class Consumer final : public Actor {
 public:
  Consumer(Ref<Buffer> buffer, int64_t items) : buffer_(buffer), items_(items) {}
  StartResult Start() override { return Consume(); }

 private:
  Task<> Consume() {
    for (int64_t i = 0; i < items_; ++i) {
      auto asked = buffer_[&Buffer::take].Ask(Take(), kPatience);
      absl::StatusOr<int64_t> item = co_await asked;
      if (!item.ok()) co_return;
    }
  }

  const Ref<Buffer> buffer_;
  const int64_t items_;
};

StartResult Buffer::Start() {
  const Ref<Buffer> self(context().Self());
  for (int i = 0; i < kProducers; ++i) context().Spawn<Producer>(self, items_of_each_);
  for (int i = 0; i < kConsumers; ++i) context().Spawn<Consumer>(self, items_of_each_);
  return buffering_;
}

}  // namespace

std::unique_ptr<Actor> MakeProducerConsumer(int64_t items) { return std::make_unique<Buffer>(items); }

}  // namespace understudy::savina
