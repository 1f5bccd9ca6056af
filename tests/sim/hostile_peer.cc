#include "understudy/tests/sim/hostile_peer.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/proto/names.pb.h"
#include "understudy/tests/transport/puppet.pb.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

constexpr size_t kRecordedMax = 20;
constexpr size_t kAddressesMax = 30;
constexpr size_t kOpenWiresMax = 6;
constexpr absl::string_view kMailboxes[] = {"trader/box", "trader/drops", "trader/ask", "trader/run", "no/such"};

}  // namespace

// Wire: a stream that the hostile peer opened, with the state of its session.
class HostilePeer::Wire final : public FrameStream::Events {
 public:
  Wire(HostilePeer& peer, std::string its_node) : node(std::move(its_node)), peer_(peer) {}

  void OnFrame(std::string frame) override { peer_.OnFrame(*this, frame); }
  void OnWritten() override {}
  void OnClosed(absl::Status) override { is_closed = true; }
  void Write(std::string frame) {
    if (!is_closed && frame.size() <= limits::kFrameBytesMax) stream->Write(std::move(frame));
  }

  const std::string node;
  std::unique_ptr<FrameStream> stream;
  bool is_closed = false;
  std::string speaks_for;  // the name in its Hello
  uint64_t own = 0;        // the incarnation in its Hello
  uint64_t dial = 0;
  std::string key;
  // The state of the session. It is set when the honest node's Welcome arrives.
  uint64_t epoch = 0;
  uint64_t incarnation = 0;  // the honest node's
  uint64_t next_number = 1;
  uint64_t received = 0;
  absl::optional<SessionSecret> secret;
  std::vector<proto::NameMark> offers;  // not confirmed yet

 private:
  HostilePeer& peer_;
};

HostilePeer::HostilePeer(Options options, SimulatedNetwork& network)
    : options_(std::move(options)), network_(network), random_(options_.seed), incarnation_(random_.Next() | 1) {}
HostilePeer::~HostilePeer() = default;

void HostilePeer::Learn(absl::string_view node, const proto::Address& address) {
  std::vector<proto::Address>& known = targets_[std::string(node)].addresses;
  if (known.size() >= kAddressesMax) known.erase(known.begin());
  known.push_back(address);
}

void HostilePeer::Act() {
  std::erase_if(wires_, [](const auto& wire) { return wire->is_closed; });
  if (wires_.size() < kOpenWiresMax && (wires_.empty() || Chance(6))) {
    Open();
    return;
  }
  Wire& wire = *wires_[random_.Below(wires_.size())];
  if (Chance(30)) {
    wire.stream->Close();
  } else if (wire.epoch != 0) {
    SayTo(wire);
  }
}

void HostilePeer::Leave() {
  for (const auto& wire : wires_) {
    if (!wire->is_closed) wire->stream->Close();
  }
}

// ---- Opening streams ----

void HostilePeer::Open() {
  const std::string& node = options_.honest[random_.Below(options_.honest.size())];
  if (Chance(8)) incarnation_ = random_.Next() | 1;
  wires_.push_back(std::make_unique<Wire>(*this, node));
  Wire& wire = *wires_.back();
  wire.stream = network_.DialerFor(options_.name)->Dial(node, node, &wire);
  if (Chance(12) && !recorded_.empty()) {
    wire.Write(recorded_[random_.Below(recorded_.size())]);
    return;
  }
  if (Chance(20)) return;  // opens the stream and sends no Hello
  proto::Frame frame;
  *frame.mutable_hello() = HelloTo(node, wire);
  recorded_.push_back(frame.SerializeAsString());
  wire.Write(recorded_.back());
}

proto::Hello HostilePeer::HelloTo(const std::string& node, Wire& wire) {
  Target& target = targets_[node];
  const bool speaks_for_another = Chance(options_.impostor == Impostor::kNever ? 5 : 2);
  wire.speaks_for = speaks_for_another ? options_.honest[random_.Below(options_.honest.size())] : options_.name;
  wire.dial = ++target.dials;
  wire.key = std::string(kSessionKeyBytes, 'k');
  proto::Hello hello;
  hello.set_version(Chance(30) ? 1 : kWireVersion);
  hello.set_version_highest(kWireVersion + random_.Below(2));
  hello.set_from_node(wire.speaks_for);
  const bool takes_its_incarnation = wire.speaks_for != options_.name && targets_[wire.speaks_for].incarnation != 0 &&
                                     options_.impostor != Impostor::kOtherIncarnation && Chance(2);
  wire.own = takes_its_incarnation ? targets_[wire.speaks_for].incarnation : incarnation_;
  hello.set_incarnation(wire.own);
  hello.set_to_node(Chance(20) ? options_.name : node);
  hello.set_new_epoch(Chance(10) ? random_.Next() >> random_.Below(64) : 1);
  hello.set_dial(Chance(10) ? random_.Next() >> random_.Below(64) : wire.dial);
  hello.set_key(wire.key);
  if (Chance(3)) hello.set_advertise(Chance(2) ? options_.name : options_.honest[0]);
  *hello.mutable_times() = ToProto(SessionTimes());
  hello.mutable_times()->set_grace_ms(0);
  // Resumes an earlier session or declares it ended. The proof is attached if the session was the hostile peer's own.
  for (const auto& other : wires_) {
    if (other->epoch == 0 || !other->secret.has_value() || other->node != node ||
        other->speaks_for != wire.speaks_for || Chance(2))
      continue;
    const bool resumes = Chance(2);
    hello.set_dial(wire.dial);
    hello.set_to_incarnation(other->incarnation);
    resumes ? hello.set_resume_epoch(other->epoch) : hello.set_ended_epoch(other->epoch);
    hello.set_new_epoch(other->epoch + 1);
    if (resumes) hello.set_received(other->received);
    hello.set_proof(
        other->secret->Prove({.kind = resumes ? SessionClaim::Kind::kResume : SessionClaim::Kind::kEndedByDialler,
                              .dialler = wire.speaks_for,
                              .dialler_incarnation = NodeIncarnation{hello.incarnation()},
                              .acceptor = node,
                              .acceptor_incarnation = NodeIncarnation{other->incarnation},
                              .epoch = other->epoch,
                              .dial = hello.dial(),
                              .received = resumes ? other->received : 0}));
    if (resumes) {
      wire.next_number = other->next_number;
      wire.received = other->received;
      wire.secret = other->secret;
    }
    break;
  }
  return hello;
}

// ---- Frames of a session ----

void HostilePeer::SayTo(Wire& wire) {
  proto::Frame frame = Header(wire);
  if (wire.next_number == 1 && Chance(3)) {  // a session that consists of one frame
    Signal(wire, frame);
    frame.mutable_goodbye()->set_why("hostile");
  }
  for (uint64_t i = 1 + random_.Below(3); i > 0; --i) {
    switch (random_.Below(12)) {
      case 0:
      case 1:
      case 2:
        Messages(wire, frame);
        break;
      case 3:
      case 4:
        Credits(wire, frame);
        break;
      case 5:
      case 6:
        Signal(wire, frame);
        break;
      case 7:
        Refused(wire, frame);
        break;
      case 8:
      case 9:
        Names(wire, frame);
        break;
      default:
        Control(frame);
    }
  }
  if (Chance(12)) Spoil(wire, frame);
  std::string bytes = frame.SerializeAsString();
  if (recorded_.size() >= kRecordedMax) recorded_.erase(recorded_.begin());
  recorded_.push_back(bytes);
  if (Chance(15)) bytes = recorded_[random_.Below(recorded_.size())];
  ++frames_written_;
  wire.Write(std::move(bytes));
}

proto::Frame HostilePeer::Header(const Wire& wire) const {
  proto::Frame frame;
  frame.set_epoch(wire.epoch);
  frame.set_acknowledged(wire.received);
  return frame;
}

void HostilePeer::AddEnvelope(Wire& wire, proto::Frame& frame, const proto::Envelope& envelope) {
  if (frame.first_number() == 0) frame.set_first_number(wire.next_number);
  proto::Slot& slot = *frame.add_slots();
  slot.set_body(envelope.SerializeAsString());
  if (Chance(20)) slot.set_remaining_nanos(static_cast<int64_t>(random_.Next() >> random_.Below(64)));
  ++wire.next_number;
}

void HostilePeer::Messages(Wire& wire, proto::Frame& frame) {
  const proto::Address to = Theirs(wire);
  const uint32_t mailbox = Mailbox(frame);
  for (uint64_t i = 1 + random_.Below(Chance(6) ? 40 : 5); i > 0; --i) {
    net_testing::Note note;
    note.set_number(-static_cast<int64_t>(i));
    note.set_text(std::string(random_.Below(Chance(10) ? 5000 : 20), 'h'));
    proto::Envelope envelope;
    proto::Message& message = *envelope.mutable_message();
    *message.mutable_from() = Own(wire);
    *message.mutable_to() = to;
    message.set_mailbox(mailbox);
    if (Chance(3)) message.set_ask(random_.Next() >> 1);
    message.set_payload(Chance(8) ? std::string(random_.Below(30), '\xff') : note.SerializeAsString());
    message.set_by_allowance(!Chance(40));
    AddEnvelope(wire, frame, envelope);
  }
}

void HostilePeer::Credits(Wire& wire, proto::Frame& frame) {
  proto::Envelope envelope;
  for (uint64_t i = 1 + random_.Below(3); i > 0; --i) {
    proto::Credit& credit = *envelope.mutable_credits()->add_credits();
    // Mostly sends WANT. A grant, or a return of credit that was not granted, makes the honest node end the session.
    credit.set_kind(Chance(10) ? static_cast<proto::Credit::Kind>(1 + random_.Below(5)) : proto::Credit::WANT);
    *credit.mutable_to() = credit.kind() == proto::Credit::GRANT ? Own(wire) : Theirs(wire);
    credit.set_mailbox(Mailbox(frame));
    credit.set_messages(1);
    credit.set_bytes(
        static_cast<int64_t>(Chance(10) ? random_.Next() >> (20 + random_.Below(44)) : random_.Below(200)));
    if (Chance(2)) credit.set_want(Chance(10) ? 1 + random_.Below(10) : ++last_want_);
    if (credit.kind() == proto::Credit::GRANT && Chance(2)) credit.set_allowance_messages(1 + random_.Below(5));
  }
  AddEnvelope(wire, frame, envelope);
}

void HostilePeer::Signal(Wire& wire, proto::Frame& frame) {
  proto::Envelope envelope;
  proto::Signal& signal = *envelope.mutable_signal();
  signal.set_kind(static_cast<int32_t>(1 + random_.Below(11)));
  *signal.mutable_from() = Own(wire);
  *signal.mutable_to() = Theirs(wire);
  signal.set_id(Chance(2) ? random_.Below(20) : random_.Next() >> 1);
  signal.set_is_link(Chance(3));
  *signal.mutable_reason() = Reason();
  if (signal.kind() == static_cast<int32_t>(SignalKind::kReply)) {
    if (Chance(2)) signal.mutable_status()->set_code(static_cast<int32_t>(random_.Below(20)));
    signal.set_payload("hostile");
  }
  AddEnvelope(wire, frame, envelope);
}

void HostilePeer::Refused(Wire& wire, proto::Frame& frame) {
  proto::Envelope envelope;
  proto::Refused& refused = *envelope.mutable_refused();
  *refused.mutable_from() = Theirs(wire);
  *refused.mutable_to() = Own(wire);
  refused.set_mailbox(Mailbox(frame));
  refused.set_ask(Chance(2) ? 0 : random_.Below(30));
  refused.mutable_status()->set_code(5);
  AddEnvelope(wire, frame, envelope);
}

std::string HostilePeer::AName() {
  switch (random_.Below(6)) {
    case 0:
      return absl::StrCat(options_.name, "/", random_.Below(5));
    case 1:
      return absl::StrCat("understudy/children/", options_.honest[0]);
    case 2:
      return absl::StrCat(options_.name, "/", std::string(limits::kNameBytesMax - options_.name.size() - 1, 'n'));
    case 3:
      return absl::StrCat(options_.honest[random_.Below(options_.honest.size())], "/", random_.Below(5));
    default:
      return options_.names[random_.Below(options_.names.size())];
  }
}

proto::NameClaim HostilePeer::Claim() {
  proto::NameClaim claim;
  claim.set_name(AName());
  claim.set_cell(static_cast<uint32_t>(random_.Below(ActorAddress::kCellEnd)));
  claim.set_serial(1 + random_.Below(ActorAddress::kSerialEnd - 1));
  claim.set_number(++last_claim_);
  // The claim is mostly older than any claim of an honest node, and sometimes its age is impossible.
  claim.set_age_nanos(Chance(30) ? static_cast<int64_t>(random_.Next())
                                 : static_cast<int64_t>(random_.Below(uint64_t{1} << 43)));
  return claim;
}

void HostilePeer::Names(Wire& wire, proto::Frame& frame) {
  proto::NameChanges changes;
  // Confirms each name that was offered to the hostile peer, as if it owned the name.
  for (const proto::NameMark& offer : std::exchange(wire.offers, {})) *changes.add_changes()->mutable_confirm() = offer;
  for (uint64_t i = 1 + random_.Below(4); i > 0; --i) {
    proto::NameChange& change = *changes.add_changes();
    if (Chance(2)) {
      *change.mutable_claim() = Claim();
      continue;
    }
    proto::NameMark mark;
    mark.set_name(AName());
    mark.set_number(1 + random_.Below(20));
    switch (random_.Below(6)) {
      case 0:
        *change.mutable_release() = mark;
        break;
      case 1:
        *change.mutable_refusal() = mark;
        break;
      case 2:
        *change.mutable_offer() = mark;
        break;
      case 3:
        *change.mutable_confirm() = mark;
        break;
      case 4:
        *change.mutable_cancel() = mark;
        break;
      default:
        *change.mutable_cancelled() = mark;
    }
  }
  if (Chance(10)) changes.set_taken(static_cast<uint32_t>(random_.Below(3)));
  if (Chance(5)) changes.set_tell_again(true);
  proto::Envelope envelope;
  envelope.set_names(changes.SerializeAsString());
  AddEnvelope(wire, frame, envelope);
}

void HostilePeer::Control(proto::Frame& frame) {
  if (frame.has_goodbye()) return;
  if (Chance(20)) {
    frame.mutable_goodbye()->set_why("hostile");
    frame.mutable_goodbye()->set_leaving(Chance(2));
  } else {
    frame.mutable_heartbeat()->set_probe(Chance(2));
  }
}

// Falsifies one number of the frame, or gives an envelope that only a session may send an actor or another node as its
// sender.
void HostilePeer::Spoil(Wire& wire, proto::Frame& frame) {
  switch (random_.Below(6)) {
    case 0:
      frame.set_epoch(wire.epoch + random_.Below(3) - 1);
      break;
    case 1:
      frame.set_acknowledged(random_.Next() >> random_.Below(64));
      break;
    case 2:  // a gap
      if (frame.slots_size() > 0) frame.set_first_number(frame.first_number() + 1 + random_.Below(5));
      break;
    case 3:  // a repeat
      if (frame.slots_size() > 0 && frame.first_number() > 1) frame.set_first_number(1);
      break;
    case 4:
      if (frame.slots_size() > 0) {
        frame.mutable_slots(0)->set_part_of(static_cast<uint32_t>(random_.Below(70)));
        frame.mutable_slots(0)->set_continues(Chance(2));
      }
      break;
    default: {
      proto::Envelope envelope;
      envelope.mutable_leave()->set_why("hostile");
      AddEnvelope(wire, frame, envelope);
    }
  }
}

// ---- Received frames ----

void HostilePeer::OnFrame(Wire& wire, const std::string& bytes) {
  proto::Frame frame;
  if (!frame.ParseFromString(bytes)) return;
  if (Chance(4) && recorded_.size() < kRecordedMax) recorded_.push_back(bytes);
  if (frame.has_welcome()) {
    const proto::Welcome& welcome = frame.welcome();
    ++welcomes_;
    wire.epoch = welcome.epoch();
    wire.incarnation = welcome.incarnation();
    targets_[wire.node].incarnation = welcome.incarnation();
    if (!welcome.resumed()) {
      wire.next_number = 1;
      wire.received = 0;
      if (!wire.key.empty() && welcome.key().size() == kSessionKeyBytes) wire.secret.emplace(wire.key, welcome.key());
    }
    if (Chance(3)) return;  // a later frame on this stream, if any, is its first use of the session
    proto::Frame first = Header(wire);
    first.mutable_heartbeat();
    wire.Write(first.SerializeAsString());
    return;
  }
  if (frame.slots_size() > 0 && frame.first_number() == wire.received + 1) {
    wire.received += static_cast<uint64_t>(frame.slots_size());
  }
  for (const proto::Slot& slot : frame.slots()) {
    proto::Envelope envelope;
    if (slot.part_of() == 0 && envelope.ParseFromString(slot.body())) LearnFrom(wire, envelope);
  }
  // The hostile peer answers with a heartbeat mostly, which keeps its sessions alive.
  if (Chance(4)) return;
  proto::Frame answer = Header(wire);
  answer.mutable_heartbeat();
  wire.Write(answer.SerializeAsString());
}

void HostilePeer::LearnFrom(Wire& wire, const proto::Envelope& envelope) {
  if (envelope.has_message()) Learn(wire.node, envelope.message().from());
  if (envelope.has_signal()) Learn(wire.node, envelope.signal().from());
  proto::NameChanges changes;
  if (!envelope.has_names() || !changes.ParseFromString(envelope.names())) return;
  for (const proto::NameChange& change : changes.changes()) {
    if (change.has_offer()) wire.offers.push_back(change.offer());
    if (!change.has_claim()) continue;
    proto::Address address;
    address.set_incarnation(wire.incarnation);
    address.set_cell(change.claim().cell());
    address.set_serial(change.claim().serial());
    Learn(wire.node, address);
  }
}

// ---- Random parts of frames ----

proto::Address HostilePeer::Own(const Wire& wire) {
  proto::Address address;
  address.set_incarnation(Chance(200) ? random_.Next() : wire.own);
  address.set_cell(static_cast<uint32_t>(random_.Below(20)));
  address.set_serial(random_.Below(20));
  return address;
}

proto::Address HostilePeer::Theirs(const Wire& wire) {
  const std::vector<proto::Address>& known = targets_[wire.node].addresses;
  proto::Address address;
  address.set_cell(static_cast<uint32_t>(random_.Below(ActorAddress::kCellEnd)));
  address.set_serial(random_.Below(ActorAddress::kSerialEnd));
  if (!known.empty() && !Chance(8)) address = known[random_.Below(known.size())];
  if (!Chance(100)) address.set_incarnation(wire.incarnation);
  return address;
}

uint32_t HostilePeer::Mailbox(proto::Frame& frame) {
  const absl::string_view name = kMailboxes[random_.Below(std::size(kMailboxes))];
  const uint32_t hash = internal::Fnv1a(name);
  const auto is_it = [&](const proto::MailboxDefinition& definition) { return definition.hash() == hash; };
  if (std::none_of(frame.definitions().begin(), frame.definitions().end(), is_it) && !Chance(50)) {
    frame.add_definitions()->set_hash(hash);
    frame.mutable_definitions(frame.definitions_size() - 1)->set_name(Chance(100) ? "another" : std::string(name));
  }
  return hash;
}

proto::ExitReason HostilePeer::Reason() {
  proto::ExitReason reason;
  proto::ExitReasonLink& link = *reason.add_links();
  link.set_kind(static_cast<int32_t>(1 + random_.Below(16)));
  link.set_detail("hostile");
  if (link.kind() == 3) link.mutable_status()->set_code(13);
  return reason;
}

}  // namespace understudy
