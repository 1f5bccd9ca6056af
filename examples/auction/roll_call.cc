#include "understudy/examples/auction/roll_call.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "understudy/actors/context.h"
#include "understudy/examples/auction/auction_actors.h"
#include "understudy/examples/auction/node_reporters.h"

namespace auction {

using understudy::Task;

Task<> RollCall::CallAll() {
  for (const std::string& node : nodes_) {
    auto calling = CallOne(node);
    co_await calling;
  }
  auto asked = Receive(On(result, [this](const WhenCalled&) { return roll_; }));
  co_await asked;
}

Task<> RollCall::CallOne(std::string node) {
  auto looking = context().Lookup<StewardRef>(StewardName(node), patience_);
  absl::StatusOr<StewardRef> steward = co_await looking;
  if (!steward.ok()) {
    roll_.problems.push_back(absl::StrCat(node, ": ", steward.status().ToString()));
    co_return;
  }
  auto asked = steward->report().Ask(ReportRequest(), patience_);
  absl::StatusOr<NodeReport> report = co_await asked;
  if (!report.ok()) {
    roll_.problems.push_back(absl::StrCat(node, ": ", report.status().ToString()));
    co_return;
  }
  roll_.reports.push_back(*std::move(report));
}

}  // namespace auction
