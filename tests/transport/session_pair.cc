#include "understudy/tests/transport/session_pair.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/peer_session.h"

namespace understudy {

SessionPair::SessionPair(Options options) : options_(options), random_(options.seed) {
  a().name = "a";
  b().name = "b";
  a().dials = options.a_dials;
  b().dials = options.b_dials;
  for (Node& node : nodes_) node.incarnation = ++incarnations_;
  for (Node& node : nodes_) Start(node);
}

void SessionPair::Start(Node& node) {
  const uint16_t own = node.name == "a" ? 1 : 2;
  SessionConfig config;
  config.node = node.name;
  config.peer = node.name == "a" ? "b" : "a";
  config.incarnation = {node.incarnation};
  config.local_index = own;
  config.peer_place = [own](NodeIncarnation) { return static_cast<uint16_t>(3 - own); };
  config.times = options_.times;
  config.bounds = options_.bounds;
  config.seed = random_.Next();
  config.new_key = KeysOf(config.seed);
  node.session = std::make_unique<PeerSession>(std::move(config));
  if (node.dials) node.session->SetDialable(options_.identity, now_);
  Act(node);
}

void SessionPair::Restart(Node& node, Streams streams) {
  if (streams == Streams::kCut) {
    CutAll();
  } else {
    StallAll();
  }
  node.stream_of.clear();
  node.turns.clear();
  node.incarnation = ++incarnations_;
  Start(node);
}

absl::Status SessionPair::Send(Node& node, absl::string_view text, MonotonicTime deadline, uint64_t sender) {
  const uint32_t mailbox = internal::MailboxNames::Intern("session_pair/mailbox");
  if (!node.session->is_live()) return node.session->Append({}, [&] { return now_; });
  const NodePair& nodes = node.session->nodes();
  OutboundEnvelope envelope;
  envelope.bytes =
      *EncodeMessage(nodes, Pid(nodes.local_node, 1, 1), Pid(nodes.peer_node, 1, 1), mailbox, 0, std::string(text));
  envelope.sender = sender;
  envelope.mailbox = mailbox;
  envelope.deadline = deadline;
  const absl::Status status = node.session->Append(std::move(envelope), [&] { return now_; });
  Act(node);
  return status;
}

absl::Status SessionPair::SendSignal(Node& node, size_t bytes) {
  const NodePair& nodes = node.session->nodes();
  Signal signal;
  signal.kind = SignalKind::kExit;
  signal.from = Pid(nodes.local_node, 1, 1);
  signal.to = Pid(nodes.peer_node, 1, 1);
  signal.reason = ExitReason::NoConnection(std::string(bytes, 'x'));
  const absl::Status status = node.session->Append(
      {.bytes = EncodeSignal(nodes, signal), .room = Room::kSignals, .sender = 1}, [&] { return now_; });
  Act(node);
  return status;
}

void SessionPair::At(MonotonicTime time, std::function<void()> what) {
  queue_.emplace(std::make_pair(time, ++order_), std::move(what));
}

absl::Duration SessionPair::Latency() { return options_.latency_max * random_.Fraction(); }

void SessionPair::Act(Node& node) {
  const int self = IndexOf(node);
  for (const SessionAction& action : node.session->TakeActions()) {
    Record(node, action);
    if (const auto* dial = std::get_if<DialStream>(&action)) {
      node.dialled.push_back(now_);
      const int stream = static_cast<int>(streams_.size());
      streams_[stream].dialler = self;
      streams_[stream].ids[self] = dial->stream;
      streams_[stream].incarnations = {a().incarnation, b().incarnation};
      node.stream_of[dial->stream] = stream;
      if (!reachable_) {
        At(now_ + Latency(), [this, stream, self] { Close(stream, 1 - self); });
      }
    } else if (const auto* write = std::get_if<WriteFrame>(&action)) {
      const auto now = node.turns[write->stream].Write(write->bytes, now_);
      if (now.has_value()) Carry(self, write->stream, *now);
    } else if (const auto* carries = std::get_if<StreamCarries>(&action)) {
      node.turns[carries->stream].Begin(carries->heartbeat, carries->interval, now_);
      At(now_ + carries->interval, [this, self, id = carries->stream] { Beat(self, id); });
    } else if (std::holds_alternative<SessionSuspect>(action) || std::holds_alternative<SessionEnded>(action)) {
      for (auto& [id, turns] : node.turns) turns.End();
    } else if (const auto* close = std::get_if<CloseStream>(&action)) {
      node.turns[close->stream].End();
      Close(node.stream_of.at(close->stream), self);
    }
  }
}

void SessionPair::Record(Node& node, const SessionAction& action) {
  if (const auto* begun = std::get_if<SessionBegun>(&action)) {
    node.events.push_back(absl::StrCat("begun ", begun->epoch));
  } else if (std::holds_alternative<SessionSuspect>(action)) {
    node.events.push_back("suspect");
  } else if (std::holds_alternative<SessionResumed>(action)) {
    node.events.push_back("resumed");
  } else if (const auto* ended = std::get_if<SessionEnded>(&action)) {
    node.events.push_back(absl::StrCat("ended ", ended->epoch, " ", SessionEndName(ended->why)));
  } else if (const auto* refused = std::get_if<DialRefused>(&action)) {
    node.events.push_back(absl::StrCat("refused ", proto::Refuse::Reason_Name(refused->reason)));
  } else if (const auto* arrived = std::get_if<MessagesArrived>(&action)) {
    node.messages_reserved += arrived->messages.capacity();
    for (const internal::Message& message : arrived->messages) {
      node.received.emplace_back(message.payload.wire_bytes());
      node.deadlines.push_back(message.deadline);
    }
  }
}

void SessionPair::Carry(int sender, uint64_t id, std::string bytes) {
  Node& node = nodes_[sender];
  ++node.frames_written;
  const int index = node.stream_of.at(id);
  Stream& stream = streams_[index];
  const uint64_t incarnation = node.incarnation;
  At(now_ + Latency() / 4, [this, sender, id, incarnation] {
    if (nodes_[sender].incarnation != incarnation) return;
    const internal::WriteTurns::Written written = nodes_[sender].turns.at(id).OnWritten(now_);
    if (written.next.has_value()) Carry(sender, id, *written.next);
    if (!written.is_frame) return;
    nodes_[sender].session->OnStreamWritten(id, now_);
    Act(nodes_[sender]);
  });
  MonotonicTime& last = stream.last_arrival[1 - sender];
  last = std::max(last, now_ + Latency());
  At(last, [this, index, sender, bytes = std::move(bytes)]() mutable { Arrive(index, 1 - sender, std::move(bytes)); });
}

void SessionPair::Beat(int node, uint64_t id) {
  const auto turns = nodes_[node].turns.find(id);
  if (turns == nodes_[node].turns.end()) return;  // of an earlier incarnation
  const internal::WriteTurns::Beat beat = turns->second.OnTime(now_);
  if (beat.heartbeat.has_value()) Carry(node, id, *beat.heartbeat);
  if (!beat.again.is_infinite()) At(beat.again, [this, node, id] { Beat(node, id); });
}

void SessionPair::Arrive(int index, int receiver, std::string bytes) {
  Stream& stream = streams_[index];
  Node& node = nodes_[receiver];
  if (!reachable_) stream.stalled = true;  // a stream has no holes: what follows is lost too
  if (!stream.open || stream.stalled) return;
  if (stream.incarnations[receiver] != node.incarnation) return;
  if (stream.ids[receiver] == 0) {
    const absl::StatusOr<proto::Frame> frame = DecodeFrame(bytes);
    ASSERT_TRUE(frame.ok() && frame->has_hello()) << "a stream begins with a Hello";
    // The number is known only when the call returns; it counts up.
    const uint64_t id = node.session->OnAccepted(frame->hello(), options_.identity, now_);
    stream.ids[receiver] = id;
    node.stream_of[id] = index;
  } else {
    node.session->OnStreamFrame(stream.ids[receiver], bytes, now_);
  }
  Act(node);
}

void SessionPair::Close(int index, int by) {
  Stream& stream = streams_[index];
  if (!stream.open) return;
  stream.open = false;
  for (int side = 0; side < 2; ++side) {
    if (side == by) continue;
    At(now_ + Latency(), [this, index, side] {
      const Stream& closed = streams_[index];
      Node& node = nodes_[side];
      if (closed.ids[side] == 0 || closed.incarnations[side] != node.incarnation) return;
      node.session->OnStreamClosed(closed.ids[side], absl::UnavailableError("cut"), now_);
      Act(node);
    });
  }
}

void SessionPair::CutAll() {
  for (auto& [index, stream] : streams_) Close(index, -1);
}

void SessionPair::StallAll() {
  for (auto& [index, stream] : streams_) stream.stalled = true;
}

void SessionPair::Inject(Node& node, std::string frame) {
  for (auto& [index, stream] : streams_) {
    if (!stream.open) continue;
    Node& receiver = nodes_[1 - IndexOf(node)];
    receiver.session->OnStreamFrame(stream.ids[1 - IndexOf(node)], frame, now_);
    Act(receiver);
    return;
  }
  FAIL() << "no stream is open";
}

int SessionPair::open_streams() const {
  const std::array<uint64_t, 2> now = {nodes_[0].incarnation, nodes_[1].incarnation};
  return static_cast<int>(std::count_if(streams_.begin(), streams_.end(),
                                        [&](const auto& s) { return s.second.open && s.second.incarnations == now; }));
}

void SessionPair::RunUntil(MonotonicTime end) {
  while (true) {
    const MonotonicTime event = queue_.empty() ? MonotonicTime::InfiniteFuture() : queue_.begin()->first.first;
    const MonotonicTime tick = std::min(a().session->NextDeadline(), b().session->NextDeadline());
    const MonotonicTime next = std::max(now_, std::min(event, tick));
    if (next > end) break;
    now_ = next;
    if (event <= tick) {
      auto node = queue_.extract(queue_.begin());
      node.mapped()();
      continue;
    }
    for (Node& node : nodes_) {
      if (node.session->NextDeadline() > now_) continue;
      node.session->Tick(now_);
      ASSERT_GT(node.session->NextDeadline(), now_) << node.name << " is due for ever";
      Act(node);
    }
  }
  now_ = end;
}

}  // namespace understudy
