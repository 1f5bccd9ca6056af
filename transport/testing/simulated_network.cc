#include "understudy/transport/testing/simulated_network.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/message.h"
#include "understudy/actors/random.h"
#include "understudy/transport/frame_stream.h"
#include "understudy/transport/stream_identity.h"

namespace understudy {
namespace {

// Both ends of one stream; end 0 dialled.
struct Pipe {
  int64_t number = 0;
  std::array<std::string, 2> nodes;
  std::array<FrameStream::Events*, 2> events{};  // null before the accept, and after OnClosed
  std::array<MonotonicTime, 2> last_arrival{};
  bool open = true;
  bool stalled = false;
};

using NodePairNames = std::pair<std::string, std::string>;

NodePairNames PairOf(absl::string_view a, absl::string_view b) {
  return a < b ? NodePairNames(a, b) : NodePairNames(b, a);
}

}  // namespace

class SimulatedNetwork::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(Options options) : options_(std::move(options)), random_(options_.seed) {}

  std::unique_ptr<FrameStream> Dial(absl::string_view from, absl::string_view to, FrameStream::Events* events);
  void Write(const std::shared_ptr<Pipe>& pipe, int end, std::string frame);
  // Both ends are told, the one that closes too.
  void Close(const std::shared_ptr<Pipe>& pipe, absl::string_view why);

  template <class F>
  void ForEach(absl::string_view a, absl::string_view b, F f) {
    const std::map<int64_t, std::shared_ptr<Pipe>> pipes = pipes_;
    for (const auto& [number, pipe] : pipes) {
      if (PairOf(pipe->nodes[0], pipe->nodes[1]) == PairOf(a, b)) f(pipe);
    }
  }
  void Silence(absl::string_view node) {
    listeners_.erase(std::string(node));
    const std::map<int64_t, std::shared_ptr<Pipe>> pipes = pipes_;
    for (const auto& [number, pipe] : pipes) {
      if (pipe->nodes[0] == node || pipe->nodes[1] == node) Close(pipe, "the node is gone");
    }
  }

  // Ends every stream at once.
  void End() {
    for (const auto& [number, pipe] : std::map<int64_t, std::shared_ptr<Pipe>>(pipes_)) Close(pipe, "no network");
    for (const auto& [number, pipe] : std::map<int64_t, std::shared_ptr<Pipe>>(closing_)) {
      TellClosed(pipe, 0, "no network");
      TellClosed(pipe, 1, "no network");
    }
  }

  StreamIdentity Identity(absl::string_view from, absl::string_view to) const { return options_.identity(from, to); }
  void Trace(absl::string_view line) {
    if (options_.trace) options_.trace(line);
  }
  int Count(absl::string_view a, absl::string_view b) {
    int count = 0;
    ForEach(a, b, [&](const std::shared_ptr<Pipe>&) { ++count; });
    return count;
  }

  std::map<std::string, AcceptStream> listeners_;
  std::set<NodePairNames> partitions_;
  int64_t frames_carried_ = 0;

 private:
  void Accept(const std::shared_ptr<Pipe>& pipe);
  void Arrive(const std::shared_ptr<Pipe>& pipe, int end, std::string frame);
  void TellClosed(const std::shared_ptr<Pipe>& pipe, int end, absl::string_view why);

  absl::Duration Latency() {
    return options_.latency_min + (options_.latency_max - options_.latency_min) * random_.Fraction();
  }
  // The next thing to reach that end keeps the stream's order.
  MonotonicTime NextArrival(Pipe& pipe, int end) {
    pipe.last_arrival[end] = std::max(pipe.last_arrival[end], options_.clock->Now() + Latency());
    return pipe.last_arrival[end];
  }
  void After(MonotonicTime time, absl::AnyInvocable<void(State&)> what) {
    options_.run_at(time, [weak = weak_from_this(), what = std::move(what)]() mutable {
      if (const std::shared_ptr<State> state = weak.lock(); state != nullptr) what(*state);
    });
  }

  const Options options_;
  Random random_;
  std::map<int64_t, std::shared_ptr<Pipe>> pipes_;    // open ones
  std::map<int64_t, std::shared_ptr<Pipe>> closing_;  // those with an end that is not told yet
  int64_t last_pipe_ = 0;
};

namespace {

template <class StateT>
class PipeEnd final : public FrameStream {
 public:
  PipeEnd(std::weak_ptr<StateT> state, std::shared_ptr<Pipe> pipe, int end)
      : state_(std::move(state)), pipe_(std::move(pipe)), end_(end) {}
  ~PipeEnd() override { Close(); }

  void Write(std::string frame) override {
    if (const auto state = state_.lock(); state != nullptr) state->Write(pipe_, end_, std::move(frame));
  }
  void Close() override {
    if (const auto state = state_.lock(); state != nullptr)
      state->Close(pipe_, absl::StrCat("closed by ", pipe_->nodes[end_]));
  }

 private:
  const std::weak_ptr<StateT> state_;
  const std::shared_ptr<Pipe> pipe_;
  const int end_;
};

}  // namespace

std::unique_ptr<FrameStream> SimulatedNetwork::State::Dial(absl::string_view from, absl::string_view to,
                                                           FrameStream::Events* events) {
  auto pipe = std::make_shared<Pipe>();
  pipe->number = ++last_pipe_;
  pipe->nodes = {std::string(from), std::string(to)};
  pipe->events[0] = events;
  pipes_[pipe->number] = pipe;
  Trace(absl::StrCat("dial #", pipe->number, " ", from, " to ", to));
  After(NextArrival(*pipe, 1), [pipe](State& state) { state.Accept(pipe); });
  return std::make_unique<PipeEnd<State>>(weak_from_this(), pipe, 0);
}

void SimulatedNetwork::State::Accept(const std::shared_ptr<Pipe>& pipe) {
  if (partitions_.contains(PairOf(pipe->nodes[0], pipe->nodes[1]))) pipe->stalled = true;
  if (!pipe->open || pipe->stalled) return;
  const auto listener = listeners_.find(pipe->nodes[1]);
  if (listener != listeners_.end()) {
    pipe->events[1] = listener->second(std::make_unique<PipeEnd<State>>(weak_from_this(), pipe, 1),
                                       Identity(pipe->nodes[0], pipe->nodes[1]));
  }
  if (pipe->events[1] == nullptr) Close(pipe, "refused");
}

void SimulatedNetwork::State::Write(const std::shared_ptr<Pipe>& pipe, int end, std::string frame) {
  if (!pipe->open) return;
  Trace(absl::StrCat("frame #", pipe->number, " ", pipe->nodes[end], " to ", pipe->nodes[1 - end], " ", frame.size(),
                     " bytes ", absl::Hex(internal::Fnv1a(frame), absl::kZeroPad8)));
  After(options_.clock->Now() + Latency() / 4, [pipe, end](State&) {
    if (pipe->open && pipe->events[end] != nullptr) pipe->events[end]->OnWritten();
  });
  After(NextArrival(*pipe, 1 - end),
        [pipe, end, frame = std::move(frame)](State& state) mutable { state.Arrive(pipe, 1 - end, std::move(frame)); });
}

void SimulatedNetwork::State::Arrive(const std::shared_ptr<Pipe>& pipe, int end, std::string frame) {
  if (!pipe->open || pipe->stalled || pipe->events[end] == nullptr) return;
  ++frames_carried_;
  pipe->events[end]->OnFrame(std::move(frame));
}

void SimulatedNetwork::State::Close(const std::shared_ptr<Pipe>& pipe, absl::string_view why) {
  if (!pipe->open) return;
  pipe->open = false;
  pipes_.erase(pipe->number);
  Trace(absl::StrCat("close #", pipe->number, ": ", why));
  closing_[pipe->number] = pipe;
  for (int end = 0; end < 2; ++end) {
    After(options_.clock->Now() + Latency(),
          [pipe, end, text = std::string(why)](State& state) { state.TellClosed(pipe, end, text); });
  }
}

void SimulatedNetwork::State::TellClosed(const std::shared_ptr<Pipe>& pipe, int end, absl::string_view why) {
  FrameStream::Events* events = std::exchange(pipe->events[end], nullptr);
  if (pipe->events[1 - end] == nullptr) closing_.erase(pipe->number);
  if (events != nullptr) events->OnClosed(absl::UnavailableError(why));
}

class SimulatedNetwork::NodeDialer final : public Dialer {
 public:
  NodeDialer(std::shared_ptr<State> state, absl::string_view node) : state_(std::move(state)), node_(node) {}
  std::unique_ptr<FrameStream> Dial(absl::string_view, absl::string_view address,
                                    FrameStream::Events* events) override {
    return state_->Dial(node_, address, events);
  }
  StreamIdentity IdentityAt(absl::string_view, absl::string_view address) const override {
    return state_->Identity(address, node_);
  }

 private:
  const std::shared_ptr<State> state_;
  const std::string node_;
};

SimulatedNetwork::SimulatedNetwork(Options options) : state_(std::make_shared<State>(std::move(options))) {}
SimulatedNetwork::~SimulatedNetwork() { state_->End(); }

Dialer* SimulatedNetwork::DialerFor(absl::string_view node) {
  std::unique_ptr<NodeDialer>& dialer = dialers_[std::string(node)];
  if (dialer == nullptr) dialer = std::make_unique<NodeDialer>(state_, node);
  return dialer.get();
}

void SimulatedNetwork::Listen(absl::string_view node, AcceptStream accept) {
  state_->listeners_[std::string(node)] = std::move(accept);
}

void SimulatedNetwork::Silence(absl::string_view node) { state_->Silence(node); }

void SimulatedNetwork::Cut(absl::string_view a, absl::string_view b) {
  state_->ForEach(a, b, [&](const std::shared_ptr<Pipe>& pipe) { state_->Close(pipe, "cut"); });
}

void SimulatedNetwork::Stall(absl::string_view a, absl::string_view b) {
  state_->Trace(absl::StrCat("stall ", a, " and ", b));
  state_->ForEach(a, b, [](const std::shared_ptr<Pipe>& pipe) { pipe->stalled = true; });
}

void SimulatedNetwork::Partition(absl::string_view a, absl::string_view b) {
  state_->partitions_.insert(PairOf(a, b));
  Stall(a, b);
}

void SimulatedNetwork::Heal(absl::string_view a, absl::string_view b) { state_->partitions_.erase(PairOf(a, b)); }

int SimulatedNetwork::streams(absl::string_view a, absl::string_view b) const { return state_->Count(a, b); }
int64_t SimulatedNetwork::frames_carried() const { return state_->frames_carried_; }

}  // namespace understudy
