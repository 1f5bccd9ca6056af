// Values handed from thread to thread under a lock. The sanitizers must not report a race in what uninstrumented
// libraries do with such values.

#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/synchronization/mutex.h"
#include "gtest/gtest.h"
#include "understudy/tests/build/greeting.pb.h"

namespace understudy::build_test {
namespace {

// What actors pass on: an exit's exception, a status with its payload, bytes, a message.
struct Parcel {
  std::exception_ptr exception;
  absl::Status status;
  absl::Cord bytes;
  std::shared_ptr<const tests::build::GreetRequest> message;
};

std::exception_ptr Thrown(int turn) {
  try {
    throw std::runtime_error("turn " + std::to_string(turn));
  } catch (...) {
    return std::current_exception();
  }
}

std::string Open(const Parcel& parcel) {
  try {
    std::rethrow_exception(parcel.exception);
  } catch (const std::exception& error) {
    return error.what() + std::string(parcel.status.message()) + parcel.message->name();
  }
}

TEST(HandoverTest, ParcelsMadeOnOneThreadAreOpenedAndDroppedOnOthers) {
  constexpr int kTurns = 200;
  absl::Mutex mu;
  std::vector<Parcel> parcels;
  bool done = false;
  size_t opened = 0;

  auto open = [&] {
    auto any = [&]() ABSL_SHARED_LOCKS_REQUIRED(mu) { return done || !parcels.empty(); };
    for (;;) {
      Parcel parcel;
      {
        absl::MutexLock lock(&mu, absl::Condition(&any));
        if (parcels.empty()) return;
        parcel = parcels.back();  // both keep a share; the last one drops it
        parcels.pop_back();
      }
      std::string text = Open(parcel);
      absl::MutexLock lock(&mu);
      opened += text.empty() ? 0 : 1;
    }
  };
  std::thread one(open), two(open);
  std::vector<Parcel> kept;
  for (int turn = 0; turn < kTurns; ++turn) {
    auto message = std::make_shared<tests::build::GreetRequest>();
    message->set_name(std::string(100, 'x'));
    absl::Status status = absl::UnavailableError(std::string(100, 's'));
    status.SetPayload("understudy/test", absl::Cord("payload"));
    Parcel parcel{Thrown(turn), std::move(status), absl::Cord(std::string(5000, 'c')), std::move(message)};
    kept.push_back(parcel);
    absl::MutexLock lock(&mu);
    parcels.push_back(std::move(parcel));
  }
  kept.clear();
  {
    absl::MutexLock lock(&mu);
    done = true;
  }
  one.join();
  two.join();
  EXPECT_EQ(opened, static_cast<size_t>(kTurns));
}

}  // namespace
}  // namespace understudy::build_test
