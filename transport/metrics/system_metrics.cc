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
#include "understudy/transport/metrics/peer_counts.h"
#include "understudy/transport/node_status.h"

namespace understudy::internal {
namespace {

constexpr MetricType kCounter = MetricType::kCounter;
constexpr MetricType kGauge = MetricType::kGauge;
constexpr MetricType kHistogram = MetricType::kHistogram;

std::vector<double> BoundsInSeconds() {
  std::vector<double> bounds;
  for (const int64_t nanos : kTimeSketchBoundsNanos) bounds.push_back(static_cast<double>(nanos) / 1e9);
  return bounds;
}

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

// The causes that are always told, so that the first refusal is seen as an increase.
constexpr std::array<const char*, 9> kStreamRefusals = {"full",    "gave_way",    "mistaken", "name_taken", "no_hello",
                                                        "no_room", "not_a_hello", "stopping", "unproved"};
constexpr std::array<const char*, 5> kDialRefusals = {"full", "mistaken", "name_taken", "stopping", "unproved"};
constexpr std::array<const char*, 10> kSessionEnds = {
    "bad_frame",  "grace_over",      "left",      "new_incarnation", "no_grace",
    "peer_ended", "peer_began_anew", "peer_left", "process_ended",   "reserve_spent"};

// The counts by cause, and 0 for each of `known` that has none.
template <size_t kSize>
std::map<std::string, int64_t> WithZeros(std::map<std::string, int64_t> counts,
                                         const std::array<const char*, kSize>& known) {
  for (const char* const cause : known) counts.try_emplace(cause, 0);
  return counts;
}

void One(Exposition& out, absl::string_view name, MetricType type, absl::string_view help, int64_t value) {
  out.Begin(name, type, help);
  out.Sample(value);
}

}  // namespace

SystemMetrics::SystemMetrics(ActorSystem& system, const Node* node)
    : system_(system), node_(node), watch_(system.node(), [this](const SupervisionEvent& event) {
        // relaxed: only the counts are read, each by itself.
        events_[static_cast<size_t>(event.kind)].fetch_add(1, std::memory_order_relaxed);
      }) {}

int64_t SystemMetrics::Steady(absl::string_view key, const std::string& label, int64_t reading) {
  return steady_[{std::string(key), label}].Next(reading);
}

void SystemMetrics::Write(Exposition& out, bool is_ready) {
  out.Begin("understudy_node_info", kGauge, "1; the label tells the name of the system, and so of its node.");
  out.Sample(1, {{"node", system_.name()}});
  One(out, "understudy_ready", kGauge, "Whether /readyz answers 200.", is_ready ? 1 : 0);
  WriteMessages(out);
  WriteActors(out);
  WriteSupervision(out);
  WriteLog(out);
  WriteMemory(out);
  WriteScheduler(out);
  WriteHandlerTimes(out);
  if (system_.has_traces()) WriteTraces(out);
  if (node_ == nullptr) return;
  WriteNode(out);
  WritePeers(out);
}

void SystemMetrics::WriteMessages(Exposition& out) {
  std::map<std::string, MessageLedger> ledgers;
  for (const MailboxLedger& total : MailboxTotals(system_)) {
    ledgers[total.mailbox.empty() ? "none" : mailboxes_.Of(total.mailbox)] += total.messages;
  }
  out.Begin("understudy_messages_accepted_total", kCounter, "Messages that a mailbox has accepted.");
  for (const auto& [mailbox, ledger] : ledgers) {
    out.Sample(Steady("accepted", mailbox, ledger.accepted), {{"mailbox", mailbox}});
  }
  out.Begin("understudy_messages_total", kCounter, "Accepted messages by what became of them.");
  for (const auto& [mailbox, ledger] : ledgers) {
    for (const auto& [disposition, outcome] : kOutcomeLabels) {
      out.Sample(Steady(outcome, mailbox, ledger.of(disposition)), {{"mailbox", mailbox}, {"outcome", outcome}});
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
  One(out, "understudy_messages_refused_total", kCounter, "Messages that no mailbox accepted.",
      system_.Ledger().refused);
}

void SystemMetrics::WriteActors(Exposition& out) {
  One(out, "understudy_actors", kGauge, "Actors that have not ended.", system_.live_actors());
  One(out, "understudy_actors_fenced", kGauge, "Actors that were cut off because their handler does not return.",
      system_.fenced_actors());
  One(out, "understudy_dead_letters_total", kCounter, "Messages that reached no handler.", system_.dead_letters());
  One(out, "understudy_late_replies_total", kCounter, "Replies that came when their asker no longer waited.",
      system_.late_replies());
  One(out, "understudy_call_cycles_total", kCounter,
      "Circles of actors that waited for each other; 0 if the system does not look for them.", system_.call_cycles());
}

void SystemMetrics::WriteMemory(Exposition& out) {
  const KernelMemory memory = ReadMemory(system_);
  One(out, "understudy_cell_memory_bytes", kGauge, "Memory of the cells of actors, in use or kept for later ones.",
      memory.cells);
  One(out, "understudy_message_memory_bytes", kGauge,
      "Memory of the blocks for messages of up to a KiB, of all systems of the process, in use or kept for later ones.",
      memory.blocks);
  One(out, "understudy_message_memory_free_bytes", kGauge, "The part of that memory that is free for any thread.",
      memory.blocks_free);
  One(out, "understudy_messages_waiting_bytes", kGauge,
      "Bytes of the messages that wait in mailboxes that are bounded in bytes.", memory.waiting);
}

void SystemMetrics::WriteLog(Exposition& out) {
  const LogCounts counts = system_.log_counts();
  out.Begin("understudy_log_lines_total", kCounter, "Lines of the system's log, by severity.");
  for (const LogSeverity severity :
       {LogSeverity::kDebug, LogSeverity::kInfo, LogSeverity::kWarning, LogSeverity::kError}) {
    out.Sample(counts.written[static_cast<size_t>(severity)], {{"severity", std::string(LogSeverityName(severity))}});
  }
  One(out, "understudy_log_lines_left_out_total", kCounter,
      "Log lines that were left out, because one place in the program wrote too many.", counts.left_out);
}

void SystemMetrics::WriteSupervision(Exposition& out) {
  // relaxed: see the constructor.
  const auto count = [this](Kind kind) { return events_[static_cast<size_t>(kind)].load(std::memory_order_relaxed); };
  out.Begin("understudy_supervision_events_total", kCounter, "Events of all supervisors, by kind.");
  for (const auto& [kind, label] : kEventLabels) out.Sample(count(kind), {{"event", label}});
  One(out, "understudy_child_restarts_total", kCounter, "Restarts of children, at once or after a backoff.",
      count(Kind::kRestarting) + count(Kind::kBackoff));
  One(out, "understudy_supervision_give_ups_total", kCounter,
      "Times that a supervisor gave up, or a pool gave up a child, because of too many restarts.",
      count(Kind::kGaveUp));
}

void SystemMetrics::WriteScheduler(Exposition& out) {
  int64_t parked = 0;
  int64_t busy = 0;
  int64_t stuck = 0;
  int64_t waiting = 0;
  int64_t steals = 0;
  uint64_t entered = 0;
  absl::Duration longest;
  for (const WorkerInfo& worker : system_.executor().Workers()) {
    (worker.is_taken_over ? stuck : worker.is_parked ? parked : busy) += 1;
    waiting += worker.waiting_turns;
    steals += worker.steals;
    entered += worker.handlers_entered;
    longest = std::max(longest, worker.running);
  }
  out.Begin("understudy_workers", kGauge, "Workers of the executor by state; a stuck one has lost its queue.");
  out.Sample(busy, {{"state", "busy"}});
  out.Sample(parked, {{"state", "parked"}});
  out.Sample(stuck, {{"state", "stuck"}});
  One(out, "understudy_run_queue_turns", kGauge, "Turns of actors that wait in the queues of the workers.", waiting);
  One(out, "understudy_steals_total", kCounter, "Times that a worker took turns from another one.",
      Steady("steals", "", steals));
  One(out, "understudy_handlers_entered_total", kCounter, "Handlers, guards and other user code that workers began.",
      Steady("entered", "", static_cast<int64_t>(entered)));
  out.Begin("understudy_longest_running_handler_seconds", kGauge, "How long the slowest of the present handlers runs.");
  out.Sample(absl::ToDoubleSeconds(longest));
  const auto* const pool = dynamic_cast<const ThreadPool*>(&system_.executor());
  if (pool == nullptr) return;
  const ThreadPoolStats stats = pool->stats();
  One(out, "understudy_own_threads", kGauge, "Threads of actors that have a thread of their own.", stats.own_threads);
  One(out, "understudy_worker_takeovers_total", kCounter, "Workers that lost their queue to others.", stats.takeovers);
  One(out, "understudy_workers_refused_total", kCounter, "Workers that could not be added in place of stuck ones.",
      stats.workers_refused);
  out.Begin("understudy_timer_lateness_seconds", kHistogram, "How much later than their times timers were called.");
  out.Histogram(BoundsInSeconds(), {stats.timer_lateness.buckets.begin(), stats.timer_lateness.buckets.end()},
                absl::ToDoubleSeconds(stats.timer_lateness.sum));
  One(out, "understudy_long_handlers_total", kCounter, "Log lines that named a handler that ran long.",
      stats.long_handlers);
}

void SystemMetrics::WriteHandlerTimes(Exposition& out) {
  std::map<std::pair<std::string, std::string>, TimeSketch> sketches;
  for (const HandlerTimes& handler : HandlerTimesOf(system_)) {
    const bool is_own = handler_kinds_.Of(absl::StrCat(handler.class_name, " ", handler.mailbox)) != LabelBound::kOther;
    sketches[is_own ? std::pair(handler.class_name, handler.mailbox)
                    : std::pair<std::string, std::string>("other", "other")] += handler.times;
  }
  const std::vector<double> bounds = BoundsInSeconds();
  out.Begin("understudy_handler_seconds", kHistogram,
            "How long handlers run until they return or await, from samples: about one of 128 runs.");
  for (const auto& [labels, sketch] : sketches) {
    out.Histogram(bounds, {sketch.buckets.begin(), sketch.buckets.end()}, absl::ToDoubleSeconds(sketch.sum),
                  {{"class", labels.first}, {"mailbox", labels.second}});
  }
}

void SystemMetrics::WriteTraces(Exposition& out) {
  const SpanCounts spans = system_.span_counts();
  One(out, "understudy_spans_exported_total", kCounter, "Spans of traces that a collector took.", spans.exported);
  out.Begin("understudy_spans_dropped_total", kCounter,
            "Spans of traces that were lost on their way to the collector.");
  out.Sample(spans.dropped_full, {{"cause", "queue_full"}});
  out.Sample(spans.dropped_sent, {{"cause", "not_taken"}});
  One(out, "understudy_foreign_traces_refused_total", kCounter,
      "Messages of peers and gRPC clients whose sampled flag did not count.", system_.foreign_traces_refused());
}

void SystemMetrics::WriteNode(Exposition& out) {
  out.Begin("understudy_heartbeats_overdue_seconds", kGauge, "How long heartbeats to peers have been due.");
  out.Sample(absl::ToDoubleSeconds(node_->heartbeats_overdue()));
  const NodeCounters counters = node_->counters();
  out.Begin("understudy_node_refusals_total", kCounter, "What the node refused of its peers, or they of it, by cause.");
  out.Sample(counters.refused_tells, {{"cause", "tell_refused_by_peer"}});
  out.Sample(counters.forbidden, {{"cause", "no_grant"}});
  out.Sample(counters.late, {{"cause", "late"}});
  out.Sample(counters.streams_refused, {{"cause", "stream"}});
  out.Sample(counters.forged, {{"cause", "forged_pid"}});
  out.Begin("understudy_handshakes_refused_total", kCounter,
            "Streams between this node and others that got no session, by who refused them and the cause.");
  for (const auto& [cause, count] : WithZeros(counters.streams_refused_by_cause, kStreamRefusals)) {
    out.Sample(count, {{"by", "this_node"}, {"cause", cause}});
  }
  for (const auto& [cause, count] : WithZeros(counters.dials_refused_by_cause, kDialRefusals)) {
    out.Sample(count, {{"by", "peer"}, {"cause", cause}});
  }
  One(out, "understudy_sessions_begun_total", kCounter, "Sessions with peers that began.", counters.sessions_begun);
  out.Begin("understudy_sessions_ended_total", kCounter, "Sessions with peers that ended, by cause.");
  for (const auto& [cause, count] : WithZeros(counters.sessions_ended_by_cause, kSessionEnds)) {
    out.Sample(count, {{"cause", cause}});
  }
  out.Begin("understudy_node_callbacks_dropped_total", kCounter, "Calls that were dropped because user code was slow.");
  out.Sample(counters.user_calls_dropped, {{"callback", "log_and_dead_letters"}});
  out.Sample(counters.peer_events_dropped, {{"callback", "on_peer"}});
}

void SystemMetrics::WritePeers(Exposition& out) {
  int64_t up = 0;
  int64_t suspect = 0;
  int64_t down = 0;
  const std::vector<PeerStatus> peers = node_->Peers();
  for (const PeerStatus& peer : peers) (!peer.is_live ? down : peer.is_up ? up : suspect) += 1;
  const std::map<std::string, PeerSums> sums = peer_counts_.Look(peers);
  out.Begin("understudy_peers", kGauge, "Peers of the node by the state of their session.");
  out.Sample(down, {{"state", "down"}});
  out.Sample(suspect, {{"state", "suspect"}});
  out.Sample(up, {{"state", "up"}});
  const auto write = [&](absl::string_view name, MetricType type, absl::string_view help, auto value) {
    out.Begin(name, type, help);
    for (const auto& [peer, sum] : sums) out.Sample(value(sum), {{"peer", peer}});
  };
  write("understudy_peer_up", kGauge, "Peers of this name with a session that a stream carries: 0 or 1.",
        [](const PeerSums& sum) { return sum.up; });
  write("understudy_peer_unacknowledged_bytes", kGauge,
        "Bytes that the session accepted and the peer did not acknowledge.",
        [](const PeerSums& sum) { return sum.counts.bytes_waiting; });
  write("understudy_peer_credit_held_messages", kGauge, "Room that the peer has granted to this node.",
        [](const PeerSums& sum) { return sum.counts.credit_held.messages; });
  write("understudy_peer_credit_given_messages", kGauge, "Room that this node has granted to the peer.",
        [](const PeerSums& sum) { return sum.counts.credit_given.messages; });
  write("understudy_peer_sends_without_credit_total", kCounter, "Sends that found no room at the peer.",
        [](const PeerSums& sum) { return sum.counts.without_credit; });
  write("understudy_peer_forbidden_signals_total", kCounter, "Signals of the peer that no grant allows.",
        [](const PeerSums& sum) { return sum.counts.forbidden; });
  write("understudy_peer_envelopes_accepted_total", kCounter, "Envelopes that a session with the peer has accepted.",
        [](const PeerSums& sum) { return sum.counts.ledger.accepted; });
  out.Begin("understudy_peer_envelopes_total", kCounter, "Envelopes to the peer by what became of them.");
  for (const auto& [peer, sum] : sums) {
    out.Sample(sum.counts.ledger.acknowledged, {{"peer", peer}, {"outcome", "acknowledged"}});
    out.Sample(sum.counts.ledger.refused_by_peer, {{"peer", peer}, {"outcome", "refused_by_peer"}});
    out.Sample(sum.counts.ledger.unconfirmed, {{"peer", peer}, {"outcome", "unconfirmed"}});
  }
  out.Begin("understudy_peer_refused_messages_total", kCounter, "Messages that the peer's system refused, by cause.");
  for (const auto& [peer, sum] : sums) {
    for (const auto& [kind, count] : sum.counts.refused_by_peer) {
      out.Sample(count, {{"peer", peer}, {"cause", ErrorKindName(kind)}});
    }
  }
}

}  // namespace understudy::internal
