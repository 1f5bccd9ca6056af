// SystemMetrics: the counters of an actor system and its node as metrics.
//
// Threads: one, not an actor's turn; the counts of supervision events are made by the supervisors' turns.
#ifndef UNDERSTUDY_TRANSPORT_METRICS_SYSTEM_METRICS_H_
#define UNDERSTUDY_TRANSPORT_METRICS_SYSTEM_METRICS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "understudy/actors/actor_system.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervision_watch.h"
#include "understudy/transport/metrics/exposition.h"
#include "understudy/transport/metrics/label_bound.h"
#include "understudy/transport/metrics/metrics_limits.h"
#include "understudy/transport/metrics/peer_counts.h"
#include "understudy/transport/node.h"

namespace understudy::internal {

class SystemMetrics {
 public:
  // `node` may be null. Both must outlive this object.
  SystemMetrics(ActorSystem& system, const Node* node);

  // `is_ready`: what /readyz says.
  void Write(Exposition& out, bool is_ready);

 private:
  void WriteMessages(Exposition& out);
  void WriteActors(Exposition& out);
  void WriteMemory(Exposition& out);
  void WriteLog(Exposition& out);
  void WriteSupervision(Exposition& out);
  void WriteHandlerTimes(Exposition& out);
  void WriteTraces(Exposition& out);

  ActorSystem& system_;
  const Node* const node_;
  LabelBound mailboxes_{limits::kMetricsMailboxesMax};
  LabelBound handler_kinds_{limits::kMetricsHandlerKindsMax};  // class and mailbox
  PeerCounts peer_counts_;
  SteadyCounts steady_;
  std::array<std::atomic<int64_t>, SupervisionEvent::kKindMax + 1> events_{};  // by kind
  const SupervisionWatch watch_;  // the last member, because it calls into this object
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_METRICS_SYSTEM_METRICS_H_
