// What every node of the service has beside its work: a Reporter that passes
// its supervisor's events on to the chronicle, and a NodeSteward that tells the
// totals of its message ledger.
//
//   OneForOne().Child("reporter", Permanent<Reporter>("house-1"))   // the first child
//              .Child("steward", Permanent<NodeSteward>("house-1", totals).PublishedAs(StewardName("house-1")))
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_NODE_REPORTERS_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_NODE_REPORTERS_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/named.h"
#include "understudy/actors/task.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/auction_actors.h"
#include "understudy/examples/auction/chronicle.h"
#include "understudy/supervision/supervision_event.h"

namespace auction {

// Subscribes to its parent, a supervisor. First starts and stops in order are
// not worth a line; everything else is passed on.
class Reporter final : public understudy::Actor {
 public:
  explicit Reporter(std::string node) : node_(std::move(node)) {}

 private:
  understudy::Next Start() override { return Subscribe(); }
  understudy::Task<understudy::Next> Subscribe();
  void PassOn(const understudy::SupervisionEvent& event);

  const std::string node_;
  const understudy::Named<ChronicleRef> chronicle_{std::string(kChronicle)};
  understudy::Mailbox<"event", understudy::SupervisionEvent> event_{this, {.capacity_messages = 100'000}};
  understudy::Behavior passing_on_{"passing on", On(event_, &Reporter::PassOn)};
};

// Whether the chronicle wants the event.
bool IsNoteworthy(const understudy::SupervisionEvent& event);

class NodeSteward final : public StewardActor {
 public:
  // `totals` gives the report of this node, but its name and process.
  NodeSteward(std::string node, std::function<NodeReport()> totals)
      : node_(std::move(node)), totals_(std::move(totals)) {}

 private:
  understudy::Next Start() override { return reporting_; }
  NodeReport MakeReport(const ReportRequest& request);

  const std::string node_;
  const std::function<NodeReport()> totals_;
  understudy::Behavior reporting_{"reporting", On(report, &NodeSteward::MakeReport)};
};

// "steward/house-1"
std::string StewardName(absl::string_view node);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_NODE_REPORTERS_H_
