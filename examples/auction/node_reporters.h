// Two actors that every node of the service has: a Reporter that forwards its
// supervisor's events to the chronicle, and a NodeSteward that reports the totals of
// the node's message ledger.
//
//   OneForOne().Child("reporter", Of<Reporter>("house-1", ReportedStops::kAbnormal))   // the first child
//              .Child("steward", Of<NodeSteward>("house-1", totals).PublishedAs(StewardName("house-1")))
#ifndef UNDERSTUDY_EXAMPLES_AUCTION_NODE_REPORTERS_H_
#define UNDERSTUDY_EXAMPLES_AUCTION_NODE_REPORTERS_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/behavior.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/context.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/message.h"
#include "understudy/actors/named.h"
#include "understudy/actors/task.h"
#include "understudy/examples/auction/auction.actor.h"
#include "understudy/examples/auction/auction.pb.h"
#include "understudy/examples/auction/chronicle.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"

namespace auction {

// Which kStopped events are reported: those with an abnormal reason, or all.
enum class ReportedStops { kAbnormal, kAll };

struct FlushReports {};
struct ReportsFlushed {};

// Subscribes to a supervisor (its parent, unless another is given) and forwards the
// events for which IsNoteworthy returns true.
class Reporter final : public understudy::Actor {
 public:
  Reporter(std::string node, ReportedStops stops, understudy::SupervisorRef supervisor = understudy::SupervisorRef())
      : node_(std::move(node)), stops_(stops), supervisor_(supervisor) {}

  // Answered when every event that was sent before has been forwarded.
  understudy::Mailbox<"flush", understudy::Call<FlushReports, ReportsFlushed>> flush{this};

 private:
  understudy::StartResult Start() override { return Subscribe(); }
  understudy::Task<understudy::StartResult> Subscribe();
  void Forward(const understudy::SupervisionEvent& event);

  const std::string node_;
  const ReportedStops stops_;
  const understudy::SupervisorRef supervisor_;
  // The actor's start on the wall clock and on the monotonic clock.
  const absl::Time wall_start_ = context().WallNow();
  const understudy::MonotonicTime start_ = context().Now();
  const understudy::Named<ChronicleRef> chronicle_{std::string(kChronicle)};
  understudy::Mailbox<"event", understudy::SupervisionEvent> event_{this, {.capacity_messages = 100'000}};
  understudy::Behavior passing_on_{"passing on", On(event_, &Reporter::Forward),
                                   On(flush, [](const FlushReports&) { return ReportsFlushed(); })};
};

// True for events that belong into the chronicle: all except a child's first start, kShutdown, and the stops that
// `stops` leaves out.
bool IsNoteworthy(const understudy::SupervisionEvent& event, ReportedStops stops);

class NodeSteward final : public StewardActor {
 public:
  // `totals` returns the report of this node without its name and process id.
  NodeSteward(std::string node, std::function<NodeReport()> totals)
      : node_(std::move(node)), totals_(std::move(totals)) {}

 private:
  understudy::StartResult Start() override { return reporting_; }
  NodeReport MakeReport(const ReportRequest& request);

  const std::string node_;
  const std::function<NodeReport()> totals_;
  understudy::Behavior reporting_{"reporting", On(report, &NodeSteward::MakeReport)};
};

// "steward/house-1"
std::string StewardName(absl::string_view node);

}  // namespace auction

#endif  // UNDERSTUDY_EXAMPLES_AUCTION_NODE_REPORTERS_H_
