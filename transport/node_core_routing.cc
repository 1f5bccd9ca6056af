// NodeCore as Router and NamePublisher: what this system's actors send.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/actors/room.h"
#include "understudy/actors/router.h"
#include "understudy/proto/names.pb.h"
#include "understudy/transport/credit.h"
#include "understudy/transport/credit_sender.h"
#include "understudy/transport/frame_codec.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/node_core.h"
#include "understudy/transport/node_core_state.h"
#include "understudy/transport/send_queues.h"
#include "understudy/transport/session_ties.h"

namespace understudy {
namespace {

// Of the memory in which a message is serialised so much is kept for the next.
constexpr size_t kKeptBytesMax = size_t{64} << 10;

// The message's bytes, or why it cannot travel.
absl::Status Serialize(const OutboundMessage& message, std::string& bytes) {
  if (message.type == nullptr || !message.type->is_wire) {
    return absl::InvalidArgumentError(absl::StrCat("a ", message.type == nullptr ? "nothing" : message.type->name(),
                                                   " is not a wire message: it cannot be sent to another node"));
  }
  if (!message.type->serialize(message.value, &bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("a ", message.type->name(), " does not serialise"));
  }
  return absl::OkStatus();
}

// A message, serialised in memory that its thread uses again.
class Serialized {
 public:
  explicit Serialized(const OutboundMessage& message)
      : bytes_(std::exchange(Kept(), {})), status_(Serialize(message, bytes_)) {}
  ~Serialized() {
    if (bytes_.capacity() > kKeptBytesMax) return;
    bytes_.clear();
    Kept() = std::move(bytes_);
  }
  Serialized(const Serialized&) = delete;
  Serialized& operator=(const Serialized&) = delete;

  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  // Requires ok().
  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }

 private:
  static std::string& Kept() {
    thread_local std::string kept;
    return kept;
  }

  std::string bytes_;
  const absl::Status status_;
};

absl::Status UnreachableError(Pid to, const ExitReason& unreachable) {
  return unreachable.kind() == ExitReason::Kind::kNoProcess
             ? MakeError(ErrorKind::kNoProcess, absl::StrCat(to.ToString(), " is of an incarnation that is gone"))
             : MakeError(ErrorKind::kNoConnection, unreachable.detail());
}

}  // namespace

NodeCore::Peer* NodeCore::PeerAt(NodePlace node, ExitReason& unreachable) {
  const internal::NodeEntry* entry = internal::NodeTable::Find(node);
  if (entry == nullptr || entry->is_local) {
    unreachable = ExitReason::NoProcess();
    return nullptr;
  }
  Peer* peer = FindPeer(entry->name);
  if (peer == nullptr || !peer->session.is_live()) {
    unreachable = ExitReason::NoConnection(absl::StrCat("there is no session with node ", entry->name));
    return nullptr;
  }
  if (peer->session.nodes().peer != entry->incarnation) {
    // It is gone, or so new that the end of the one before it is not noticed yet.
    unreachable = internal::NodeTable::IsDead(*entry)
                      ? ExitReason::NoProcess()
                      : ExitReason::NoConnection(absl::StrCat("there is no session with that process of node ",
                                                              entry->name, " yet, but with another one"));
    return nullptr;
  }
  return peer;
}

absl::Status NodeCore::NoteMailbox(const OutboundMessage& message) {
  const TypedMailbox mailbox{.mailbox = message.mailbox, .type = message.type};
  if (mailbox == last_mailbox_) return absl::OkStatus();
  const absl::string_view name = internal::MailboxNames::Find(message.mailbox);
  if (name.empty() || name.size() > limits::kMailboxNameBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a mailbox's name has ", name.size(), " bytes; between nodes 1 to ",
                                                   limits::kMailboxNameBytesMax, " are allowed"));
  }
  told_types_[message.mailbox] = message.type;
  last_mailbox_ = mailbox;
  return absl::OkStatus();
}

absl::Status NodeCore::Append(Peer& peer, const OutboundMessage& message, absl::string_view payload,
                              Admission admission) {
  absl::Status known = NoteMailbox(message);
  if (!known.ok()) return known;
  if (message.ask != 0 && !peer.ties.MayAsk()) {
    return MakeError(ErrorKind::kFull, absl::StrCat(limits::kAsksPerSessionMax, " calls of this node at node ",
                                                    peer.name, " have no answer yet; ask later"));
  }
  absl::StatusOr<std::string> bytes = EncodeMessage(peer.session.nodes(), message.from, message.to, message.mailbox,
                                                    message.ask, payload, admission, std::exchange(spare_bytes_, {}));
  if (!bytes.ok()) return bytes.status();
  OutboundEnvelope envelope{.bytes = *std::move(bytes),
                            .sender = message.from.is_null() ? ThreadSender() : message.from.life(),
                            .mailbox = message.mailbox,
                            .deadline = message.deadline};
  absl::Status accepted = AppendTo(peer, std::move(envelope));
  // AppendTo leaves the memory where it can. NOLINTNEXTLINE(bugprone-use-after-move)
  if (envelope.bytes.capacity() <= kKeptBytesMax) spare_bytes_ = std::move(envelope.bytes);
  if (!accepted.ok()) return accepted;
  peer.ties.OnSent(message.from, message.to, message.ask);
  return accepted;
}

absl::Status NodeCore::Send(const OutboundMessage& message) {
  const Serialized payload(message);
  if (!payload.ok()) return payload.status();
  absl::Status accepted;
  const Changing changing(*this, Change::kCall);
  ExitReason unreachable;
  Peer* peer = PeerAt(message.to.place(), unreachable);
  if (peer == nullptr) return UnreachableError(message.to, unreachable);
  const MailboxAddress mailbox(message.to, message.mailbox);
  const auto payload_bytes = static_cast<int64_t>(payload.size());
  const absl::optional<Admission> admission = peer->credit_out.Find(mailbox, payload_bytes);
  if (!admission.has_value() && payload.size() <= limits::kMessageBytesMax) {
    accepted = NoCredit(*peer, mailbox, payload_bytes);
  } else {
    accepted = Append(*peer, message, payload.bytes(), admission.value_or(Admission::kAllowance));
    if (accepted.ok()) peer->credit_out.OnSent(mailbox, payload_bytes, *admission);
  }
  if (peer->session.has_actions()) CarryOut(*peer);
  return accepted;
}

absl::optional<absl::Status> NodeCore::SendOrWait(const OutboundMessage& message, uint64_t wait) {
  const Serialized payload(message);
  if (!payload.ok()) return payload.status();
  const Changing changing(*this, Change::kCall);
  ExitReason unreachable;
  Peer* peer = PeerAt(message.to.place(), unreachable);
  if (peer == nullptr) return UnreachableError(message.to, unreachable);
  const MailboxAddress mailbox(message.to, message.mailbox);
  const auto payload_bytes = static_cast<int64_t>(payload.size());
  absl::optional<absl::Status> outcome;
  absl::optional<Admission> admission;
  if (!peer->credit_out.IsAwaited(mailbox)) admission = peer->credit_out.Find(mailbox, payload_bytes);
  if (admission.has_value() || payload.size() > limits::kMessageBytesMax) {
    outcome = Append(*peer, message, payload.bytes(), admission.value_or(Admission::kAllowance));
    if (outcome->ok()) peer->credit_out.OnSent(mailbox, payload_bytes, *admission);
  } else if (absl::optional<CreditChange> want = peer->credit_out.Wants(mailbox, payload_bytes, {message.from, wait})) {
    TellCredit(*peer, {*std::move(want)});
  } else {
    outcome = MakeError(ErrorKind::kFull,
                        absl::StrCat(limits::kWantsPerSessionMax, " senders of this node wait for room of node ",
                                     peer->name, " already, or gave up just now"));
  }
  CarryOut(*peer);
  return outcome;
}

absl::Status NodeCore::SendInRoom(const OutboundMessage& message, uint64_t wait) {
  const Serialized payload(message);
  const Changing changing(*this, Change::kCall);
  ExitReason unreachable;
  Peer* peer = PeerAt(message.to.place(), unreachable);
  if (peer == nullptr) return UnreachableError(message.to, unreachable);
  const CreditSender::Waiter waiter(message.from, wait);
  if (!peer->credit_out.HasRoom(waiter)) {
    return MakeError(ErrorKind::kNoConnection,
                     absl::StrCat("the session with node ", peer->name, " that kept room for the message has ended"));
  }
  absl::Status accepted = payload.status();
  if (payload.ok()) accepted = Append(*peer, message, payload.bytes(), Admission::kReserved);
  if (accepted.ok()) {
    peer->credit_out.OnSentInRoom(waiter);
  } else if (absl::optional<CreditChange> told = peer->credit_out.GiveUp(waiter)) {
    TellCredit(*peer, {*std::move(told)});
  }
  if (peer->session.has_actions()) CarryOut(*peer);
  return accepted;
}

void NodeCore::StopWaiting(Pid from, uint64_t wait) {
  const Changing changing(*this, Change::kCall);
  for (auto& [name, peer] : peers_) {
    absl::optional<CreditChange> told = peer->credit_out.GiveUp({from, wait});
    if (!told.has_value()) continue;
    TellCredit(*peer, {*std::move(told)});
    CarryOut(*peer);
    return;
  }
}

void NodeCore::Post(Signal signal) {
  if (signal.payload.is_typed() && signal.payload.type()->is_wire) {
    std::string bytes;  // serialised here, not under the lock
    if (signal.payload.type()->serialize(signal.payload.value(), &bytes)) {
      signal.payload = internal::Payload::OfWireBytes(std::move(bytes));
    }
  }
  const Changing changing(*this, Change::kCall);
  ExitReason unreachable;
  Peer* peer = PeerAt(signal.to.place(), unreachable);
  if (peer != nullptr) {
    peer->ties.OnPosted(signal);
    const bool is_of_the_dead =
        signal.kind == SignalKind::kDown || (signal.kind == SignalKind::kExit && signal.is_link);
    if (signal.kind == SignalKind::kReply) {
      if (peer->ties.OnAnswers(signal.to, signal.id)) {
        AppendReply(*peer, signal);
      } else {
        ++counters_.late;
      }
    } else if (is_of_the_dead && names_.MustHold(peer->name)) {
      HoldSignal(*peer, std::move(signal));
    } else {
      AppendSignal(*peer, signal);
    }
    CarryOut(*peer);
  } else if (absl::optional<Signal> answer = SessionTies::AnswerTo(signal, unreachable); answer.has_value()) {
    deliveries_.push_back(*std::move(answer));
  }
}

void NodeCore::HoldSignal(Peer& peer, Signal signal) {
  const size_t bytes = EncodeSignal(peer.session.nodes(), signal).size() + limits::kSlotOverheadBytes;
  const absl::Status held = names_.Hold(peer.name, std::make_shared<const Signal>(std::move(signal)), bytes);
  if (!held.ok()) peer.session.EndForWantOfRoom(held.message(), Now());
}

void NodeCore::Publish(const NameRecord& record, absl::AnyInvocable<void(absl::Status)> done) {
  std::vector<proto::MailboxSignature> mailboxes;
  for (const MailboxSignature& signature : record.mailboxes) {
    proto::MailboxSignature& mailbox = mailboxes.emplace_back();
    mailbox.set_name(signature.name);
    mailbox.set_is_call(signature.is_call);
    mailbox.set_request(signature.request);
    mailbox.set_reply(signature.reply);
  }
  absl::Status status = ValidateName(record.name);
  if (status.ok() && Grants::IsReservedForAnother(options_.node, record.name)) {
    status =
        MakeError(ErrorKind::kNotPermitted,
                  absl::StrCat("the name '", record.name, "' is reserved: understudy/KIND/NODE belongs to NODE, and ",
                               "this is node ", options_.node));
  }
  if (status.ok()) {
    const Changing changing(*this, Change::kCall);
    const bool is_stopping = leaving_ || draining_.load(std::memory_order_relaxed);
    status = is_stopping ? MakeError(ErrorKind::kStopping, absl::StrCat("node ", options_.node, " is stopping and ",
                                                                        "publishes no new names"))
                         : names_.Claim(record.name, record.pid, Now(), mailboxes);
    TakeNameChanges();
    TellAllNames();
  }
  done(std::move(status));
}

void NodeCore::Withdraw(absl::string_view name, Pid owner) {
  const Changing changing(*this, Change::kCall);
  names_.Release(name, owner);
  TakeNameChanges();
  TellAllNames();
}

}  // namespace understudy
