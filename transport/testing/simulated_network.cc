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
#include "understudy/actors/check.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/message.h"
#include "understudy/actors/random.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {
namespace {

// One stream with its two ends. End 0 is the one that dialled.
struct Pipe {
  int64_t number = 0;
  std::array<std::string, 2> nodes;
  std::array<FrameStream::Events*, 2> events{};  // null before the accept, and after OnClosed
  std::array<MonotonicTime, 2> last_arrival{};
  std::array<bool, 2> open{true, true};
  std::array<bool, 2> stalled{};  // by the end to which the stalled direction leads
};

// The sending and the receiving node.
using Direction = std::pair<std::string, std::string>;

}  // namespace

class SimulatedNetwork::State : public std::enable_shared_from_this<State> {
 public:
  explicit State(Options options) : options_(std::move(options)), random_(options_.seed) {
    for (const absl::Duration latency : {options_.latency_min, options_.latency_max}) {
      UNDERSTUDY_CHECK(latency >= absl::ZeroDuration() && latency != absl::InfiniteDuration(),
                       "a latency of the network is ", absl::FormatDuration(latency),
                       ": expected 0 or more, and finite");
    }
  }

  std::unique_ptr<FrameStream> Dial(absl::string_view from, absl::string_view to, FrameStream::Events* events);
  void Write(const std::shared_ptr<Pipe>& pipe, int end, std::string frame);
  // Closes the stream at `end`, which gets OnClosed. The other end gets it too, unless the direction to it is stalled.
  void Close(const std::shared_ptr<Pipe>& pipe, int end, absl::string_view why);
  void CloseBoth(const std::shared_ptr<Pipe>& pipe, absl::string_view why) {
    CloseEnd(pipe, 0, why);
    CloseEnd(pipe, 1, why);
  }

  template <class F>
  void ForEach(absl::string_view a, absl::string_view b, F f) {
    const std::map<int64_t, std::shared_ptr<Pipe>> pipes = pipes_;
    for (const auto& [number, pipe] : pipes) {
      if ((pipe->nodes[0] == a && pipe->nodes[1] == b) || (pipe->nodes[0] == b && pipe->nodes[1] == a)) f(pipe);
    }
  }
  void Stall(absl::string_view from, absl::string_view to) {
    ForEach(from, to, [&](const std::shared_ptr<Pipe>& pipe) { pipe->stalled[pipe->nodes[0] == to ? 0 : 1] = true; });
  }
  void Silence(absl::string_view node) {
    listeners_.erase(std::string(node));
    const std::map<int64_t, std::shared_ptr<Pipe>> pipes = pipes_;
    for (const auto& [number, pipe] : pipes) {
      for (const int end : {0, 1}) {
        if (pipe->nodes[end] == node) Close(pipe, end, "the node is gone");
      }
    }
  }
  void Resume(absl::string_view node) {
    const auto paused = paused_.find(node);
    if (paused == paused_.end()) return;
    auto waited = std::move(paused->second);
    paused_.erase(paused);
    for (auto& what : waited) At(options_.clock->Now(), node, std::move(what));
  }

  // Ends every stream at once.
  void End() {
    for (const auto& [number, pipe] : std::map<int64_t, std::shared_ptr<Pipe>>(pipes_)) CloseBoth(pipe, "no network");
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
  std::set<Direction> partitions_;
  std::map<Direction, absl::Duration> delays_;
  // For each paused node, its events that have become due meanwhile, in order.
  std::map<std::string, std::vector<absl::AnyInvocable<void(State&)>>, std::less<>> paused_;
  int64_t frames_carried_ = 0;

 private:
  void Accept(const std::shared_ptr<Pipe>& pipe);
  void Arrive(const std::shared_ptr<Pipe>& pipe, int end, std::string frame);
  void CloseEnd(const std::shared_ptr<Pipe>& pipe, int end, absl::string_view why);
  void TellClosed(const std::shared_ptr<Pipe>& pipe, int end, absl::string_view why);

  absl::Duration DelayTo(const Pipe& pipe, int end) const {
    const auto delay = delays_.find({pipe.nodes[1 - end], pipe.nodes[end]});
    return delay == delays_.end() ? absl::ZeroDuration() : delay->second;
  }
  absl::Duration Latency() {
    return options_.latency_min + (options_.latency_max - options_.latency_min) * random_.Fraction();
  }
  // The time at which the next frame reaches `end`: not before the last one, so that the stream keeps its order.
  MonotonicTime NextArrival(Pipe& pipe, int end) {
    pipe.last_arrival[end] = std::max(pipe.last_arrival[end], options_.clock->Now() + Latency() + DelayTo(pipe, end));
    return pipe.last_arrival[end];
  }
  // Runs `what`, an event of `node`, at `time`, or when the node is resumed if it is paused then.
  void At(MonotonicTime time, absl::string_view node, absl::AnyInvocable<void(State&)> what) {
    options_.run_at(time, [weak = weak_from_this(), node = std::string(node), what = std::move(what)]() mutable {
      const std::shared_ptr<State> state = weak.lock();
      if (state == nullptr) return;
      const auto paused = state->paused_.find(node);
      if (paused == state->paused_.end()) {
        what(*state);
      } else {
        paused->second.push_back(std::move(what));
      }
    });
  }

  const Options options_;
  Random random_;
  std::map<int64_t, std::shared_ptr<Pipe>> pipes_;    // open at one end at least
  std::map<int64_t, std::shared_ptr<Pipe>> closing_;  // closed, and an end has not got OnClosed yet
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
      state->Close(pipe_, end_, absl::StrCat("closed by ", pipe_->nodes[end_]));
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
  At(NextArrival(*pipe, 1), to, [pipe](State& state) { state.Accept(pipe); });
  return std::make_unique<PipeEnd<State>>(weak_from_this(), pipe, 0);
}

void SimulatedNetwork::State::Accept(const std::shared_ptr<Pipe>& pipe) {
  const auto& [from, to] = pipe->nodes;
  if (partitions_.contains({from, to}) || partitions_.contains({to, from})) pipe->stalled = {true, true};
  if (!pipe->open[0] || pipe->stalled[0] || pipe->stalled[1]) {
    CloseEnd(pipe, 1, "never opened");
    return;
  }
  const auto listener = listeners_.find(to);
  if (listener != listeners_.end()) {
    pipe->events[1] = listener->second(std::make_unique<PipeEnd<State>>(weak_from_this(), pipe, 1), Identity(from, to));
  }
  if (pipe->events[1] == nullptr) CloseBoth(pipe, "refused");
}

void SimulatedNetwork::State::Write(const std::shared_ptr<Pipe>& pipe, int end, std::string frame) {
  if (!pipe->open[end]) return;
  const std::string& to = pipe->nodes[1 - end];
  Trace(absl::StrCat("frame #", pipe->number, " ", pipe->nodes[end], " to ", to, " ", frame.size(), " bytes ",
                     absl::Hex(internal::Fnv1a(frame), absl::kZeroPad8)));
  const MonotonicTime written = options_.clock->Now() + Latency() / 4;
  const MonotonicTime arrives = NextArrival(*pipe, 1 - end);
  At(DelayTo(*pipe, 1 - end) == absl::ZeroDuration() ? written : arrives, pipe->nodes[end], [pipe, end](State&) {
    if (pipe->open[end] && pipe->events[end] != nullptr) pipe->events[end]->OnWritten();
  });
  At(arrives, to,
     [pipe, end, frame = std::move(frame)](State& state) mutable { state.Arrive(pipe, 1 - end, std::move(frame)); });
}

void SimulatedNetwork::State::Arrive(const std::shared_ptr<Pipe>& pipe, int end, std::string frame) {
  if (!pipe->open[end] || pipe->stalled[end] || pipe->events[end] == nullptr) return;
  ++frames_carried_;
  pipe->events[end]->OnFrame(std::move(frame));
}

void SimulatedNetwork::State::Close(const std::shared_ptr<Pipe>& pipe, int end, absl::string_view why) {
  CloseEnd(pipe, end, why);
  if (!pipe->stalled[1 - end]) CloseEnd(pipe, 1 - end, why);
}

void SimulatedNetwork::State::CloseEnd(const std::shared_ptr<Pipe>& pipe, int end, absl::string_view why) {
  if (!pipe->open[end]) return;
  pipe->open[end] = false;
  Trace(absl::StrCat("close #", pipe->number, " at ", pipe->nodes[end], ": ", why));
  if (!pipe->open[1 - end]) pipes_.erase(pipe->number);
  closing_[pipe->number] = pipe;
  At(options_.clock->Now() + Latency(), pipe->nodes[end],
     [pipe, end, text = std::string(why)](State& state) { state.TellClosed(pipe, end, text); });
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
  state_->Trace(absl::StrCat("cut between ", a, " and ", b));
  state_->ForEach(a, b, [&](const std::shared_ptr<Pipe>& pipe) { state_->CloseBoth(pipe, "cut"); });
}

void SimulatedNetwork::Stall(absl::string_view a, absl::string_view b) {
  state_->Trace(absl::StrCat("stall ", a, " and ", b));
  state_->Stall(a, b);
  state_->Stall(b, a);
}

void SimulatedNetwork::Partition(absl::string_view a, absl::string_view b) {
  PartitionOneWay(a, b);
  PartitionOneWay(b, a);
}

void SimulatedNetwork::PartitionOneWay(absl::string_view from, absl::string_view to) {
  state_->Trace(absl::StrCat("nothing reaches ", to, " from ", from));
  state_->partitions_.insert({std::string(from), std::string(to)});
  state_->Stall(from, to);
}

void SimulatedNetwork::Heal(absl::string_view a, absl::string_view b) {
  state_->Trace(absl::StrCat(a, " and ", b, " reach each other again"));
  state_->partitions_.erase({std::string(a), std::string(b)});
  state_->partitions_.erase({std::string(b), std::string(a)});
}

void SimulatedNetwork::SetDelay(absl::string_view from, absl::string_view to, absl::Duration delay) {
  state_->Trace(absl::StrCat("from ", from, " to ", to, " a frame takes ", absl::FormatDuration(delay), " more"));
  state_->delays_[{std::string(from), std::string(to)}] = delay;
}

void SimulatedNetwork::Pause(absl::string_view node) { (void)state_->paused_.try_emplace(std::string(node)); }
void SimulatedNetwork::Resume(absl::string_view node) { state_->Resume(node); }

int SimulatedNetwork::streams(absl::string_view a, absl::string_view b) const { return state_->Count(a, b); }
int64_t SimulatedNetwork::frames_carried() const { return state_->frames_carried_; }

}  // namespace understudy
