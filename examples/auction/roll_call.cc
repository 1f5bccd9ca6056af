#include "understudy/examples/auction/roll_call.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/context.h"
#include "understudy/examples/auction/auction.ref.h"
#include "understudy/examples/auction/node_reporters.h"

namespace auction {

using understudy::Task;

namespace {

constexpr absl::Duration kPause = absl::Milliseconds(50);

}  // namespace

Task<> RollCall::CallAll() {
  for (const std::string& node : nodes_) {
    auto calling = CallOne(node);
    co_await calling;
  }
  auto asked = Receive(On(result, [this](const WhenCalled&) { return roll_; }));
  co_await asked;
}

Task<> RollCall::CallOne(std::string node) {
  const understudy::MonotonicTime deadline = context().Now() + patience_;
  absl::Status failed;
  while (context().Now() < deadline) {
    auto looking = context().Lookup<StewardRef>(StewardName(node), deadline - context().Now());
    absl::StatusOr<StewardRef> steward = co_await looking;
    failed = steward.status();
    if (!steward.ok()) continue;
    auto asked = steward->report().Ask(ReportRequest(), deadline - context().Now());
    absl::StatusOr<NodeReport> report = co_await asked;
    failed = report.status();
    if (report.ok()) {
      roll_.reports.push_back(*std::move(report));
      co_return;
    }
    auto paused = Receive(After(kPause, [] {}));  // the node may just have ended, and its names are removed soon
    co_await paused;
  }
  roll_.problems.push_back(absl::StrCat(node, ": ", failed.ToString()));
}

}  // namespace auction
