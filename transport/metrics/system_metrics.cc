#include "understudy/transport/metrics/system_metrics.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/error.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/handler_times.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/thread_pool.h"
#include "understudy/transport/metrics/executor_metrics.h"
#include "understudy/transport/metrics/node_metrics.h"

namespace understudy::internal {
namespace {

using enum MetricType;

struct EventLabel {
  SupervisionEvent::Kind kind;
  absl::string_view label;
};
using Kind = SupervisionEvent::Kind;
constexpr std::array<EventLabel, SupervisionEvent::kKindMax> kEventLabels = {{
    {Kind::kStarted, "started"},
    {Kind::kIgnored, "ignored"},
    {Kind::kStartFailed, "start_failed"},
    {Kind::kExited, "exited"},
    {Kind::kRestarting, "restarting"},
    {Kind::kBackoff, "backoff"},
    {Kind::kStopped, "stopped"},
    {Kind::kGaveUp, "gave_up"},
    {Kind::kShutdown, "shutdown"},
    {Kind::kParked, "parked"},
    {Kind::kHeld, "held"},
}};

struct OutcomeLabel {
  Disposition disposition;
  const char* label;
};
constexpr std::array<OutcomeLabel, kDispositionCount> kOutcomeLabels = {{
    {Disposition::kHandled, "handled"},
    {Disposition::kRejected, "rejected"},
    {Disposition::kFailed, "failed"},
    {Disposition::kExpired, "expired"},
    {Disposition::kCancelled, "cancelled"},
    {Disposition::kDropped, "dropped"},
    {Disposition::kDeadLetter, "dead_letter"},
    {Disposition::kForwarded, "forwarded"},
}};

}  // namespace

SystemMetrics::SystemMetrics(ActorSystem& system, const Node* node)
    : system_(system), node_(node), watch_(system.node(), [this](const SupervisionEvent& event) {
        // relaxed: only the counts are read, each by itself.
        events_[static_cast<size_t>(event.kind)].fetch_add(1, std::memory_order_relaxed);
      }) {}

void SystemMetrics::Write(Exposition& out, bool is_ready) {
  out.Begin("understudy_node_info", kGauge, "1; the label tells the name of the system, and so of its node.");
  out.Sample(1, {{"node", system_.name()}});
  out.One("understudy_ready", kGauge, "Whether /readyz answers 200.", is_ready ? 1 : 0);
  WriteMessages(out);
  WriteActors(out);
  WriteSupervision(out);
  WriteLog(out);
  WriteMemory(out);
  WriteWorkers(out, system_.executor().Workers());
  if (const auto* const pool = dynamic_cast<const ThreadPool*>(&system_.executor()); pool != nullptr) {
    WriteThreadPool(out, pool->stats());
  }
  WriteHandlerTimes(out);
  if (system_.has_traces()) WriteTraces(out);
  if (node_ == nullptr) return;
  WriteNodeCounters(out, node_->heartbeats_overdue(), node_->counters());
  WritePeers(out, node_->Peers(), peer_counts_);
}

void SystemMetrics::WriteMessages(Exposition& out) {
  std::map<std::string, MessageLedger> ledgers;
  for (const MailboxLedger& total : MailboxTotals(system_)) {
    ledgers[total.mailbox.empty() ? "none" : mailboxes_.Of(total.mailbox)] += total.messages;
  }
  out.Begin("understudy_messages_accepted_total", kCounter, "Messages that a mailbox has accepted.");
  for (const auto& [mailbox, ledger] : ledgers) {
    out.Sample(steady_.Next("accepted", mailbox, ledger.accepted), {{"mailbox", mailbox}});
  }
  out.Begin("understudy_messages_total", kCounter, "Accepted messages by what became of them.");
  for (const auto& [mailbox, ledger] : ledgers) {
    for (const auto& [disposition, outcome] : kOutcomeLabels) {
      out.Sample(steady_.Next(outcome, mailbox, ledger.of(disposition)), {{"mailbox", mailbox}, {"outcome", outcome}});
    }
  }
  out.Begin("understudy_messages_waiting", kGauge,
            "Messages that wait in a mailbox, or in a handler that awaits something.");
  for (const auto& [mailbox, ledger] : ledgers) {
    out.Sample(std::max<int64_t>(0, ledger.waiting), {{"mailbox", mailbox}});
  }
  out.Begin("understudy_oldest_message_age_seconds", kGauge,
            "How long the message has waited in its mailbox that has waited longest, to a tenth of a second.");
  out.Sample(absl::ToDoubleSeconds(OldestMessageAge(system_)));
  out.One("understudy_messages_refused_total", kCounter, "Messages that no mailbox accepted.",
          system_.Ledger().refused);
}

void SystemMetrics::WriteActors(Exposition& out) {
  out.One("understudy_actors", kGauge, "Actors that have not ended.", system_.live_actors());
  out.One("understudy_actors_fenced", kGauge, "Actors that were cut off because their handler does not return.",
          system_.fenced_actors());
  out.One("understudy_dead_letters_total", kCounter, "Messages that reached no handler.", system_.dead_letters());
  out.One("understudy_late_replies_total", kCounter, "Replies that came when their asker no longer waited.",
          system_.late_replies());
  out.One("understudy_call_cycles_total", kCounter,
          "Circles of actors that waited for each other; 0 if the system does not look for them.",
          system_.call_cycles());
}

void SystemMetrics::WriteMemory(Exposition& out) {
  const KernelMemory memory = ReadMemory(system_);
  out.One("understudy_cell_memory_bytes", kGauge, "Memory of the cells of actors, in use or kept for later ones.",
          memory.cells);
  out.One(
      "understudy_message_memory_bytes", kGauge,
      "Memory of the blocks for messages of up to a KiB, of all systems of the process, in use or kept for later ones.",
      memory.blocks);
  out.One("understudy_message_memory_free_bytes", kGauge, "The part of that memory that is free for any thread.",
          memory.blocks_free);
  out.One("understudy_messages_waiting_bytes", kGauge,
          "Bytes of the messages that wait in mailboxes that are bounded in bytes.", memory.waiting);
}

void SystemMetrics::WriteLog(Exposition& out) {
  const LogCounts counts = system_.log_counts();
  out.Begin("understudy_log_lines_total", kCounter, "Lines of the system's log, by severity.");
  for (const LogSeverity severity :
       {LogSeverity::kDebug, LogSeverity::kInfo, LogSeverity::kWarning, LogSeverity::kError}) {
    out.Sample(counts.written[static_cast<size_t>(severity)], {{"severity", std::string(LogSeverityName(severity))}});
  }
  out.One("understudy_log_lines_left_out_total", kCounter,
          "Log lines that were left out, because one place in the program wrote too many.", counts.left_out);
}

void SystemMetrics::WriteSupervision(Exposition& out) {
  // relaxed: see the constructor.
  const auto count = [this](Kind kind) { return events_[static_cast<size_t>(kind)].load(std::memory_order_relaxed); };
  out.Begin("understudy_supervision_events_total", kCounter, "Events of all supervisors, by kind.");
  for (const auto& [kind, label] : kEventLabels) out.Sample(count(kind), {{"event", label}});
  out.One("understudy_child_restarts_total", kCounter, "Restarts of children, at once or after a backoff.",
          count(Kind::kRestarting) + count(Kind::kBackoff));
  out.One("understudy_supervision_give_ups_total", kCounter,
          "Times that a supervisor gave up, or a pool gave up a child, because of too many restarts.",
          count(Kind::kGaveUp));
}

void SystemMetrics::WriteHandlerTimes(Exposition& out) {
  std::map<std::pair<std::string, std::string>, TimeSketch> sketches;
  for (const HandlerTimes& handler : HandlerTimesOf(system_)) {
    const bool is_own = handler_kinds_.Of(absl::StrCat(handler.class_name, " ", handler.mailbox)) != LabelBound::kOther;
    sketches[is_own ? std::pair(handler.class_name, handler.mailbox)
                    : std::pair<std::string, std::string>("other", "other")] += handler.times;
  }
  out.Begin("understudy_handler_seconds", kHistogram,
            "How long handlers run until they return or await, from samples: about one of 128 runs.");
  for (const auto& [labels, sketch] : sketches) {
    WriteSketch(out, sketch, {{"class", labels.first}, {"mailbox", labels.second}});
  }
}

void SystemMetrics::WriteTraces(Exposition& out) {
  const SpanCounts spans = system_.span_counts();
  out.One("understudy_spans_exported_total", kCounter, "Spans of traces that a collector took.", spans.exported);
  out.Begin("understudy_spans_dropped_total", kCounter,
            "Spans of traces that were lost on their way to the collector.");
  out.Sample(spans.dropped_full, {{"cause", "queue_full"}});
  out.Sample(spans.dropped_sent, {{"cause", "not_taken"}});
  out.One("understudy_foreign_traces_refused_total", kCounter,
          "Messages of peers and gRPC clients whose sampled flag did not count.", system_.foreign_traces_refused());
}

}  // namespace understudy::internal
