#include "understudy/tests/transport/session/session_world.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

using Kind = SessionWorld::Step::Kind;

constexpr uint64_t kStrangersIncarnation = 666;
// Hellos and answers that the stranger can make up; more are those that it recorded.
constexpr int kMadeUpHellos = 3;
constexpr int kMadeUpAnswers = 3;

// Few heartbeats, so that few steps lead from silence to the end.
SessionTimes Times() {
  SessionTimes times;
  times.silence_timeout = absl::Seconds(3);
  times.grace_period = absl::Seconds(2);
  times.backoff_min = absl::Seconds(1);
  times.backoff_max = absl::Seconds(1);
  return times;
}

absl::string_view NameOf(int node) { return node == 0 ? "a" : "b"; }

}  // namespace

SessionWorld::SessionWorld(Budget budget) : budget_(budget) {
  for (int node = 0; node < 2; ++node) {
    const uint64_t incarnation = static_cast<uint64_t>(node) + 1;
    nodes_[node] = NewNode(node, incarnation);
  }
  for (int node = 0; node < 2; ++node) Act(node, -1, node);
}

std::unique_ptr<SessionWorld::Node> SessionWorld::NewNode(int node, uint64_t incarnation) const {
  SessionConfig config;
  config.node = std::string(NameOf(node));
  config.peer = std::string(NameOf(1 - node));
  config.incarnation = {incarnation};
  config.local_index = static_cast<uint16_t>(node + 1);
  config.peer_place = [node](NodeIncarnation) { return static_cast<uint16_t>(2 - node); };
  config.times = Times();
  config.seed = incarnation;
  config.new_key = KeysOf(incarnation);
  auto made = std::make_unique<Node>(std::move(config));
  made->session.SetDialable(StreamIdentity::Unproved(), now_);
  return made;
}

void SessionWorld::Fail(std::string what) {
  if (wrong_.empty()) wrong_ = std::move(what);
}

void SessionWorld::Join() {
  while (ArriveOne()) {
  }
}

void SessionWorld::BreakAndTick() {
  Break();
  Join();
  TickNext();
}

// ---- What can happen ----

void SessionWorld::TickNext() {
  Tick(std::max(now_, std::min(nodes_[0]->session.NextDeadline(), nodes_[1]->session.NextDeadline())));
}

void SessionWorld::RestartAndJoin() {
  const uint64_t before = nodes_[1]->incarnation;
  Restart(1);
  Join();
  Prove(0, before);
  Join();
  while (!nodes_[0]->session.is_up() || !nodes_[1]->session.is_up()) {
    TickNext();
    Join();
  }
}

std::vector<SessionWorld::Step> SessionWorld::Steps() const {
  std::vector<Step> steps;
  for (size_t i = 0; i < streams_.size(); ++i) {
    const int stream = static_cast<int>(i);
    for (int end = 0; end < 2; ++end) {
      if (streams_[i].open[end] && !streams_[i].arriving[end].empty()) {
        steps.push_back({.kind = Kind::kArrive, .stream = stream, .side = end});
      }
    }
    // b's Hello, which has not arrived, is answered by the stranger.
    const bool is_new_dial = streams_[i].dialler == 1 && streams_[i].numbers[1] == 0 && streams_[i].open[1] &&
                             streams_[i].ends[1] == 0 && !streams_[i].arriving[1].empty() &&
                             !streams_[i].arriving[1].front().bytes.empty();
    if (budget_.strangers > 0 && is_new_dial) {
      const int choices = kMadeUpAnswers + static_cast<int>(recorded_answers_.size());
      for (int choice = 0; choice < choices; ++choice) {
        steps.push_back({.kind = Kind::kAnswer, .stream = stream, .choice = choice});
      }
    }
  }
  const bool is_open =
      std::any_of(streams_.begin(), streams_.end(), [](const Stream& s) { return s.open[0] && s.open[1]; });
  if (budget_.breaks > 0 && is_open) steps.push_back({.kind = Kind::kBreak});
  if (budget_.ticks > 0) steps.push_back({.kind = Kind::kTick});
  for (int node = 0; node < 2; ++node) {
    const bool is_live = nodes_[node]->session.is_live();
    if (budget_.sends > 0 && is_live) steps.push_back({.kind = Kind::kSend, .side = node});
    if (budget_.ends > 0 && is_live) steps.push_back({.kind = Kind::kEnd, .side = node});
    // Proofs that the session's peer is dead, once a stream was lost, and repeated proofs about an earlier incarnation.
    if (budget_.proofs == 0 || !is_live) continue;
    const auto peer = static_cast<int>(nodes_[node]->session.nodes().peer.bits);
    if (nodes_[node]->was_suspect) steps.push_back({.kind = Kind::kProof, .side = node, .choice = peer});
    if (node == 0 && peer > 2) steps.push_back({.kind = Kind::kProof, .side = node, .choice = 2});
  }
  if (budget_.restarts > 0) steps.push_back({.kind = Kind::kRestart, .side = 1});
  if (budget_.strangers > 0) {
    const int choices = kMadeUpHellos + static_cast<int>(recorded_.size());
    for (int choice = 0; choice < choices; ++choice) steps.push_back({.kind = Kind::kStranger, .choice = choice});
  }
  return steps;
}

void SessionWorld::Do(const Step& step) {
  switch (step.kind) {
    case Kind::kArrive:
      Arrive(step.stream, step.side);
      break;
    case Kind::kBreak:
      --budget_.breaks;
      Break();
      break;
    case Kind::kTick:
      --budget_.ticks;
      TickNext();
      break;
    case Kind::kSend:
      --budget_.sends;
      Send(step.side);
      break;
    case Kind::kEnd:
      --budget_.ends;
      nodes_[step.side]->session.EndForBadFrame("the test says so", now_);
      Act(step.side, -1, step.side);
      break;
    case Kind::kRestart:
      --budget_.restarts;
      Restart(step.side);
      break;
    case Kind::kProof:
      --budget_.proofs;
      Prove(step.side, static_cast<uint64_t>(step.choice));
      break;
    case Kind::kStranger: {
      --budget_.strangers;
      streams_.push_back({.dialler = kStranger, .ends = {kStranger, 0}});
      const int stream = static_cast<int>(streams_.size()) - 1;
      ToNode(stream, 1, FrameOf(StrangersHello(step.choice)), kStranger);
      break;
    }
    case Kind::kAnswer: {
      --budget_.strangers;
      Stream& stream = streams_[step.stream];
      const proto::Hello hello = DecodeFrame(stream.arriving[1].front().bytes)->hello();
      stream.arriving[1].clear();
      stream.ends[1] = kStranger;
      ToNode(step.stream, 0, StrangersAnswer(hello, step.choice).SerializeAsString(), kStranger);
      break;
    }
  }
  CheckArrivals(/*complete=*/false);
}

// ---- The stranger ----

proto::Hello SessionWorld::StrangersHello(int choice) const {
  if (choice >= kMadeUpHellos) return recorded_[choice - kMadeUpHellos];
  // The stranger has read b's incarnation from a pid, and guesses the rest.
  proto::Hello hello = HelloFrom("b", choice == 1 ? kStrangersIncarnation : nodes_[1]->incarnation, "a", 99);
  *hello.mutable_times() = ToProto(Times());
  if (choice == 2) {
    hello.set_resume_epoch(std::max<uint64_t>(1, nodes_[0]->session.epoch()));
    hello.set_to_incarnation(nodes_[0]->incarnation);
    hello.set_proof(std::string(kSessionProofBytes, 'x'));
  }
  return hello;
}

proto::Frame SessionWorld::StrangersAnswer(const proto::Hello& hello, int choice) const {
  if (choice >= kMadeUpAnswers) return recorded_answers_[choice - kMadeUpAnswers];
  proto::Frame frame;
  if (choice == 2) {
    frame.set_epoch(std::max<uint64_t>(1, hello.resume_epoch()));
    proto::Welcome& welcome = *frame.mutable_welcome();
    welcome.set_version(kWireVersion);
    welcome.set_from_node("a");
    welcome.set_incarnation(nodes_[0]->incarnation);
    welcome.set_epoch(frame.epoch());
    welcome.set_resumed(hello.resume_epoch() != 0);
    welcome.set_key(std::string(kSessionKeyBytes, 's'));
    *welcome.mutable_times() = ToProto(Times());
    return frame;
  }
  proto::Refuse& refuse = *frame.mutable_refuse();
  refuse.set_reason(choice == 0 ? proto::Refuse::ENDED : proto::Refuse::OTHER_INCARNATION);
  refuse.set_incarnation(kStrangersIncarnation);
  return frame;
}

// ---- Carrying out ----

void SessionWorld::ToNode(int stream, int end, std::string bytes, int from) {
  if (!streams_[stream].open[end]) return;
  streams_[stream].arriving[end].push_back({.bytes = std::move(bytes), .from = from});
}

void SessionWorld::WriteTo(int node, uint64_t stream, const std::string& bytes) {
  const int index = nodes_[node]->stream_of.at(stream);
  const int end = streams_[index].ends[0] == node && streams_[index].numbers[0] == stream ? 0 : 1;
  ToNode(index, 1 - end, bytes, node);
}

void SessionWorld::Close(int stream, int end) {
  streams_[stream].open[end] = false;
  streams_[stream].arriving[end].clear();
  ToNode(stream, 1 - end, "", streams_[stream].ends[end]);
}

// Carries out the actions of node `self` after an event of `stream` that `from` caused.
void SessionWorld::Act(int self, int stream, int from) {
  Node& node = *nodes_[self];
  for (std::vector<SessionAction> actions = node.session.TakeActions(); !actions.empty();
       actions = node.session.TakeActions()) {
    std::vector<uint64_t> written;
    for (const SessionAction& action : actions) {
      if (const auto* dial = std::get_if<DialStream>(&action)) {
        streams_.push_back({.dialler = self, .ends = {self, 1 - self}, .numbers = {dial->stream, 0}});
        node.stream_of[dial->stream] = static_cast<int>(streams_.size()) - 1;
      } else if (const auto* write = std::get_if<WriteFrame>(&action)) {
        WriteTo(self, write->stream, write->bytes);
        written.push_back(write->stream);
      } else if (const auto* carries = std::get_if<StreamCarries>(&action)) {
        node.carrier = carries->stream;
        node.heartbeat = carries->heartbeat;
      } else if (const auto* close = std::get_if<CloseStream>(&action)) {
        const int index = node.stream_of.at(close->stream);
        if (close->stream == node.carrier) node.carrier = 0;
        Close(index, streams_[index].ends[0] == self && streams_[index].numbers[0] == close->stream ? 0 : 1);
      } else if (const auto* begun = std::get_if<SessionBegun>(&action)) {
        if (node.begun++ != node.ended) Fail(absl::StrCat(NameOf(self), " began a session beside another"));
        node.has_genuine = from != kStranger;
        node.was_suspect = false;
        if (begun->nodes.peer.bits == kStrangersIncarnation) node.has_genuine = false;
        const bool is_first = stream >= 0 && streams_[stream].dialler != self;
        const Node& other = *nodes_[1 - self];
        if (node.has_genuine && is_first && begun->nodes.peer.bits == other.incarnation && other.begun == 0) {
          Fail(absl::StrCat(NameOf(self), " began a session that its peer never had"));
        }
      } else if (std::holds_alternative<SessionSuspect>(action)) {
        node.carrier = 0;
        node.was_suspect = true;
      } else if (const auto* ended = std::get_if<SessionEnded>(&action)) {
        node.carrier = 0;
        if (node.begun != ++node.ended) Fail(absl::StrCat(NameOf(self), " ended a session twice"));
        ends_of_[{std::min(node.incarnation, ended->nodes.peer.bits),
                  std::max(node.incarnation, ended->nodes.peer.bits), ended->epoch}]++;
      } else if (std::holds_alternative<EnvelopeArrived>(action)) {
        if (node.has_genuine && from == kStranger) Fail("a stranger's envelope arrived in a live session");
      } else if (const auto* arrived = std::get_if<MessagesArrived>(&action)) {
        if (node.has_genuine && from == kStranger) Fail("a stranger's message arrived in a live session");
        if (!node.session.is_live()) continue;
        std::vector<std::string>& received =
            received_[{node.session.nodes().peer.bits, node.incarnation, node.session.epoch()}];
        for (const internal::Message& message : arrived->messages) received.emplace_back(message.payload.wire_bytes());
      }
    }
    for (const uint64_t id : written) node.session.OnStreamWritten(id, now_);
  }
}

bool SessionWorld::ArriveOne() {
  for (size_t i = 0; i < streams_.size(); ++i) {
    for (int end = 0; end < 2; ++end) {
      if (!streams_[i].open[end] || streams_[i].arriving[end].empty()) continue;
      Arrive(static_cast<int>(i), end);
      return true;
    }
  }
  return false;
}

void SessionWorld::Arrive(int index, int end) {
  const int who = streams_[index].ends[end];
  const Frame frame = std::move(streams_[index].arriving[end].front());
  streams_[index].arriving[end].pop_front();
  if (who == kStranger) {
    const absl::StatusOr<proto::Frame> decoded = DecodeFrame(frame.bytes);
    if (frame.bytes.empty()) streams_[index].open[end] = false;
    // The stranger accepts the Welcome.
    if (decoded.ok() && decoded->has_welcome()) {
      ToNode(index, 1 - end, HeartbeatFrame(decoded->welcome().epoch()), kStranger);
    }
    return;
  }
  Node& node = *nodes_[who];
  const bool was_live = node.session.is_live();
  const bool was_genuine = was_live && node.has_genuine;
  const bool was_up = node.session.is_up();
  const auto has_stream = [&] {
    return std::any_of(streams_.begin(), streams_.end(), [&](const Stream& stream) {
      const int ours = stream.ends[0] == who ? 0 : 1;
      return stream.ends[0] != kStranger && stream.ends[1] != kStranger && stream.open[ours] &&
             stream.numbers[ours] != 0;
    });
  };
  const bool had_stream = has_stream();
  const uint64_t epoch = node.session.epoch();
  uint64_t& number = streams_[index].numbers[end];
  if (frame.bytes.empty()) {
    streams_[index].open[end] = false;
    if (number != 0) node.session.OnStreamClosed(number, absl::UnavailableError("closed"), now_);
  } else if (number == 0) {
    const proto::Hello hello = DecodeFrame(frame.bytes)->hello();
    if (frame.from == 1 && recorded_.size() < 3) recorded_.push_back(hello);
    // Act finds the stream by the number, which counts up.
    number = node.session.OnAccepted(hello, StreamIdentity::Unproved(), now_);
    node.stream_of[number] = index;
  } else {
    const absl::StatusOr<proto::Frame> decoded = DecodeFrame(frame.bytes);
    if (frame.from == 0 && decoded.ok() && decoded->has_welcome() && recorded_answers_.size() < 2) {
      recorded_answers_.push_back(*decoded);
    }
    node.session.OnStreamFrame(number, frame.bytes, now_);
  }
  const int from = streams_[index].ends[1 - end] == kStranger ? kStranger : 1 - who;
  Act(who, index, from);
  if (from != kStranger || !was_genuine) return;
  if (!node.session.is_live() || node.session.epoch() != epoch) {
    Fail(absl::StrCat("a stranger ended the session of ", NameOf(who)));
  } else if (node.session.is_up() != was_up || (was_up && had_stream && !has_stream())) {
    Fail(absl::StrCat("a stranger has a stream in the session of ", NameOf(who)));
  }
}

void SessionWorld::Break() {
  for (size_t i = 0; i < streams_.size(); ++i) {
    for (int end = 0; end < 2; ++end) {
      if (!streams_[i].open[end]) continue;
      streams_[i].arriving[end].clear();
      ToNode(static_cast<int>(i), end, "", streams_[i].ends[1 - end]);
    }
  }
}

void SessionWorld::Tick(MonotonicTime time) {
  now_ = time;
  for (int node = 0; node < 2; ++node) {
    if (nodes_[node]->session.NextDeadline() > now_) continue;
    nodes_[node]->session.Tick(now_);
    if (nodes_[node]->session.NextDeadline() <= now_) Fail(absl::StrCat(NameOf(node), " is due for ever"));
    Act(node, -1, node);
    if (nodes_[node]->carrier != 0) {
      WriteTo(node, nodes_[node]->carrier, nodes_[node]->heartbeat);
    }
  }
}

void SessionWorld::Send(int self) {
  Node& node = *nodes_[self];
  const NodePair& nodes = node.session.nodes();
  const std::string text = absl::StrCat(++sent_);
  OutboundEnvelope envelope;
  envelope.mailbox = internal::MailboxNames::Intern("session_world/mailbox");
  envelope.bytes =
      *EncodeMessage(nodes, Pid(nodes.local_node, 1, 1), Pid(nodes.peer_node, 1, 1), envelope.mailbox, 0, text);
  if (node.session.Append(std::move(envelope), [&] { return now_; }).ok()) {
    sent_by_[{node.incarnation, nodes.peer.bits, node.session.epoch()}].push_back(text);
  }
  Act(self, -1, self);
}

void SessionWorld::Restart(int self) {
  for (size_t i = 0; i < streams_.size(); ++i) {
    for (int end = 0; end < 2; ++end) {
      if (streams_[i].ends[end] == self) Close(static_cast<int>(i), end);
    }
  }
  nodes_[self] = NewNode(self, ++incarnations_);
  Act(self, -1, self);
}

void SessionWorld::Prove(int self, uint64_t incarnation) {
  PeerSession& session = nodes_[self]->session;
  const uint64_t epoch = session.epoch();
  const bool is_of_another = !session.is_live() || session.nodes().peer.bits != incarnation;
  const bool is_up = session.is_up();
  session.OnPeerProvedDead({incarnation}, now_);
  const bool goes_on = session.epoch() == epoch;
  Act(self, -1, 1 - self);
  if (is_of_another && !goes_on) Fail("a proof of another incarnation's death ended a session");
  if (is_up && !goes_on) Fail("a proof of death ended a session that a stream carries");
  if (!is_of_another && !is_up && goes_on) Fail("a proof of death ended nothing");
}

}  // namespace understudy
