#include "understudy/transport/ticker.h"

#include <atomic>
#include <cstdint>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace understudy::internal {
namespace {

TEST(CallbackQueue, ACallbackThatDoesNotReturnCostsTheCallbacksBeyondTheBound) {
  absl::Notification let_go;
  std::atomic<int64_t> ran{0};
  {
    CallbackQueue queue(/*waiting_max=*/10);
    queue.Add([&] {
      let_go.WaitForNotification();
      ++ran;
    });
    for (int i = 0; i < 14; ++i) queue.Add([&] { ++ran; });
    EXPECT_EQ(queue.dropped(), 5);
    let_go.Notify();
  }
  EXPECT_EQ(ran, 10) << "the destructor waits for those that were taken";
}

}  // namespace
}  // namespace understudy::internal
