// A bounded buffer, with guards only.
//
// Both ends are calls. A producer's call waits in the mailbox `put`, which is
// closed while the buffer is full; a consumer's call waits in `take`, which is
// closed while the buffer is empty. The mailboxes are thus the queues of waiting
// producers and consumers. After the last producer has closed, consumers get the
// remaining items and are refused then. The buffer ends when no call has come for
// a second.
#ifndef UNDERSTUDY_EXAMPLES_PATTERNS_BOUNDED_BUFFER_H_
#define UNDERSTUDY_EXAMPLES_PATTERNS_BOUNDED_BUFFER_H_

#include <cstddef>
#include <deque>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"

namespace understudy::patterns {

struct Stored {};
struct TakeItem {};
struct CloseProducer {};
struct CountItems {};

template <class Item>
class BoundedBuffer final : public Actor {
 public:
  Mailbox<"put", Call<Item, Stored>> put{this};
  Mailbox<"take", Call<TakeItem, Item>> take{this};
  Mailbox<"close", CloseProducer> close{this};  // each producer's last message
  Mailbox<"count", Call<CountItems, size_t>> count{this};

  BoundedBuffer(size_t items_max, int producers) : items_max_(items_max), producers_(producers) {}
  StartResult Start() override { return open_; }

 private:
  bool HasRoom() const { return items_.size() < items_max_; }
  bool HasItem() const { return !items_.empty(); }

  Stored Put(Item item) {
    items_.push_back(std::move(item));
    return {};
  }
  Item Take(const TakeItem&) {
    Item oldest = std::move(items_.front());
    items_.pop_front();
    CloseWhenDone();
    return oldest;
  }
  void CloseOne(const CloseProducer&) {
    --producers_;
    CloseWhenDone();
  }
  void CloseWhenDone() {
    if (producers_ == 0 && items_.empty()) Become(closed_);
  }

  const size_t items_max_;
  int producers_;
  std::deque<Item> items_;
  Behavior open_{"open", On(put, &BoundedBuffer::Put).When(&BoundedBuffer::HasRoom),
                 On(take, &BoundedBuffer::Take).When(&BoundedBuffer::HasItem), On(close, &BoundedBuffer::CloseOne),
                 On(count, [this](const CountItems&) { return items_.size(); })};
  Behavior closed_{"closed",
                   Refuse(put, absl::FailedPreconditionError("the buffer is closed")),
                   Refuse(take, absl::OutOfRangeError("no more items")),
                   Drop(close),
                   On(count, [](const CountItems&) { return size_t{0}; }),
                   Idle(absl::Seconds(1), [this] { context().Stop(); })};
};

}  // namespace understudy::patterns

#endif  // UNDERSTUDY_EXAMPLES_PATTERNS_BOUNDED_BUFFER_H_
