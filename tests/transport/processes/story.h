// Story: what happened, in order. Any thread adds to it; a test reads it.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_PROCESSES_STORY_H_
#define UNDERSTUDY_TESTS_TRANSPORT_PROCESSES_STORY_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace understudy {

class Story {
 public:
  static constexpr absl::Duration kDeadline = absl::Seconds(30);

  void Add(std::string event) {
    absl::MutexLock lock(&mu_);
    events_.push_back(std::move(event));
  }
  std::vector<std::string> WaitFor(size_t count) {
    absl::MutexLock lock(&mu_);
    const auto there = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return events_.size() >= count; };
    EXPECT_TRUE(mu_.AwaitWithTimeout(absl::Condition(&there), kDeadline)) << "it did not happen in time";
    return events_;
  }

 private:
  absl::Mutex mu_;
  std::vector<std::string> events_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_PROCESSES_STORY_H_
