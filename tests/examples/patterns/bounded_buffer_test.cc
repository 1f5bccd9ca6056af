#include "understudy/examples/patterns/bounded_buffer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/testing/actor_test.h"

namespace understudy::patterns {
namespace {

using ::testing::Each;
using ::testing::Gt;

using IntBuffer = BoundedBuffer<int>;
constexpr absl::Duration kLong = absl::Hours(1);

// Puts `count` items, one after another, and then tells the buffer that it is done.
class Producer final : public Actor {
 public:
  Producer(Ref<IntBuffer> buffer, int id, int count) : buffer_(buffer), id_(id), count_(count) {}
  StartResult Start() override { return Produce(); }

 private:
  Task<> Produce() {
    for (int i = 0; i < count_; ++i) {
      auto asked = buffer_[&IntBuffer::put].Ask(id_ * count_ + i, kLong);
      const absl::StatusOr<Stored> stored = co_await asked;
      if (!stored.ok()) Fail(stored.status());
    }
    buffer_[&IntBuffer::close].Tell({});
  }
  Ref<IntBuffer> buffer_;
  int id_;
  int count_;
};

// Takes items until the buffer is closed.
class Consumer final : public Actor {
 public:
  Consumer(Ref<IntBuffer> buffer, std::vector<int>* taken) : buffer_(buffer), taken_(taken) {}
  StartResult Start() override { return Consume(); }

 private:
  Task<> Consume() {
    for (;;) {
      auto asked = buffer_[&IntBuffer::take].Ask({}, kLong);
      const absl::StatusOr<int> item = co_await asked;
      if (!item.ok()) {
        if (!absl::IsOutOfRange(item.status())) Fail(item.status());
        co_return;
      }
      taken_->push_back(*item);
    }
  }
  Ref<IntBuffer> buffer_;
  std::vector<int>* taken_;
};

using BoundedBufferTest = ActorTest;

// SEL 11
// The defaults of the Savina suite: 40 producers of 1,000 items, 40 consumers, and a buffer of 10. The suite's buffer
// is 50, less one item in flight for each producer; here `put` waits, so no item is in flight. The buffer ends by
// itself.
TEST_F(BoundedBufferTest, FortyThousandItemsPassAndItIsNeverFullerThanItsBound) {
  constexpr int kEach = 1000;
  constexpr int kProducers = 40;
  Ref<IntBuffer> buffer = system().Spawn<IntBuffer>(10, kProducers);
  std::vector<std::vector<int>> taken(40);
  std::vector<Pid> actors;
  for (int id = 0; id < kProducers; ++id) actors.push_back(system().Spawn<Producer>(buffer, id, kEach).pid());
  for (std::vector<int>& items : taken) actors.push_back(system().Spawn<Consumer>(buffer, &items).pid());
  size_t most = 0;
  while (system().live_actors() > 1) {
    most = std::max(most, *system().Ask(buffer[&IntBuffer::count], CountItems(), kLong));
  }
  EXPECT_GT(most, 0U);
  EXPECT_LE(most, 10U);
  EXPECT_EQ(system().live_actors(), 1) << "the buffer: producers and consumers have ended";

  std::vector<int> seen(kEach * kProducers);
  for (const std::vector<int>& items : taken) {
    EXPECT_FALSE(items.empty()) << "a consumer starved";
    for (const int item : items) ++seen[static_cast<size_t>(item)];
  }
  EXPECT_THAT(seen, Each(1));
  EXPECT_EQ(system().Ask(buffer[&IntBuffer::take], TakeItem(), kLong).status(), absl::OutOfRangeError("no more items"));
  system().Advance(absl::Seconds(1));
  EXPECT_EQ(system().live_actors(), 0) << "it ends by itself";
}

// SEL 11
TEST_F(BoundedBufferTest, AFullBufferHoldsItsProducersAndAnEmptyOneItsConsumers) {
  Ref<IntBuffer> buffer = system().Spawn<IntBuffer>(2, 1);
  std::vector<int> taken;
  system().Spawn<Producer>(buffer, 0, 5);
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().waiting, 1) << "two are stored, and the third waits in its mailbox";
  system().Spawn<Consumer>(buffer, &taken);
  system().RunUntilIdle();
  EXPECT_THAT(taken, testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(Ledger().waiting, 0);
}

}  // namespace
}  // namespace understudy::patterns
