// SimulatedNetwork: streams of frames between the nodes of one process, in
// virtual time, with latency from a seed, that tests cut, stall and partition.
//
//   SimulatedNetwork network({.seed = 7, .clock = &clock, .run_at = run_at});
//   network.Listen("b", [&](auto stream) { return core_b.Accept(std::move(stream)); });
//   options_of_a.dialer = network.DialerFor("a");      // addresses are node names
//   network.Cut("a", "b");
//
// As FrameStream promises, frames come whole and in order or the stream closes.
// A cut stream loses what is under way and tells both ends. A stalled one loses
// it and tells nobody: the peers see silence, and an end that closes it is the only one
// to hear of that. Between partitioned nodes streams stall and dials are lost. A
// partition may be in one direction only: then the other one still carries. A slow
// direction carries late, and a write into it is under way until it has arrived. What
// would reach a paused node waits until that is resumed.
//
// Threads: one, that of the seeded executor. Lifetime: its destructor closes
// every stream and says so; callbacks that are due later find nobody.
#ifndef UNDERSTUDY_TRANSPORT_TESTING_SIMULATED_NETWORK_H_
#define UNDERSTUDY_TRANSPORT_TESTING_SIMULATED_NETWORK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {

class SimulatedNetwork {
 public:
  struct Options {
    uint64_t seed = 1;
    Clock* clock = nullptr;
    std::function<void(MonotonicTime time, absl::AnyInvocable<void()> callback)> run_at;
    absl::Duration latency_min = absl::Microseconds(100);
    absl::Duration latency_max = absl::Milliseconds(2);
    // What `to` knows of `from` by a stream between them, whoever dialled.
    std::function<StreamIdentity(absl::string_view from, absl::string_view to)> identity =
        [](absl::string_view, absl::string_view) { return StreamIdentity::SameUser(); };
    // Told of every frame and every stream's beginning and end; may be null.
    std::function<void(absl::string_view line)> trace;
  };

  explicit SimulatedNetwork(Options options);
  ~SimulatedNetwork();

  // Dials in the name of `node`. Lives as long as the network.
  Dialer* DialerFor(absl::string_view node);
  // Streams to the address `node` are accepted by `accept`, until Silence.
  void Listen(absl::string_view node, AcceptStream accept);
  // The node's process is gone: its streams close, and dials are refused.
  void Silence(absl::string_view node);

  // Closes the streams between the two, at both ends.
  void Cut(absl::string_view a, absl::string_view b);
  // They stay open and carry nothing any more.
  void Stall(absl::string_view a, absl::string_view b);
  // Stalls, and loses dials, until Heal.
  void Partition(absl::string_view a, absl::string_view b);
  // The same for what `from` sends to `to` only. Dials of both are lost: opening a
  // stream takes both directions.
  void PartitionOneWay(absl::string_view from, absl::string_view to);
  void Heal(absl::string_view a, absl::string_view b);

  // From now on what `from` writes to `to` takes so much longer; zero: as usual.
  void SetDelay(absl::string_view from, absl::string_view to, absl::Duration delay);

  // Nothing reaches the node, nor any end of its streams, until Resume.
  void Pause(absl::string_view node);
  void Resume(absl::string_view node);

  // Streams that are open between the two, at one end at least.
  int streams(absl::string_view a, absl::string_view b) const;
  int64_t frames_carried() const;

 private:
  class State;
  class NodeDialer;

  const std::shared_ptr<State> state_;
  std::map<std::string, std::unique_ptr<NodeDialer>, std::less<>> dialers_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_TESTING_SIMULATED_NETWORK_H_
