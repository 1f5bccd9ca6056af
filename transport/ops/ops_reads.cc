#include "understudy/transport/ops/ops_reads.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_info.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/error.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/printable_text.h"
#include "understudy/actors/registry.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/ops/ops_limits.h"

namespace understudy::internal {
namespace {

proto::ActorStateValue StateValue(ActorState state) {
  switch (state) {
    case ActorState::kIdle:
      return proto::IDLE;
    case ActorState::kAwaiting:
      return proto::AWAITING;
    case ActorState::kQueued:
      return proto::QUEUED;
    case ActorState::kRunning:
      return proto::RUNNING;
    case ActorState::kStuck:
      return proto::STUCK;
  }
  return proto::ACTOR_STATE_ANY;
}

absl::optional<ActorState> StateOf(proto::ActorStateValue value) {
  for (const ActorState state :
       {ActorState::kIdle, ActorState::kAwaiting, ActorState::kQueued, ActorState::kRunning, ActorState::kStuck}) {
    if (StateValue(state) == value) return state;
  }
  return absl::nullopt;
}

void ToDetails(const MailboxInfo& mailbox, proto::MailboxDetails& out) {
  out.set_name(ShownText(mailbox.name));
  out.set_request(ShownText(mailbox.request));
  out.set_reply(ShownText(mailbox.reply));
  out.set_capacity_messages(mailbox.capacity_messages);
  out.set_bytes(mailbox.bytes.value_or(0));
  out.set_capacity_bytes(mailbox.capacity_bytes.value_or(0));
  out.set_closed_by(std::string(ClosedByName(mailbox.closed_by)));
  const MessageLedger& messages = mailbox.messages;
  out.set_waiting(messages.waiting);
  out.set_accepted(messages.accepted);
  out.set_handled(messages.of(Disposition::kHandled));
  out.set_rejected(messages.of(Disposition::kRejected));
  out.set_failed(messages.of(Disposition::kFailed));
  out.set_expired(messages.of(Disposition::kExpired));
  out.set_cancelled(messages.of(Disposition::kCancelled));
  out.set_dropped(messages.of(Disposition::kDropped));
  out.set_dead_letters(messages.of(Disposition::kDeadLetter));
  out.set_forwarded(messages.of(Disposition::kForwarded));
  out.set_oldest_age_nanos(absl::ToInt64Nanoseconds(mailbox.oldest_age));
}

void ToDetails(const ActorInfo& info, proto::ActorDetails& out) {
  out.set_pid(TextOf(info.pid));
  out.set_state(StateValue(info.state));
  out.set_doing(ShownText(info.doing));
  out.set_doing_for_nanos(absl::ToInt64Nanoseconds(info.doing_for));
  out.set_suspended_for_nanos(absl::ToInt64Nanoseconds(info.suspended_for));
  out.set_waiting(info.waiting);
  out.set_waiting_bytes(info.waiting_bytes);
  for (const std::string& name : info.names) {
    if (static_cast<size_t>(out.names_size()) == limits::kOpsNamesPerActorMax) break;
    out.add_names(ShownText(name));
  }
  out.set_is_complete(info.is_complete);
  out.set_noted_within_nanos(absl::ToInt64Nanoseconds(info.noted_within));
  out.set_parent(TextOf(info.parent));
  out.set_class_name(ShownText(info.class_name));
  out.set_label(ShownText(info.label));
  out.set_behavior(ShownText(info.behavior));
  for (const std::string& handler : info.awaiting) {
    if (static_cast<size_t>(out.awaiting_size()) == limits::kOpsNamesPerActorMax) break;
    out.add_awaiting(ShownText(handler));
  }
  out.set_oldest_age_nanos(absl::ToInt64Nanoseconds(info.oldest_age));
  out.set_timers(info.timers);
  if (info.timers > 0) out.set_next_timer_nanos(absl::ToInt64Nanoseconds(info.next_timer_in));
  for (const MailboxInfo& mailbox : info.mailboxes) ToDetails(mailbox, *out.add_mailboxes());
  for (const Pid callee : info.asks) out.add_asks(TextOf(callee));
  for (const Pid peer : info.links) out.add_links(TextOf(peer));
  for (const Pid target : info.monitors) out.add_monitors(TextOf(target));
  for (const Pid watcher : info.monitored_by) out.add_monitored_by(TextOf(watcher));
  out.set_link_count(info.link_count);
  out.set_monitor_count(info.monitor_count);
  out.set_monitored_by_count(info.monitored_by_count);
}

// The pid that is printed as `text`; nullopt if none of this system is.
absl::optional<Pid> ParsePid(ActorSystem& system, absl::string_view text) {
  if (absl::ConsumePrefix(&text, "<") && !absl::ConsumeSuffix(&text, ">")) return absl::nullopt;
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '.');
  ActorAddress address;
  if (parts.size() != 3 || parts[0] != system.name() || !absl::SimpleAtoi(parts[1], &address.cell) ||
      !absl::SimpleAtoi(parts[2], &address.serial)) {
    return absl::nullopt;
  }
  if (address.serial == 0 || address.serial >= ActorAddress::kSerialEnd || address.cell >= ActorAddress::kCellEnd) {
    return absl::nullopt;
  }
  return PidAt(system.node(), address);
}

}  // namespace

std::string TextOf(Pid pid) { return pid.is_null() ? "" : PrintableText(pid.ToString()); }

std::string ShownText(absl::string_view text) { return PrintableText(CutText(text, limits::kOpsTextBytesMax)); }

absl::StatusOr<Pid> FindActor(ActorSystem& system, absl::string_view text) {
  if (text.empty())
    return absl::InvalidArgumentError("no actor is named: expected a pid such as <house.7.42>, or a name");
  if (const absl::optional<Pid> pid = ParsePid(system, text); pid.has_value()) return *pid;
  absl::optional<Pid> owner = system.WhereIs(text);
  if (!owner.has_value()) owner = system.WhereIs(TextFromPrintable(text));
  const std::string shown = PrintableText(CutText(text, limits::kOpsTextBytesMax), Backslashes::kKeep);
  if (!owner.has_value()) {
    return absl::NotFoundError(absl::StrCat("'", shown, "' is neither a pid of node ", PrintableText(system.name()),
                                            " nor a name that an actor has"));
  }
  if (owner->node() == system.node()) return *owner;
  return absl::NotFoundError(
      absl::StrCat("'", shown, "' is ", TextOf(*owner), ", an actor of another node: ask that node"));
}

proto::NodeDetails ReadNode(ActorSystem& system, const Node* node) {
  proto::NodeDetails out;
  out.set_name(PrintableText(system.name()));
  out.set_incarnation(system.incarnation().bits);
  out.set_pid(getpid());
  out.set_live_actors(system.live_actors());
  out.set_fenced_actors(system.fenced_actors());
  out.set_dead_letters(system.dead_letters());
  out.set_late_replies(system.late_replies());
  out.set_call_cycles(system.call_cycles());
  if (const auto level = system.log_level(); level.has_value()) out.set_log_level(std::string(LogSeverityName(*level)));
  out.set_log_lines_left_out(system.log_counts().left_out);
  out.set_has_node(node != nullptr);
  if (node != nullptr) out.set_address(ShownText(node->address()));
  return out;
}

proto::PeerDetails DetailsOf(const PeerStatus& peer) {
  proto::PeerDetails out;
  out.set_node(ShownText(peer.node));
  out.set_address(ShownText(peer.address));
  out.set_is_live(peer.is_live);
  out.set_is_up(peer.is_up);
  out.set_incarnation(peer.incarnation.bits);
  out.set_epoch(peer.epoch);
  out.set_bytes_waiting(peer.bytes_waiting);
  out.set_credit_held_messages(peer.credit_held.messages);
  out.set_credit_given_messages(peer.credit_given.messages);
  out.set_without_credit(peer.without_credit);
  out.set_forbidden(peer.forbidden);
  if (peer.is_live) {
    out.set_heartbeat_interval_nanos(absl::ToInt64Nanoseconds(peer.times.heartbeat_interval));
    out.set_silence_timeout_nanos(absl::ToInt64Nanoseconds(peer.times.silence_timeout));
    out.set_grace_period_nanos(absl::ToInt64Nanoseconds(peer.times.grace_period));
  }
  out.set_envelopes_accepted(peer.ledger.accepted);
  out.set_envelopes_acknowledged(peer.ledger.acknowledged);
  out.set_envelopes_refused(peer.ledger.refused_by_peer);
  out.set_envelopes_unconfirmed(peer.ledger.unconfirmed);
  out.set_envelopes_waiting(peer.ledger.waiting);
  for (const auto& [kind, count] : peer.refused_by_peer) {
    if (count == 0) continue;
    proto::RefusedMessages& refused = *out.add_refused_by_peer();
    refused.set_why(std::string(ErrorKindName(kind)));
    refused.set_count(count);
  }
  out.set_claims_refused(peer.claims_refused);
  return out;
}

proto::ListPeersReply ReadPeers(const Node* node) {
  proto::ListPeersReply reply;
  if (node == nullptr) return reply;
  for (const PeerStatus& peer : node->Peers()) *reply.add_peers() = DetailsOf(peer);
  return reply;
}

ActorSearch::ActorSearch(ActorSystem& system, const proto::ListActorsRequest& request)
    : system_(system),
      query_{.after = request.after(),
             .at_most = request.at_most() == 0 ? ActorQuery().at_most
                                               : std::min<size_t>(request.at_most(), limits::kActorsPerPageMax),
             .waiting_min = request.waiting_min(),
             .text = request.text(),
             .state = StateOf(request.state()),
             .asking_only = request.asking_only()},
      end_(request.after() + limits::kOpsActorsPerSearchMax) {}

absl::optional<proto::ListActorsReply> ActorSearch::Look() {
  const ActorPage page = ListActors(system_, query_);
  for (const ActorInfo& info : page.actors) {
    ToDetails(info, *reply_.add_actors());
    // One actor without its mailboxes always has room (limits::kOpsNamesPerActorMax).
    if (room_.Takes(reply_.actors(reply_.actors_size() - 1)) || reply_.actors_size() == 1) continue;
    reply_.mutable_actors()->RemoveLast();
    reply_.set_next(info.pid.cell());
    return reply_;
  }
  query_.after = page.next;
  query_.at_most -= page.actors.size();
  if (page.next != 0 && page.next < end_ && query_.at_most > 0) return absl::nullopt;
  reply_.set_next(page.next);
  return reply_;
}

TopBy OrderOf(proto::TopOrder order) {
  switch (order) {
    case proto::BY_AGE:
      return TopBy::kAge;
    case proto::BY_WAITING_BYTES:
      return TopBy::kBytes;
    default:
      return TopBy::kWaiting;
  }
}

proto::ListActorsReply TopReply(const std::vector<ActorInfo>& actors) {
  proto::ListActorsReply reply;
  ReplyRoom room;
  for (const ActorInfo& info : actors) {
    ToDetails(info, *reply.add_actors());
    if (room.Takes(reply.actors(reply.actors_size() - 1))) continue;
    reply.mutable_actors()->RemoveLast();
    break;
  }
  return reply;
}

absl::StatusOr<proto::ActorDetails> ReadActor(ActorSystem& system, const proto::GetActorRequest& request) {
  const absl::StatusOr<Pid> pid = FindActor(system, request.actor());
  if (!pid.ok()) return pid.status();
  const absl::optional<ActorInfo> info = InspectActor(system, *pid);
  if (!info.has_value()) return absl::NotFoundError(absl::StrCat(TextOf(*pid), " has ended"));
  proto::ActorDetails details;
  ToDetails(*info, details);
  return details;
}

proto::ListNamesReply ReadNames(ActorSystem& system, const proto::ListNamesRequest& request) {
  const size_t at_most = request.at_most() == 0 ? limits::kNamesPerReplyMax
                                                : std::min<size_t>(request.at_most(), limits::kNamesPerReplyMax);
  const std::string& after = request.page().empty() ? request.after() : request.page();
  proto::ListNamesReply reply;
  for (const NameRecord& record : system.registry().Page(request.prefix(), after, at_most + 1)) {
    if (static_cast<size_t>(reply.names_size()) == at_most) {
      reply.set_has_more(true);
      break;
    }
    reply.set_next(record.name);
    proto::NameDetails& out = *reply.add_names();
    out.set_name(ShownText(record.name));
    out.set_pid(TextOf(record.pid));
    out.set_is_of_cluster(record.scope == NameScope::kCluster);
    out.set_kept_by(TextOf(record.kept_by));
  }
  if (!reply.has_more()) reply.clear_next();
  return reply;
}

proto::ListHandlerTimesReply ReadHandlerTimes(ActorSystem& system, const proto::ListHandlerTimesRequest& request) {
  const size_t at_most =
      request.at_most() == 0 ? limits::kTopActorsUsual : std::min<size_t>(request.at_most(), limits::kActorsPerPageMax);
  proto::ListHandlerTimesReply reply;
  for (const HandlerTimes& handler : HandlerTimesOf(system)) {
    if (static_cast<size_t>(reply.handlers_size()) == at_most) break;
    proto::HandlerTimesDetails& out = *reply.add_handlers();
    out.set_class_name(ShownText(handler.class_name));
    out.set_mailbox(ShownText(handler.mailbox));
    out.set_samples(handler.times.samples);
    out.set_sum_nanos(absl::ToInt64Nanoseconds(handler.times.sum));
    out.set_half_within_nanos(absl::ToInt64Nanoseconds(handler.times.AtMost(0.5)));
    out.set_most_within_nanos(absl::ToInt64Nanoseconds(handler.times.AtMost(0.99)));
    out.set_longest_nanos(absl::ToInt64Nanoseconds(handler.times.longest));
  }
  return reply;
}

proto::ListWorkersReply ReadWorkers(ActorSystem& system) {
  proto::ListWorkersReply reply;
  for (const WorkerInfo& worker : system.executor().Workers()) {
    proto::WorkerDetails& out = *reply.add_workers();
    out.set_doing(ShownText(worker.doing));
    out.set_running_for_nanos(absl::ToInt64Nanoseconds(worker.running));
    out.set_is_parked(worker.is_parked);
    out.set_is_taken_over(worker.is_taken_over);
    out.set_waiting_turns(worker.waiting_turns);
    out.set_steals(worker.steals);
    out.set_handlers_entered(worker.handlers_entered);
  }
  return reply;
}

}  // namespace understudy::internal
