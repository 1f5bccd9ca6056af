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
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_info.h"
#include "understudy/actors/executor.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/registry.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/ops/ops_limits.h"

namespace understudy::internal {
namespace {

// The number of bytes of the UTF-8 character with which `text` begins; 0 if it begins with none.
size_t CharacterBytes(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t bytes = byte(0) < 0x80 ? 1 : byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (bytes > text.size() || (byte(0) >= 0x80 && byte(0) < 0xc2) || byte(0) > 0xf4) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Refuses overlong forms, surrogates, and numbers above U+10FFFF.
  if ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) >= 0xa0)) return 0;
  if ((byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) >= 0x90)) return 0;
  return bytes;
}

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
  out.set_name(PrintableUtf8(mailbox.name));
  out.set_request(PrintableUtf8(mailbox.request));
  out.set_reply(PrintableUtf8(mailbox.reply));
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
}

void ToDetails(const ActorInfo& info, proto::ActorDetails& out) {
  out.set_pid(info.pid.ToString());
  out.set_state(StateValue(info.state));
  out.set_doing(PrintableUtf8(info.doing));
  out.set_doing_for_nanos(absl::ToInt64Nanoseconds(info.doing_for));
  out.set_waiting(info.waiting);
  for (const std::string& name : info.names) out.add_names(PrintableUtf8(name));
  out.set_is_complete(info.is_complete);
  out.set_parent(TextOf(info.parent));
  out.set_class_name(PrintableUtf8(info.class_name));
  out.set_label(PrintableUtf8(info.label));
  out.set_behavior(PrintableUtf8(info.behavior));
  for (const std::string& handler : info.awaiting) out.add_awaiting(PrintableUtf8(handler));
  for (const MailboxInfo& mailbox : info.mailboxes) ToDetails(mailbox, *out.add_mailboxes());
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

std::string TextOf(Pid pid) { return pid.is_null() ? "" : pid.ToString(); }

std::string PrintableUtf8(absl::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t bytes = CharacterBytes(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (bytes == 0 || first < 0x20 || first == 0x7f) {
      absl::StrAppendFormat(&out, "\\x%02x", first);
      text.remove_prefix(1);
    } else {
      if (first == '\\') out += '\\';
      absl::StrAppend(&out, text.substr(0, bytes));
      text.remove_prefix(bytes);
    }
  }
  return out;
}

absl::StatusOr<Pid> FindActor(ActorSystem& system, absl::string_view text) {
  if (text.empty())
    return absl::InvalidArgumentError("no actor is named: expected a pid such as <house.7.42>, or a name");
  if (const absl::optional<Pid> pid = ParsePid(system, text); pid.has_value()) return *pid;
  const absl::optional<Pid> owner = system.WhereIs(text);
  if (!owner.has_value()) {
    return absl::NotFoundError(absl::StrCat("'", PrintableUtf8(text), "' is neither a pid of node ", system.name(),
                                            " nor a name that an actor has"));
  }
  if (owner->node() == system.node()) return *owner;
  return absl::NotFoundError(
      absl::StrCat("'", PrintableUtf8(text), "' is ", owner->ToString(), ", an actor of another node: ask that node"));
}

proto::NodeDetails ReadNode(ActorSystem& system, const Node* node) {
  proto::NodeDetails out;
  out.set_name(system.name());
  out.set_incarnation(system.incarnation().bits);
  out.set_pid(getpid());
  out.set_live_actors(system.live_actors());
  out.set_fenced_actors(system.fenced_actors());
  out.set_dead_letters(system.dead_letters());
  out.set_late_replies(system.late_replies());
  out.set_call_cycles(system.call_cycles());
  out.set_has_node(node != nullptr);
  if (node != nullptr) out.set_address(node->address());
  return out;
}

proto::ListPeersReply ReadPeers(const Node* node) {
  proto::ListPeersReply reply;
  if (node == nullptr) return reply;
  for (const PeerStatus& peer : node->Peers()) {
    proto::PeerDetails& out = *reply.add_peers();
    out.set_node(PrintableUtf8(peer.node));
    out.set_address(PrintableUtf8(peer.address));
    out.set_is_live(peer.is_live);
    out.set_is_up(peer.is_up);
    out.set_incarnation(peer.incarnation.bits);
    out.set_epoch(peer.epoch);
    out.set_bytes_waiting(peer.bytes_waiting);
    out.set_credit_held_messages(peer.credit_held.messages);
    out.set_credit_given_messages(peer.credit_given.messages);
    out.set_without_credit(peer.without_credit);
    out.set_forbidden(peer.forbidden);
  }
  return reply;
}

proto::ListActorsReply ReadActors(ActorSystem& system, const proto::ListActorsRequest& request) {
  const ActorPage page =
      ListActors(system, {.after = request.after(),
                          .at_most = request.at_most() == 0 ? ActorQuery().at_most : request.at_most(),
                          .waiting_min = request.waiting_min(),
                          .text = request.text(),
                          .state = StateOf(request.state())});
  proto::ListActorsReply reply;
  for (const ActorInfo& info : page.actors) ToDetails(info, *reply.add_actors());
  reply.set_next(page.next);
  return reply;
}

absl::StatusOr<proto::ActorDetails> ReadActor(ActorSystem& system, const proto::GetActorRequest& request) {
  const absl::StatusOr<Pid> pid = FindActor(system, request.actor());
  if (!pid.ok()) return pid.status();
  const absl::optional<ActorInfo> info = InspectActor(system, *pid);
  if (!info.has_value()) return absl::NotFoundError(absl::StrCat(pid->ToString(), " has ended"));
  proto::ActorDetails details;
  ToDetails(*info, details);
  return details;
}

proto::ListNamesReply ReadNames(ActorSystem& system, const proto::ListNamesRequest& request) {
  const size_t at_most = request.at_most() == 0 ? limits::kNamesPerReplyMax
                                                : std::min<size_t>(request.at_most(), limits::kNamesPerReplyMax);
  proto::ListNamesReply reply;
  for (const NameRecord& record : system.registry().List(request.prefix())) {
    if (record.name <= request.after()) continue;
    if (static_cast<size_t>(reply.names_size()) == at_most) {
      reply.set_has_more(true);
      break;
    }
    proto::NameDetails& out = *reply.add_names();
    out.set_name(PrintableUtf8(record.name));
    out.set_pid(TextOf(record.pid));
    out.set_is_of_cluster(record.scope == NameScope::kCluster);
    out.set_kept_by(TextOf(record.kept_by));
  }
  return reply;
}

proto::ListWorkersReply ReadWorkers(ActorSystem& system) {
  proto::ListWorkersReply reply;
  for (const WorkerInfo& worker : system.executor().Workers()) {
    proto::WorkerDetails& out = *reply.add_workers();
    out.set_doing(PrintableUtf8(worker.doing));
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
