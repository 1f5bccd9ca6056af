// ProgressWatch: reports the progress of a run periodically: acknowledged offers, their rate, and the processes that
// are down or were restarted.
//
// An actor in the process style. It ends with the bidding floor.
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_PROGRESS_WATCH_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_PROGRESS_WATCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/task.h"
#include "understudy/examples/auction/bidding_floor.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/supervisor.h"

namespace auction {

struct RunProgress {
  int64_t acknowledged = 0;
  int64_t offers = 0;
  double per_second = 0;  // acknowledged offers per second since the last report
  absl::Duration left;    // until the last event of the input; infinite to estimate it from per_second
  std::vector<understudy::ChildInfo> processes;
};

// "1234 of 2300 offers, 310/s, 4 s left; down: house-2; restarts: house-2 1", in one line.
std::string FormatProgress(const RunProgress& progress);

class ProgressWatch final : public understudy::Actor {
 public:
  struct Options {
    int64_t offers = 0;
    absl::Time ends = absl::InfiniteFuture();
    absl::Duration period = absl::Seconds(1);
    std::function<void(absl::string_view)> tell;
  };
  ProgressWatch(understudy::SupervisorRef root, understudy::Ref<BiddingFloor> floor, Options options)
      : root_(root), floor_(floor), options_(std::move(options)) {}

 private:
  understudy::StartResult Start() override { return Watch(); }
  understudy::Task<> Watch();

  const understudy::SupervisorRef root_;
  const understudy::Ref<BiddingFloor> floor_;
  const Options options_;
};

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_PROGRESS_WATCH_H_
