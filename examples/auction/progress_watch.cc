#include "understudy/examples/auction/progress_watch.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "understudy/actors/context.h"

namespace auction {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(5);

}  // namespace

std::string FormatProgress(const RunProgress& progress) {
  std::string text = absl::StrCat(progress.acknowledged, " of ", progress.offers, " offers, ",
                                  static_cast<int64_t>(std::llround(progress.per_second)), "/s");
  absl::Duration left = progress.left;
  if (left == absl::InfiniteDuration() && progress.per_second > 0) {
    left = absl::Seconds(static_cast<double>(progress.offers - progress.acknowledged) / progress.per_second);
  }
  if (left != absl::InfiniteDuration()) {
    absl::StrAppend(&text, ", ",
                    absl::ToInt64Seconds(absl::Ceil(std::max(left, absl::ZeroDuration()), absl::Seconds(1))),
                    " s left");
  }
  std::vector<std::string> down;
  std::vector<std::string> restarts;
  for (const understudy::ChildInfo& process : progress.processes) {
    if (process.state != understudy::ChildState::kRunning) down.push_back(process.id);
    if (process.restarts > 0) restarts.push_back(absl::StrCat(process.id, " ", process.restarts));
  }
  absl::StrAppend(&text, down.empty() ? "; all up" : "; down: ", absl::StrJoin(down, ", "));
  if (!restarts.empty()) absl::StrAppend(&text, "; restarts: ", absl::StrJoin(restarts, ", "));
  return text;
}

understudy::Task<> ProgressWatch::Watch() {
  int64_t before = 0;
  for (;;) {
    const auto pause = context().Sleep(options_.period);
    (void)co_await pause;
    // At least 0 offers are acknowledged in any case, so the answer comes at once.
    auto asked_floor = floor_[&BiddingFloor::reached].Ask(WhenReached{0}, kPatience);
    const absl::StatusOr<Reached> reached = co_await asked_floor;
    if (!reached.ok()) co_return;
    auto asked_root = root_.which_children().Ask({}, kPatience);
    const absl::StatusOr<understudy::Children> children = co_await asked_root;
    if (!children.ok()) co_return;
    const double gained = static_cast<double>(reached->acknowledged - before);
    before = reached->acknowledged;
    options_.tell(FormatProgress({.acknowledged = reached->acknowledged,
                                  .offers = options_.offers,
                                  .per_second = gained / absl::ToDoubleSeconds(options_.period),
                                  .left = options_.ends - context().WallNow(),
                                  .processes = children->children}));
  }
}

}  // namespace auction
