// SimulatedNetwork: streams of frames between the nodes of one process, on virtual
// time and with seeded latency. Tests can cut, stall, delay and partition them.
//
//   SimulatedNetwork network({.seed = 7, .clock = &clock, .run_at = run_at});
//   network.Listen("b", [&](auto stream) { return core_b.Accept(std::move(stream)); });
//   options_of_a.dialer = network.DialerFor("a");      // addresses are node names
//   network.Cut("a", "b");
//
// As FrameStream promises, frames arrive whole and in order, or the stream closes.
// - A cut stream loses the frames under way, and both ends get OnClosed.
// - A stalled stream loses the frames under way, and neither end is told: the peers see
//   silence. An end that closes a stalled stream gets OnClosed; the other end does not.
// - Between partitioned nodes streams stall and dials are lost. After a partition in one
//   direction, open streams still carry the other direction.
// - In a delayed direction frames arrive later, and OnWritten comes only when the frame
//   has arrived.
// - Events for a paused node wait until it is resumed.
//
// Threads: only the thread of the seeded executor. Lifetime: the destructor closes every
// stream and calls OnClosed; callbacks that are due later do nothing.
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
    // Each frame takes a time between these two, which are finite and not negative (CHECKed).
    absl::Duration latency_min = absl::Microseconds(100);
    absl::Duration latency_max = absl::Milliseconds(2);
    // The identity of `from` that `to` sees on a stream between them; it does not depend
    // on which of the two dialled.
    std::function<StreamIdentity(absl::string_view from, absl::string_view to)> identity =
        [](absl::string_view, absl::string_view) { return StreamIdentity::SameUser(); };
    // Called with a line for every frame, and for the beginning and end of every stream;
    // may be null.
    std::function<void(absl::string_view line)> trace;
  };

  explicit SimulatedNetwork(Options options);
  ~SimulatedNetwork();

  // The dialer of `node`, owned by the network.
  Dialer* DialerFor(absl::string_view node);
  // Passes streams that are dialled to the address `node` to `accept`, until Silence.
  void Listen(absl::string_view node, AcceptStream accept);
  // Acts as the end of the node's process: its streams close, and dials are refused.
  void Silence(absl::string_view node);

  // Closes the streams between the two nodes, at both ends.
  void Cut(absl::string_view a, absl::string_view b);
  // Keeps the streams between the two nodes open, but they carry no frame any more.
  void Stall(absl::string_view a, absl::string_view b);
  // Stalls the streams between the two nodes, and loses their dials until Heal.
  void Partition(absl::string_view a, absl::string_view b);
  // Stalls only what `from` sends to `to`. Dials in both directions are lost until Heal,
  // because opening a stream takes both directions.
  void PartitionOneWay(absl::string_view from, absl::string_view to);
  // Lets dials between the two nodes succeed again. Streams that stalled stay stalled.
  void Heal(absl::string_view a, absl::string_view b);

  // Adds `delay` to the latency of what `from` writes to `to` from now on.
  void SetDelay(absl::string_view from, absl::string_view to, absl::Duration delay);

  // Holds back dials to the node, and all events of its streams, until Resume.
  void Pause(absl::string_view node);
  void Resume(absl::string_view node);

  // The number of streams between the two nodes that are open at one end at least.
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
