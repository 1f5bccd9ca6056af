// PeerCore: what this system's actors send to the peer.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/router.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/core/node_parts.h"
#include "understudy/transport/core/outstanding_requests.h"
#include "understudy/transport/core/peer_core.h"
#include "understudy/transport/core/peer_credit.h"
#include "understudy/transport/core/peer_streams.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/send_queues.h"

namespace understudy::internal {
namespace {

// The most memory of one envelope that is kept for the next one.
constexpr size_t kKeptBytesMax = size_t{64} << 10;

// While more bytes of signals than kWholeReasonsBytesMax are held or unacknowledged, an exit reason travels without its
// causes and with at most kBriefTextBytesMax bytes of each text and of its status's payloads, so that a few actors that
// fail with reasons of 64 KiB do not fill the session.
constexpr size_t kWholeReasonsBytesMax = size_t{2} << 20;
constexpr size_t kBriefTextBytesMax = 256;

ExitReason Brief(const ExitReason& whole, size_t text_bytes_max) {
  const absl::Status status = whole.status();
  absl::Status brief(status.code(), CutText(status.message(), text_bytes_max));
  size_t payload_bytes = 0;
  status.ForEachPayload([&](absl::string_view url, const auto& payload) {
    payload_bytes += url.size() + payload.size();
    if (payload_bytes <= text_bytes_max) brief.SetPayload(url, payload);
  });
  return ExitReason::FromParts({.kind = whole.kind(),
                                .status = std::move(brief),
                                .exception_type = CutText(whole.exception_type(), text_bytes_max),
                                .detail = CutText(whole.detail(), text_bytes_max),
                                .os_value = whole.os_value(),
                                .handler_running = whole.handler_running(),
                                .causes_cut = whole.causes_cut() || whole.cause() != nullptr});
}

}  // namespace

bool PeerCore::Reaches(NodePlace node) const {
  if (!peer_.has_value() || !peer_->session.is_live()) return false;
  if (peer_->session.nodes().peer_node == node) return true;
  // An incarnation may have had several places in the table of nodes; a pid with any of them reaches it.
  const NodeEntry* entry = NodeTable::Find(node);
  return entry != nullptr && !entry->is_local && entry->name == peer_->name &&
         entry->incarnation == peer_->session.nodes().peer;
}

ExitReason PeerCore::WhyUnreachable(const NodeEntry& entry) {
  const Locked lock(*this);
  if (!peer_.has_value() || peer_->name != entry.name || !peer_->session.is_live() ||
      peer_->session.nodes().peer == entry.incarnation) {  // the session began after Reach looked for it
    return ExitReason::NoConnection(absl::StrCat("there is no session with node ", entry.name));
  }
  // The session is with another incarnation. The one that is meant is dead, or so new that this node has not noticed
  // yet that it replaced the other.
  return NodeTable::IsDead(entry)
             ? ExitReason::NoProcess()
             : ExitReason::NoConnection(absl::StrCat("there is no session with that process of node ", entry.name,
                                                     " yet, but with another one"));
}

void PeerCore::Deliver(Signal signal) {
  const Changing changing(*this, Change::kCall);
  deliveries_.push_back(std::move(signal));
}

// ---- Messages ----

absl::Status PeerCore::NoteMailbox(const OutboundMessage& message) {
  const TypedMailbox mailbox{.mailbox = message.mailbox, .type = message.type};
  if (mailbox == peer_->last_mailbox) return absl::OkStatus();
  const absl::string_view name = MailboxNames::Find(message.mailbox);
  if (name.empty() || name.size() > limits::kMailboxNameBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("a mailbox's name has ", name.size(), " bytes; between nodes 1 to ",
                                                   limits::kMailboxNameBytesMax, " are allowed"));
  }
  peer_->told_types[message.mailbox] = message.type;
  peer_->last_mailbox = mailbox;
  return absl::OkStatus();
}

// The trace that travels with the message; null if the peer takes none.
const TraceContext* PeerCore::TraceOf(const OutboundMessage& message) {
  if (ABSL_PREDICT_TRUE(message.trace == nullptr)) return nullptr;
  return (peer_->session.features() & kFeatureTraces) == 0 ? nullptr : &message.trace->context;
}

absl::Status PeerCore::Append(const OutboundMessage& message, absl::string_view payload, Admission admission,
                              size_t kept_bytes) {
  absl::Status known = NoteMailbox(message);
  if (!known.ok()) return known;
  if (message.ask != 0 && !peer_->requests.MayAsk()) {
    return MakeError(ErrorKind::kFull, absl::StrCat(limits::kAsksPerSessionMax, " calls of this node at node ",
                                                    peer_->name, " have no answer yet; ask later"));
  }
  absl::StatusOr<std::string> bytes =
      EncodeMessage(peer_->session.nodes(), message.from, message.to, message.mailbox, message.ask, payload, admission,
                    std::exchange(peer_->spare_bytes, {}), TraceOf(message));
  if (!bytes.ok()) return bytes.status();
  OutboundEnvelope envelope{.bytes = *std::move(bytes),
                            .sender = message.from.is_null() ? ThreadSender() : message.from.life(),
                            .mailbox = message.mailbox,
                            .deadline = message.deadline,
                            .kept_bytes = kept_bytes};
  absl::Status accepted = AppendTo(std::move(envelope));
  // AppendTo leaves the memory where it can. NOLINTNEXTLINE(bugprone-use-after-move)
  if (envelope.bytes.capacity() <= kKeptBytesMax) peer_->spare_bytes = std::move(envelope.bytes);
  if (!accepted.ok()) return accepted;
  peer_->requests.OnSent(message.from, message.to, message.ask);
  return accepted;
}

bool PeerCore::Send(const OutboundMessage& message, absl::string_view payload, absl::Status& accepted) {
  const Changing changing(*this, Change::kCall);
  if (!Reaches(message.to.place())) return false;
  const MailboxAddress mailbox(message.to, message.mailbox);
  const auto payload_bytes = static_cast<int64_t>(payload.size());
  if (const uint64_t features = FeaturesFor(message.ask); (peer_->session.features() & features) != features) {
    accepted = absl::UnimplementedError(absl::StrCat(
        "node ", peer_->name, " is of a version without ", IsUploadAsk(message.ask) ? "uploads, so " : "streams, so ",
        message.to.ToString(), IsUploadAsk(message.ask) ? " takes none" : " gives none"));
    return true;
  }
  const absl::optional<Admission> admission = peer_->credit.Find(mailbox, payload_bytes);
  if (!admission.has_value() && payload.size() <= limits::kMessageBytesMax) {
    accepted = peer_->credit.OnFull(mailbox, payload_bytes, CreditBacklog());
    ApplyCredit();
  } else {
    accepted = Append(message, payload, admission.value_or(Admission::kAllowance));
    if (accepted.ok()) peer_->credit.OnSent(mailbox, payload_bytes, *admission);
  }
  if (peer_->session.has_actions()) Apply();
  return true;
}

bool PeerCore::SendOrWait(const OutboundMessage& message, absl::string_view payload, uint64_t wait,
                          absl::optional<absl::Status>& outcome) {
  const Changing changing(*this, Change::kCall);
  if (!Reaches(message.to.place())) return false;
  const MailboxAddress mailbox(message.to, message.mailbox);
  const auto payload_bytes = static_cast<int64_t>(payload.size());
  outcome.reset();
  const absl::optional<Admission> admission = peer_->credit.FindInTurn(mailbox, payload_bytes);
  if (admission.has_value() || payload.size() > limits::kMessageBytesMax) {
    outcome = Append(message, payload, admission.value_or(Admission::kAllowance));
    if (outcome->ok()) peer_->credit.OnSent(mailbox, payload_bytes, *admission);
    // The session has no room. The sender waits for that in the same line as senders that wait for room in a mailbox,
    // so it first gets reserved room in the mailbox.
    if (admission.has_value() && IsFull(*outcome)) outcome.reset();
  }
  if (!outcome.has_value()) {
    const absl::Status waits = peer_->credit.Wait(mailbox, payload_bytes, {message.from, wait});
    if (!waits.ok()) outcome = waits;
    ApplyCredit();
  }
  Apply();
  return true;
}

bool PeerCore::SendInRoom(const OutboundMessage& message, const absl::StatusOr<absl::string_view>& payload,
                          uint64_t wait, absl::Status& accepted) {
  const Changing changing(*this, Change::kCall);
  if (!Reaches(message.to.place())) return false;
  const PeerCredit::Waiter waiter(message.from, wait);
  if (!peer_->credit.HasRoom(waiter)) {
    accepted = MakeError(ErrorKind::kNoConnection, absl::StrCat("the session with node ", peer_->name,
                                                                " that kept room for the message has ended"));
    return true;
  }
  accepted = payload.status();
  if (payload.ok()) {
    accepted = Append(message, *payload, Admission::kReserved, peer_->credit.KeptBytes(waiter));
  }
  if (accepted.ok()) {
    peer_->credit.OnSentInRoom(waiter);
  } else {
    (void)GiveUp(waiter);
  }
  Apply();
  return true;
}

// ---- Signals ----

bool PeerCore::Post(Signal& signal) {
  const Changing changing(*this, Change::kCall);
  if (!Reaches(signal.to.place())) return false;
  if (!peer_->requests.OnPosted(signal)) {
    peer_->session.EndForWantOfRoom(
        absl::StrCat("the peer has not answered ", limits::kUnlinksPerSessionMax, " unlinks"), Now());
    Apply();
    return true;
  }
  const bool is_of_the_dead = signal.kind == SignalKind::kDown || (signal.kind == SignalKind::kExit && signal.is_link);
  if (signal.kind == SignalKind::kReply) {
    if (AwaitsAnswer(signal.to, signal.id)) {
      AppendReply(signal);
    } else {
      ++counters_.late;
    }
  } else if (IsOfStream(signal.kind)) {
    PostOfStream(signal);
  } else {
    ShortenReason(signal);
    if (is_of_the_dead && parts_.names.MustHold(peer_->name)) {
      HoldSignal(std::move(signal));
    } else {
      AppendSignal(signal);
    }
  }
  Apply();
  return true;
}

void PeerCore::HoldSignal(Signal signal) {
  const size_t bytes = EncodeSignal(peer_->session.nodes(), signal).size() + limits::kSlotOverheadBytes;
  const absl::Status held = parts_.names.Hold(peer_->name, std::make_shared<const Signal>(std::move(signal)), bytes);
  if (!held.ok()) peer_->session.EndForWantOfRoom(held.message(), Now());
}

absl::Status PeerCore::AppendTo(OutboundEnvelope&& envelope) {
  return peer_->session.Append(std::move(envelope), [this] {
    mu_.AssertHeld();
    return Now();
  });
}

void PeerCore::AppendOrEnd(OutboundEnvelope envelope) {
  // If there is no room for the envelope, the session ends, and all who wait for anything of it get NoConnection.
  (void)AppendTo(std::move(envelope));
}

void PeerCore::ShortenReason(Signal& signal) {
  if (signal.reason.bytes() <= ExitReason().bytes()) return;  // it has no text and no cause
  const size_t waiting = peer_->session.bytes_waiting(Room::kSignals) + parts_.names.HeldBytes(peer_->name);
  if (waiting <= kWholeReasonsBytesMax) return;
  const size_t text_bytes_max = waiting <= limits::kReasonTextsBytesMax ? kBriefTextBytesMax : 0;
  if (signal.reason.bytes() > text_bytes_max) signal.reason = Brief(signal.reason, text_bytes_max);
}

void PeerCore::AppendSignal(const Signal& signal) {
  AppendOrEnd({.bytes = EncodeSignal(peer_->session.nodes(), signal),
               .room = Room::kSignals,
               .sender = signal.from.is_null() ? ThreadSender() : signal.from.life()});
}

bool PeerCore::AwaitsAnswer(Pid asker, uint64_t ask) {
  if (ItemBits(ask) != 0) {
    absl::optional<Signal> told = peer_->requests.OnStreamsAnswered(asker, ask);
    if (told.has_value()) deliveries_.push_back(*std::move(told));
  }
  return peer_->requests.OnAnswers(asker, ask);
}

void PeerCore::PostOfStream(const Signal& signal) {
  if (!peer_->requests.OnStreamPosted(signal)) {
    // The answer to an upload ends it at both nodes, so what its two actors say of its end is seldom needed.
    if (signal.kind != SignalKind::kUploadEnd && signal.kind != SignalKind::kUploadCancel) ++counters_.late;
  } else if (signal.kind == SignalKind::kItem || signal.kind == SignalKind::kUploadItem) {
    AppendItem(signal);
  } else {
    AppendSignal(signal);
  }
}

void PeerCore::AppendItem(const Signal& item) {
  OutboundEnvelope envelope{.bytes = EncodeSignal(peer_->session.nodes(), item),
                            .room = Room::kReplies,
                            .sender = item.from.is_null() ? ThreadSender() : item.from.life()};
  const size_t bytes = envelope.bytes.size();
  const uint64_t sender = envelope.sender;
  const absl::Status appended = AppendTo(std::move(envelope));
  if (!IsFull(appended)) return;
  const absl::Status why = MakeError(
      ErrorKind::kFull, absl::StrCat("the item of ", bytes, " bytes of a stream found no room: earlier replies ",
                                     "and items of node ", options_.node, " are not acknowledged"));
  absl::optional<PeerStreams::NoRoom> told = peer_->requests.OnNoRoom(item, why);
  if (!told.has_value()) return;
  deliveries_.push_back(std::move(told->to_writer));
  AppendOrEnd(
      {.bytes = EncodeSignal(peer_->session.nodes(), told->to_reader), .room = Room::kAnswers, .sender = sender});
}

void PeerCore::AppendReply(const Signal& reply) {
  OutboundEnvelope envelope{.bytes = EncodeSignal(peer_->session.nodes(), reply),
                            .sender = reply.from.is_null() ? ThreadSender() : reply.from.life()};
  envelope.room = envelope.bytes.size() <= limits::kAnswerBytesMax ? Room::kAnswers : Room::kReplies;
  const size_t bytes = envelope.bytes.size();
  const uint64_t sender = envelope.sender;
  const absl::Status appended = AppendTo(std::move(envelope));
  if (!IsFull(appended)) return;
  const Signal refusal{
      .kind = SignalKind::kReply,
      .from = reply.from,
      .to = reply.to,
      .id = reply.id,
      .status = MakeError(ErrorKind::kFull,
                          absl::StrCat("the reply of ", bytes, " bytes found no room: ", "earlier replies of node ",
                                       options_.node, " are not acknowledged"))};
  AppendOrEnd({.bytes = EncodeSignal(peer_->session.nodes(), refusal), .room = Room::kAnswers, .sender = sender});
}

}  // namespace understudy::internal
