#include "understudy/transport/node_core.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/frame_codec.h"
#include "understudy/transport/frame_stream.h"
#include "understudy/transport/grants.h"
#include "understudy/transport/limits.h"
#include "understudy/transport/node_core_state.h"
#include "understudy/transport/node_status.h"
#include "understudy/transport/peer_session.h"
#include "understudy/transport/peer_watch.h"
#include "understudy/transport/session_times.h"
#include "understudy/transport/stream_identity.h"

namespace understudy {

std::string PeerEvent::ToString() const {
  switch (kind) {
    case Kind::kUp:
      return absl::StrCat("up ", node, " epoch ", epoch);
    case Kind::kSuspect:
      return absl::StrCat("suspect ", node, ": ", detail);
    case Kind::kResumed:
      return absl::StrCat("resumed ", node);
    case Kind::kEnded:
      return absl::StrCat("ended ", node, " epoch ", epoch, ": ", detail);
    case Kind::kRefused:
      return absl::StrCat("refused by ", node, ": ", detail);
    case Kind::kStreamRefused:
      return absl::StrCat("refused a stream of ", node, ": ", detail);
    case Kind::kFailed:
      return absl::StrCat("no session with ", node, ": ", detail);
    case Kind::kNameRefused:
      return absl::StrCat("a name of ours is refused by ", node, ": ", detail);
  }
  return "?";
}

NodeCore::NodeCore(NodeCoreOptions options)
    : options_(std::move(options)),
      door_(std::make_shared<Door>(this)),
      random_(options_.seed),
      names_(options_.node,
             [this](absl::string_view peer, absl::string_view name) ABSL_NO_THREAD_SAFETY_ANALYSIS {
               return MayPublish(peer, name);  // names_ is used with mu_ held
             }),
      grants_(options_.grants) {
  const absl::Status named = ValidateNodeName(options_.node);
  UNDERSTUDY_CHECK(named.ok(), named.message());
  const absl::Status times = options_.times.Validate();
  UNDERSTUDY_CHECK(times.ok(), times.message());
}

NodeCore::~NodeCore() {
  door_->Close();
  absl::MutexLock lock(&mu_);  // nobody else is there; it is for the analysis
  for (const auto& [number, link] : links_) link->SetStream(nullptr);
}

// ---- Peers ----

void NodeCore::SetAdvertise(absl::string_view address) {
  absl::MutexLock lock(&mu_);
  advertise_ = std::string(address);
}

NodeCore::Peer* NodeCore::FindPeer(absl::string_view node) {
  const auto peer = peers_.find(node);
  return peer == peers_.end() ? nullptr : peer->second.get();
}

NodeCore::Peer* NodeCore::AddPeer(absl::string_view node) {
  if (Peer* known = FindPeer(node); known != nullptr) return known;
  if (peers_.size() >= limits::kPeersMax) return nullptr;
  SessionConfig config;
  config.node = options_.node;
  config.incarnation = options_.incarnation;
  config.peer = std::string(node);
  config.advertise = advertise_;
  config.local_index = options_.node_index;
  config.peer_place = [this, name = std::string(node)](NodeIncarnation incarnation) {
    mu_.AssertHeld();
    return TakePlace(name, incarnation);
  };
  config.new_key = options_.new_key;
  config.times = options_.times_for != nullptr ? options_.times_for(node) : options_.times;
  config.bounds = options_.bounds;
  config.seed = random_.Next();
  return peers_.emplace(std::string(node), std::make_unique<Peer>(std::move(config), ++last_peer_)).first->second.get();
}

absl::StatusOr<NodeCore::Peer*> NodeCore::AddValidPeer(absl::string_view node) {
  absl::Status valid = ValidateNodeName(node);
  if (!valid.ok()) return valid;
  if (node == options_.node) return absl::InvalidArgumentError(absl::StrCat("node ", node, " is this node itself"));
  Peer* peer = AddPeer(node);
  if (peer == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a node has at most ", limits::kPeersMax, " peers, and no place for node ", node));
  }
  return peer;
}

absl::Status NodeCore::SetPeer(absl::string_view node, absl::string_view address) {
  const Changing changing(*this, Change::kCall);
  absl::StatusOr<Peer*> peer = AddValidPeer(node);
  if (!peer.ok()) return peer.status();
  (*peer)->is_kept = true;
  (*peer)->configured_address = std::string(address);
  UpdateDialable(**peer);
  CarryOut(**peer);
  return absl::OkStatus();
}

void NodeCore::ForgetPeer(absl::string_view node) {
  const Changing changing(*this, Change::kCall);
  Peer* peer = FindPeer(node);
  if (peer == nullptr) return;
  peer->is_kept = false;
  peer->configured_address.clear();
  UpdateDialable(*peer);
  CarryOut(*peer);
}

void NodeCore::UpdateDialable(Peer& peer) {
  std::string address = peer.configured_address;
  if (address.empty() && peer.session.is_live()) address = peer.learned_address;
  if (address == peer.dialled_address) return;
  peer.dialled_address = address;
  absl::optional<StreamIdentity> at_address;
  if (!address.empty()) at_address = options_.dialer->IdentityAt(peer.name, address);
  peer.session.SetDialable(at_address, Now());
}

void NodeCore::BeginDrain() {
  absl::MutexLock lock(&mu_);
  // Relaxed: an ask that is delivered at the same time may come before or after it.
  draining_.store(true, std::memory_order_relaxed);
}

void NodeCore::Leave(absl::string_view why) {
  const Changing changing(*this, Change::kCall);
  leaving_ = true;
  for (auto& [name, peer] : peers_) {
    peer->session.Leave(why, Now());
    CarryOut(*peer);
  }
}

bool NodeCore::has_left() {
  absl::MutexLock lock(&mu_);
  return leaving_ &&
         std::none_of(peers_.begin(), peers_.end(), [](const auto& p) { return p.second->session.is_live(); });
}

std::vector<PeerStatus> NodeCore::Peers() {
  absl::MutexLock lock(&mu_);
  std::vector<PeerStatus> statuses;
  statuses.reserve(peers_.size());
  for (const auto& [name, peer] : peers_) {
    const PeerSession& session = peer->session;
    statuses.push_back({.node = name,
                        .address = peer->dialled_address,
                        .is_live = session.is_live(),
                        .is_up = session.is_up(),
                        .incarnation = session.is_live() ? session.nodes().peer : NodeIncarnation(),
                        .epoch = session.epoch(),
                        .times = session.is_live() ? session.times() : SessionTimes(),
                        .ledger = session.ledger(),
                        .bytes_waiting = static_cast<int64_t>(session.bytes_waiting()),
                        .credit_held = peer->credit_out.granted(),
                        .credit_given = peer->credit_in.granted(),
                        .refused_by_peer = peer->refused_by_peer,
                        .without_credit = peer->without_credit,
                        .forbidden = peer->forbidden});
  }
  return statuses;
}

SessionLedger NodeCore::Ledger() {
  absl::MutexLock lock(&mu_);
  SessionLedger total = erased_;
  for (const auto& [name, peer] : peers_) total += peer->session.ledger();
  return total;
}

NodeCounters NodeCore::counters() {
  absl::MutexLock lock(&mu_);
  return counters_;
}

// ---- Streams ----

std::shared_ptr<NodeCore::Link> NodeCore::NewLink() {
  auto link = std::make_shared<Link>(door_, ++last_link_);
  links_[link->number] = link;
  return link;
}

FrameStream::Events* NodeCore::Accept(std::unique_ptr<FrameStream> stream, const StreamIdentity& identity,
                                      OnStreamOver on_over) {
  const Changing changing(*this, Change::kCall);
  // Those of which nothing is proved share a quarter: they keep out no other.
  const auto unproved = std::count_if(strangers_.begin(), strangers_.end(), [this](const auto& entry) {
    mu_.AssertHeld();
    return !links_.at(entry.first)->identity.is_proved();
  });
  const bool is_full = !identity.is_proved() && unproved >= static_cast<int64_t>(limits::kUnprovedPeersMax);
  if (leaving_ || is_full || strangers_.size() >= limits::kPeersMax) {
    ++counters_.streams_refused;
    return nullptr;
  }
  const std::shared_ptr<Link> link = NewLink();
  link->process = stream->peer_process();
  link->SetStream(std::move(stream));
  link->identity = identity;
  link->on_over = std::move(on_over);
  link->Open();
  const MonotonicTime deadline = Now() + options_.times.handshake_timeout;
  strangers_[link->number] = deadline;
  WakeAt(deadline);
  return link.get();
}

void NodeCore::CloseStranger(const std::shared_ptr<Link>& link) {
  if (!link->is_refused) ++counters_.streams_refused;  // else it is counted
  strangers_.erase(link->number);
  stream_work_.push_back({.kind = StreamWork::Kind::kClose, .link = link});
}

void NodeCore::OnLinkFrame(const std::shared_ptr<Link>& link, absl::string_view frame) {
  const Changing changing(*this, Change::kEvent);
  if (link->peer != nullptr) {
    link->peer->session.OnStreamFrame(link->stream_of_peer, frame, Now());
    CarryOut(*link->peer);
  } else if (strangers_.contains(link->number)) {
    BindAccepted(link, frame);
  }
}

void NodeCore::OnLinkWritten(const std::shared_ptr<Link>& link) {
  if (!link->CompleteWrite(options_.clock->Now())) return;
  const Changing changing(*this, Change::kEvent);
  if (link->peer != nullptr) {
    link->peer->session.OnStreamWritten(link->stream_of_peer, Now());
    CarryOut(*link->peer);
  }
}

void NodeCore::OnLinkClosed(const std::shared_ptr<Link>& link, const absl::Status& why) {
  const Changing changing(*this, Change::kEvent);
  links_.erase(link->number);
  strangers_.erase(link->number);
  stream_work_.push_back({.kind = StreamWork::Kind::kDestroy, .link = link});
  if (Peer* peer = std::exchange(link->peer, nullptr); peer != nullptr) {
    peer->streams.erase(link->stream_of_peer);
    peer->session.OnStreamClosed(link->stream_of_peer, why, Now());
    CarryOut(*peer);
  }
  if (link->on_over != nullptr) deliveries_.push_back(StreamOver{std::exchange(link->on_over, nullptr), why});
}

void NodeCore::CarryOut(Peer& peer) {
  if (peer.carrying_out) return;  // what is new comes after what is under way
  peer.carrying_out = true;
  while (peer.session.has_actions()) {
    for (SessionAction& action : peer.session.TakeActions()) {
      if (auto* dial = std::get_if<DialStream>(&action)) {
        const std::shared_ptr<Link> link = NewLink();
        link->peer = &peer;
        link->stream_of_peer = dial->stream;
        link->identity = options_.dialer->IdentityAt(peer.name, peer.dialled_address);
        peer.streams[dial->stream] = link;
        stream_work_.push_back(
            {.kind = StreamWork::Kind::kDial, .link = link, .node = peer.name, .text = peer.dialled_address});
      } else if (auto* write = std::get_if<WriteFrame>(&action)) {
        const auto stream = peer.streams.find(write->stream);
        if (stream == peer.streams.end()) continue;
        stream_work_.push_back(
            {.kind = StreamWork::Kind::kWrite, .link = stream->second, .text = std::move(write->bytes)});
      } else if (auto* close = std::get_if<CloseStream>(&action)) {
        const auto stream = peer.streams.find(close->stream);
        if (stream == peer.streams.end()) continue;
        stream->second->peer = nullptr;
        stream->second->EndBeats();
        stream_work_.push_back({.kind = StreamWork::Kind::kClose, .link = stream->second});
        peer.streams.erase(stream);
      } else if (auto* carries = std::get_if<StreamCarries>(&action)) {
        const auto stream = peer.streams.find(carries->stream);
        if (stream == peer.streams.end()) continue;
        peer.beating = stream->second;
        stream_work_.push_back({.kind = StreamWork::Kind::kBeat,
                                .link = stream->second,
                                .text = std::move(carries->heartbeat),
                                .interval = carries->interval});
      } else if (auto* begun = std::get_if<SessionBegun>(&action)) {
        OnBegun(peer, *begun);
      } else if (auto* suspect = std::get_if<SessionSuspect>(&action)) {
        EndBeats(peer);
        Report(peer, PeerEvent::Kind::kSuspect, suspect->why);
        if (options_.watch != nullptr) options_.watch->OnBroken(peer.name);
      } else if (std::holds_alternative<SessionResumed>(action)) {
        Report(peer, PeerEvent::Kind::kResumed, "");
        WatchPeer(peer);
      } else if (auto* messages = std::get_if<MessagesArrived>(&action)) {
        OnMessages(peer, std::move(messages->messages));
      } else if (auto* arrived = std::get_if<EnvelopeArrived>(&action)) {
        OnEnvelope(peer, std::move(*arrived));
      } else if (auto* ended = std::get_if<SessionEnded>(&action)) {
        OnEnded(peer, *ended);
      } else if (auto* refused = std::get_if<DialRefused>(&action)) {
        deliveries_.push_back(
            PeerEvent{.kind = PeerEvent::Kind::kRefused,
                      .node = peer.name,
                      .detail = absl::StrCat(proto::Refuse::Reason_Name(refused->reason), ": ", refused->detail)});
      } else if (auto* stream_refused = std::get_if<StreamRefused>(&action)) {
        ReportRefusal(peer.name, {.reason = stream_refused->reason, .detail = stream_refused->detail});
      } else if (auto* failed = std::get_if<SessionFailed>(&action)) {
        Report(peer, PeerEvent::Kind::kFailed, failed->why);
      }
    }
  }
  peer.carrying_out = false;
  if (IsIdle(peer)) idle_peers_.push_back(peer.name);
  SetDue(peer);
}

bool NodeCore::IsIdle(const Peer& peer) { return !peer.is_kept && !peer.session.is_live() && peer.streams.empty(); }

void NodeCore::EraseIdlePeers() {
  for (const std::string& name : std::exchange(idle_peers_, {})) {
    const auto peer = peers_.find(name);
    if (peer == peers_.end() || !IsIdle(*peer->second)) continue;
    erased_ += peer->second->session.ledger();
    options_.mark_peers_dead(name, absl::nullopt);
    due_.erase({peer->second->due_at, peer->second->number});
    peers_.erase(peer);
  }
}

void NodeCore::Report(Peer& peer, PeerEvent::Kind kind, absl::string_view detail) {
  PeerEvent event{.kind = kind, .node = peer.name, .detail = std::string(detail)};
  if (peer.session.is_live()) {
    event.incarnation = peer.session.nodes().peer;
    event.epoch = peer.session.epoch();
  }
  deliveries_.push_back(std::move(event));
}

void NodeCore::OnBegun(Peer& peer, const SessionBegun& begun) {
  deliveries_.push_back(PeerEvent{
      .kind = PeerEvent::Kind::kUp, .node = peer.name, .incarnation = begun.nodes.peer, .epoch = begun.epoch});
  // It may have ended again in the same step: then nothing is proved of what came with it.
  const std::shared_ptr<Link> carrier = CarrierOf(peer);
  peer.identity = carrier != nullptr ? carrier->identity : StreamIdentity::Unproved();
  if (peer.session.epoch() != begun.epoch || peer.session.nodes().peer != begun.nodes.peer) return;
  peer.learned_address = begun.advertise;
  UpdateDialable(peer);
  WatchPeer(peer);
  names_.OnSessionBegun(peer.name, begun.nodes.peer_node, Now());
  TellNames(peer);
}

void NodeCore::OnEnded(Peer& peer, const SessionEnded& ended) {
  EndBeats(peer);
  const std::string why = absl::StrCat("the session with node ", peer.name, " ended: ", SessionEndName(ended.why),
                                       ended.detail.empty() ? "" : ", ", ended.detail);
  if (options_.watch != nullptr) options_.watch->OnOver(peer.name);
  deliveries_.push_back(
      PeerEvent{.kind = PeerEvent::Kind::kEnded,
                .node = peer.name,
                .incarnation = ended.nodes.peer,
                .epoch = ended.epoch,
                .detail = absl::StrCat(SessionEndName(ended.why), ended.detail.empty() ? "" : ", ", ended.detail)});
  // Names are released before exits and Downs go out.
  names_.OnSessionEnded(peer.name);
  TakeNameChanges();
  TellAllNames();
  EndCredit(peer, ended.nodes.peer_node, ended.epoch);
  for (Signal& signal : peer.ties.End(why)) deliveries_.push_back(std::move(signal));
  if (!peer.session.is_live()) {
    peer.learned_address.clear();
    UpdateDialable(peer);
  }
}

// ---- Time ----

MonotonicTime NodeCore::Now() {
  if (!now_.has_value()) now_ = options_.clock->Now();
  return *now_;
}

void NodeCore::WakeAt(MonotonicTime time) { wake_wanted_ = std::min(wake_wanted_, time); }

void NodeCore::SetDue(Peer& peer) {
  const MonotonicTime next = std::min({peer.session.NextDeadline(), peer.credit_at, peer.credit_look_at});
  // Most deadlines move away before they come: a visit too early costs less than a move at each frame.
  if (next >= peer.due_at) return;
  due_.erase({peer.due_at, peer.number});
  peer.due_at = next;
  due_.emplace(std::pair(next, peer.number), &peer);
  WakeAt(next);
}

void NodeCore::Tick(MonotonicTime scheduled) {
  const Changing changing(*this, Change::kEvent);
  if (scheduled != wake_at_) return;  // an earlier one was asked for since
  wake_at_ = MonotonicTime::InfiniteFuture();
  const MonotonicTime now = Now();
  std::vector<Peer*> due;
  for (; !due_.empty() && due_.begin()->first.first <= now; due_.erase(due_.begin())) {
    due.push_back(due_.begin()->second);
    due.back()->due_at = MonotonicTime::InfiniteFuture();
  }
  for (Peer* peer : due) {
    TickCredit(*peer, now);
    if (peer->session.NextDeadline() <= now) peer->session.Tick(now);
    CarryOut(*peer);
  }
  if (!due_.empty()) WakeAt(due_.begin()->first.first);
  const std::map<uint64_t, MonotonicTime> strangers = strangers_;
  for (const auto& [number, deadline] : strangers) {
    if (deadline <= now) {
      CloseStranger(links_.at(number));
    } else {
      WakeAt(deadline);
    }
  }
}

}  // namespace understudy
