// PeerCore: the session of a peer, its streams, and what of them the node is told.
#include "understudy/transport/core/peer_core.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/core/node_core_options.h"
#include "understudy/transport/core/node_link.h"
#include "understudy/transport/core/node_parts.h"
#include "understudy/transport/core/overloads.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/session/handshake.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/peer_watch.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy::internal {

// ---- Which peer has the core ----

void PeerCore::Occupy(SessionConfig config, uint64_t tenancy, std::shared_ptr<const Grants> grants, PeerOrigin origin) {
  const Locked lock(*this);
  UNDERSTUDY_CHECK(!peer_.has_value(), "another peer has the core");
  config.first_number = (tenancy << 32) + 1;  // no session of another tenancy has that number or a later one
  config.peer_place = [this](NodeIncarnation incarnation) {
    mu_.AssertHeld();
    return TakePlace(incarnation);
  };
  peer_.emplace(std::move(config), tenancy, std::move(grants), origin, options_.credit_delay);
}

bool PeerCore::IsIdle() const {
  return peer_.has_value() && !peer_->is_kept && !peer_->session.is_live() && !peer_->session.has_offers() &&
         peer_->streams.empty();
}

absl::optional<SessionLedger> PeerCore::Vacate() {
  const Locked lock(*this);
  if (!IsIdle()) return absl::nullopt;
  // The peer's pending deliveries come first: if the peer came back in another core, the two would deliver in parallel.
  if (delivering_ || !deliveries_.empty()) {
    may_be_idle_ = true;
    return absl::nullopt;
  }
  return TakeLedgerAndGo();
}

absl::optional<SessionLedger> PeerCore::Evict() {
  const Locked lock(*this);
  // The peer may have begun a session since the node looked at its standing; a session must not lose its streams.
  if (!peer_.has_value() || peer_->is_kept || peer_->session.is_live()) return absl::nullopt;
  if (delivering_ || !deliveries_.empty()) return absl::nullopt;
  peer_->session.AbandonHandshakes(Now());
  Apply();
  // AbandonHandshakes leaves streams open for a while so that their last frame can be read; close these too.
  while (!peer_->streams.empty()) CloseStreamOf(peer_->streams.begin()->first);
  return TakeLedgerAndGo();
}

absl::optional<SessionLedger> PeerCore::TakeLedgerAndGo() {
  const SessionLedger ledger = peer_->session.ledger();
  options_.mark_peers_dead(peer_->name, absl::nullopt);
  peer_.reset();
  may_be_idle_ = false;
  return ledger;
}

absl::StatusOr<NodePlace> PeerCore::TakePlace(NodeIncarnation incarnation) {
  const bool is_new = peer_->last_met != incarnation;
  const bool is_rationed = is_new && peer_->is_unproved && !peer_->is_kept;
  if (is_rationed &&
      parts_.unproved_met.fetch_add(1, std::memory_order_relaxed) >= static_cast<int64_t>(limits::kUnprovedPlacesMax)) {
    parts_.unproved_met.fetch_sub(1, std::memory_order_relaxed);
    return absl::ResourceExhaustedError(
        absl::StrCat("the table of nodes has had ", limits::kUnprovedPlacesMax,
                     " incarnations whose identity is not proved, the most that it may have, and no place for node ",
                     peer_->name, "; restart this process, or use TLS or Unix sockets"));
  }
  // The earlier incarnation is marked dead first, because in a full table its place may be the only one to get. The
  // lock keeps another peer from taking that place in between.
  absl::MutexLock meeting(&parts_.meeting_mu);
  if (is_new) options_.mark_peers_dead(peer_->name, incarnation);
  absl::StatusOr<NodePlace> place = options_.intern_peer(peer_->name, incarnation);
  if (!place.ok()) {
    if (is_rationed) parts_.unproved_met.fetch_sub(1, std::memory_order_relaxed);
    return place;
  }
  peer_->last_met = incarnation;
  return place;
}

PeerCore::Standing PeerCore::standing() {
  const Locked lock(*this);
  if (!peer_.has_value()) return {};
  return {.tenancy = peer_->tenancy,
          .is_unproved = peer_->is_unproved && !peer_->is_kept,
          .is_live = peer_->session.is_live(),
          .is_delivering = delivering_ || !deliveries_.empty()};
}

// ---- Requests of the node ----

void PeerCore::Settle(Change change) { const Changing changing(*this, change); }

void PeerCore::SetKept(bool is_kept, absl::string_view address) {
  const Locked lock(*this);
  peer_->is_kept = is_kept;
  peer_->configured_address = std::string(address);
  UpdateDialable();
  Apply();
}

void PeerCore::Expect(const SessionTimes& times) {
  const Locked lock(*this);
  peer_->session.BeginAnew(times, Now());
  peer_->is_kept = true;
  peer_->configured_address.clear();
  UpdateDialable();
  Apply();
}

void PeerCore::SetGrants(std::shared_ptr<const Grants> grants) {
  const Locked lock(*this);
  peer_->grants = std::move(grants);
}

bool PeerCore::Allows(Operation operation, absl::string_view name) {
  const Locked lock(*this);
  return peer_.has_value() && peer_->session.is_live() &&
         peer_->grants->Allows(peer_->identity, peer_->name, operation, name);
}

void PeerCore::Leave(absl::string_view why) {
  const Changing changing(*this, Change::kCall);
  if (!peer_.has_value()) return;
  peer_->session.Leave(why, Now());
  Apply();
}

void PeerCore::UpdateDialable() {
  std::string address = peer_->configured_address;
  if (address.empty() && peer_->session.is_live()) address = peer_->learned_address;
  if (address == peer_->dialled_address) return;
  peer_->dialled_address = address;
  absl::optional<StreamIdentity> at_address;
  if (!address.empty()) at_address = options_.dialer->IdentityAt(peer_->name, address);
  peer_->session.SetDialable(at_address, Now());
}

void PeerCore::Write(const std::shared_ptr<NodeLink>& link, std::string frame) {
  const Locked lock(*this);
  stream_work_.push_back({.kind = StreamWork::Kind::kWrite, .link = link, .text = std::move(frame)});
}

void PeerCore::Close(const std::shared_ptr<NodeLink>& link) {
  const Locked lock(*this);
  stream_work_.push_back({.kind = StreamWork::Kind::kClose, .link = link});
}

void PeerCore::Report(PeerEvent event) {
  const Locked lock(*this);
  deliveries_.push_back(std::move(event));
}

void PeerCore::VisitAt(MonotonicTime time) {
  const Locked lock(*this);
  SetDueAt(time);
}

// ---- Streams ----

void PeerCore::Bind(const std::shared_ptr<NodeLink>& link, const proto::Hello& hello) {
  const Locked lock(*this);
  if (link->identity.is_proved()) peer_->is_unproved = false;
  const uint64_t stream = peer_->session.OnAccepted(hello, link->identity, Now());
  link->stream_of_peer = stream;
  link->peer.store(this, std::memory_order_release);
  peer_->streams[stream] = link;
  Apply();
}

void PeerCore::OnFrame(const NodeLink& link, absl::string_view frame) {
  const Changing changing(*this, Change::kEvent);
  if (link.stream_of_peer == 0) return;
  peer_->session.OnStreamFrame(link.stream_of_peer, frame, Now());
  Apply();
}

void PeerCore::OnWritten(const NodeLink& link) {
  const Changing changing(*this, Change::kEvent);
  if (link.stream_of_peer == 0) return;
  peer_->session.OnStreamWritten(link.stream_of_peer, Now());
  Apply();
}

void PeerCore::OnClosed(const std::shared_ptr<NodeLink>& link, const absl::Status& why) {
  const Changing changing(*this, Change::kEvent);
  stream_work_.push_back({.kind = StreamWork::Kind::kDestroy, .link = link});
  if (const uint64_t stream = std::exchange(link->stream_of_peer, 0); stream != 0) {
    peer_->streams.erase(stream);
    peer_->session.OnStreamClosed(stream, why, Now());
    Apply();
  }
  if (link->on_over != nullptr) deliveries_.push_back(StreamOver{std::exchange(link->on_over, nullptr), why});
}

void PeerCore::OnProvedDead(absl::string_view node, NodeIncarnation incarnation) {
  const Changing changing(*this, Change::kEvent);
  if (!peer_.has_value() || peer_->name != node) return;
  peer_->session.OnPeerProvedDead(incarnation, Now());
  Apply();
}

void PeerCore::CloseStreamOf(uint64_t number) {
  const auto stream = peer_->streams.find(number);
  if (stream == peer_->streams.end()) return;
  stream->second->stream_of_peer = 0;
  stream->second->EndBeats();
  stream_work_.push_back({.kind = StreamWork::Kind::kClose, .link = stream->second});
  peer_->streams.erase(stream);
}

void PeerCore::OnDial(const DialStream& dial) {
  const std::shared_ptr<NodeLink> link =
      parts_.links.Add(options_.dialer->IdentityAt(peer_->name, peer_->dialled_address));
  link->stream_of_peer = dial.stream;
  link->peer.store(this, std::memory_order_release);
  peer_->streams[dial.stream] = link;
  stream_work_.push_back(
      {.kind = StreamWork::Kind::kDial, .link = link, .node = peer_->name, .text = peer_->dialled_address});
}

void PeerCore::Apply() {
  if (peer_->is_applying) return;  // called by an action: the loop of the outer call runs the new actions
  peer_->is_applying = true;
  while (peer_->session.has_actions()) {
    for (SessionAction& action : peer_->session.TakeActions()) Apply(action);
  }
  peer_->is_applying = false;
  peer_->credit.ServeLine([this](size_t bytes) {
    mu_.AssertHeld();
    return peer_->session.Keep(bytes).ok();
  });
  ApplyCredit();
  if (IsIdle()) may_be_idle_ = true;
  SetDue();
}

void PeerCore::Apply(SessionAction& action) {
  std::visit(
      Overloads{[this](const DialStream& dial) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { OnDial(dial); },
                [this](WriteFrame& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
                  const auto stream = peer_->streams.find(write.stream);
                  if (stream == peer_->streams.end()) return;
                  stream_work_.push_back(
                      {.kind = StreamWork::Kind::kWrite, .link = stream->second, .text = std::move(write.bytes)});
                },
                [this](const CloseStream& close) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { CloseStreamOf(close.stream); },
                [this](StreamCarries& carries) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
                  const auto stream = peer_->streams.find(carries.stream);
                  if (stream == peer_->streams.end()) return;
                  peer_->beating = stream->second;
                  stream_work_.push_back({.kind = StreamWork::Kind::kBeat,
                                          .link = stream->second,
                                          .text = std::move(carries.heartbeat),
                                          .interval = carries.interval});
                },
                [this](const SessionBegun& begun) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { OnBegun(begun); },
                [this](const SessionSuspect& suspect) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
                  EndBeats();
                  ReportKind(PeerEvent::Kind::kSuspect, suspect.why);
                  if (options_.watch != nullptr) options_.watch->OnBroken(peer_->name);
                },
                [this](const SessionResumed& /*resumed*/) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
                  ReportKind(PeerEvent::Kind::kResumed, "");
                  WatchPeer();
                },
                [this](MessagesArrived& arrived)
                    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { OnMessages(std::move(arrived.messages)); },
                [this](EnvelopeArrived& arrived) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { OnEnvelope(std::move(arrived)); },
                [this](const SessionEnded& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { OnEnded(ended); },
                [this](const DialRefused& refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
                  ++counters_.dials_refused_by_cause[RefusalCause(refused.reason)];
                  ReportRefusal(PeerEvent::Kind::kRefused, refused.reason, refused.detail);
                },
                [this](const StreamRefused& refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
                  ++counters_.streams_refused_by_cause[RefusalCause(refused.reason)];
                  ReportRefusal(PeerEvent::Kind::kStreamRefused, refused.reason, refused.detail);
                },
                [this](const SessionFailed& failed)
                    ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { ReportKind(PeerEvent::Kind::kFailed, failed.why); }},
      action);
}

// ---- Sessions ----

bool PeerCore::IsAt(const SessionId& session) const {
  return peer_.has_value() && peer_->tenancy == session.tenancy && peer_->session.number() == session.number;
}

bool PeerCore::IsLive(const SessionId& session) const { return IsAt(session) && peer_->session.is_live(); }

void PeerCore::ReportRefusal(PeerEvent::Kind kind, proto::Refuse::Reason reason, absl::string_view detail) {
  deliveries_.push_back(PeerEvent{
      .kind = kind, .node = peer_->name, .detail = absl::StrCat(proto::Refuse::Reason_Name(reason), ": ", detail)});
}

void PeerCore::ReportKind(PeerEvent::Kind kind, absl::string_view detail) {
  PeerEvent event{.kind = kind, .node = peer_->name, .detail = std::string(detail)};
  if (peer_->session.is_live()) {
    event.incarnation = peer_->session.nodes().peer;
    event.epoch = peer_->session.epoch();
  }
  deliveries_.push_back(std::move(event));
}

void PeerCore::OnBegun(const SessionBegun& begun) {
  ++counters_.sessions_begun;
  deliveries_.push_back(PeerEvent{
      .kind = PeerEvent::Kind::kUp, .node = peer_->name, .incarnation = begun.nodes.peer, .epoch = begun.epoch});
  peer_->credit.Begin(begun.nodes.peer_node, begun.number, begun.features);
  // The session may have ended again in the same step; then no stream carries it, and its identity is unproved.
  const std::shared_ptr<NodeLink> carrier = Carrier();
  peer_->identity = carrier != nullptr ? carrier->identity : StreamIdentity::Unproved();
  if (peer_->session.number() != begun.number) return;
  peer_->learned_address = begun.advertise;
  peer_->is_of_this_machine = options_.machine != 0 && begun.machine == options_.machine;
  UpdateDialable();
  WatchPeer();
  parts_.places.Set(begun.nodes.peer_node, this);
  const bool tells_fingerprints = (peer_->session.features() & kFeatureFingerprints) != 0;
  parts_.names.OnSessionBegun(peer_->name, peer_->identity, begun.nodes.peer_node, Now(),
                              tells_fingerprints ? Fingerprints::kTold : Fingerprints::kNotTold);
  TellNamesLocked();
}

void PeerCore::OnEnded(const SessionEnded& ended) {
  ++counters_.sessions_ended_by_cause[std::string(SessionEndLabel(ended.why))];
  EndBeats();
  const std::string why = absl::StrCat("the session with node ", peer_->name, " ended: ", SessionEndName(ended.why),
                                       ended.detail.empty() ? "" : ", ", ended.detail);
  if (options_.watch != nullptr) options_.watch->OnOver(peer_->name);
  deliveries_.push_back(
      PeerEvent{.kind = PeerEvent::Kind::kEnded,
                .node = peer_->name,
                .incarnation = ended.nodes.peer,
                .epoch = ended.epoch,
                .detail = absl::StrCat(SessionEndName(ended.why), ended.detail.empty() ? "" : ", ", ended.detail)});
  // Names are released before exits and Downs go out.
  parts_.names.OnSessionEnded(peer_->name);
  deliveries_.push_back(NamesFirst{});
  tells_names_ = true;
  peer_->credit.End();
  ApplyCredit();
  for (Signal& signal : peer_->requests.End(why)) deliveries_.push_back(std::move(signal));
  if (!peer_->session.is_live()) {
    peer_->learned_address.clear();
    UpdateDialable();
  }
}

std::shared_ptr<NodeLink> PeerCore::Carrier() {
  const absl::optional<uint64_t> carrying = peer_->session.carrying_stream();
  const auto stream = carrying.has_value() ? peer_->streams.find(*carrying) : peer_->streams.end();
  return stream != peer_->streams.end() ? stream->second : nullptr;
}

void PeerCore::WatchPeer() {
  if (options_.watch == nullptr || !peer_->session.is_live()) return;
  const std::shared_ptr<NodeLink> carrier = Carrier();
  if (carrier == nullptr) return;
  // Where the address is not the peer's own, a tunnel or a proxy may listen there: its end proves nothing of the peer.
  // Loopback addresses and paths of Unix sockets of another machine are not the peer's own here.
  const bool is_own = peer_->dialled_address == peer_->learned_address && peer_->is_of_this_machine;
  options_.watch->OnCarried(peer_->name, peer_->session.nodes().peer, is_own ? peer_->dialled_address : "",
                            carrier->process());
}

void PeerCore::EndBeats() {
  if (const std::shared_ptr<NodeLink> beating = std::exchange(peer_->beating, nullptr)) beating->EndBeats();
}

// ---- Time ----

MonotonicTime PeerCore::Now() {
  if (!now_.has_value()) now_ = options_.clock->Now();
  return *now_;
}

void PeerCore::SetDue() { SetDueAt(std::min(peer_->session.NextDeadline(), peer_->credit.NextDeadline())); }

void PeerCore::SetDueAt(MonotonicTime time) {
  // Most deadlines move away before they come: a visit too early costs less than a move at each frame.
  if (time >= due_at_) return;
  wake_ = std::min(wake_, parts_.timer.Move(number_, this, time));
  due_at_ = time;
}

void PeerCore::Tick() {
  const Changing changing(*this, Change::kTick);
  due_at_ = MonotonicTime::InfiniteFuture();
  if (!peer_.has_value()) return;
  const MonotonicTime now = Now();
  peer_->credit.Tick(now, CreditBacklog());
  ApplyCredit();
  if (peer_->session.NextDeadline() <= now) peer_->session.Tick(now);
  Apply();
}

// ---- Observers ----

absl::optional<PeerStatus> PeerCore::status() {
  const Locked lock(*this);
  if (!peer_.has_value()) return absl::nullopt;
  const PeerSession& session = peer_->session;
  return PeerStatus{.node = peer_->name,
                    .address = peer_->dialled_address,
                    .is_live = session.is_live(),
                    .is_up = session.is_up(),
                    .incarnation = session.is_live() ? session.nodes().peer : NodeIncarnation(),
                    .epoch = session.epoch(),
                    .times = session.is_live() ? session.times() : SessionTimes(),
                    .ledger = session.ledger(),
                    .bytes_waiting = static_cast<int64_t>(session.bytes_waiting()),
                    .credit_held = peer_->credit.held(),
                    .credit_given = peer_->credit.given(),
                    .refused_by_peer = peer_->refused_by_peer,
                    .without_credit = peer_->credit.refused(),
                    .forbidden = peer_->forbidden,
                    .claims_refused = parts_.names.ClaimsRefused(peer_->name)};
}

SessionLedger PeerCore::ledger() {
  const Locked lock(*this);
  return peer_.has_value() ? peer_->session.ledger() : SessionLedger();
}

NodeCounters PeerCore::counters() {
  const Locked lock(*this);
  return counters_;
}

size_t PeerCore::unanswered_calls() {
  const Locked lock(*this);
  return peer_.has_value() ? peer_->requests.calls() : 0;
}

}  // namespace understudy::internal
