// SessionPair: two PeerSessions, "a" and "b", joined by a simulated network in virtual time. Streams can be cut,
// stalled and forbidden; latency is random, from a seed, and each stream keeps its order.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_SESSION_PAIR_H_
#define UNDERSTUDY_TESTS_TRANSPORT_SESSION_PAIR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/random.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/reliable_sequence.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session/write_turns.h"
#include "understudy/transport/session_times.h"

namespace understudy {

class SessionPair {
 public:
  struct Options {
    uint64_t seed = 1;
    SessionTimes times;
    ReliableSequence::Bounds bounds;
    bool a_dials = true;
    bool b_dials = true;
    absl::Duration latency_max = absl::Milliseconds(2);
    // The identity of either node that its stream proves to the other node.
    StreamIdentity identity = StreamIdentity::SameUser();
  };

  // A node of the pair, with all events and messages that its session reported.
  struct Node {
    std::string name;
    uint64_t incarnation = 0;
    bool dials = false;
    std::unique_ptr<PeerSession> session;
    std::vector<std::string> events;    // "begun 1", "suspect", "resumed", "ended 1 <why>", "refused <reason>"
    std::vector<std::string> received;  // messages' payloads
    size_t messages_reserved = 0;       // the capacities of all MessagesArrived
    std::vector<MonotonicTime> deadlines;
    std::vector<MonotonicTime> dialled;
    std::map<uint64_t, int> stream_of;  // its number of a stream to ours
    int frames_written = 0;
    std::map<uint64_t, internal::WriteTurns> turns;  // by its number of the stream
  };

  explicit SessionPair(Options options);

  Node& a() { return nodes_[0]; }
  Node& b() { return nodes_[1]; }
  MonotonicTime now() const { return now_; }

  // Replaces the node by a new incarnation (as if its process had been
  // restarted); `cut` says whether its streams close at once.
  enum class Streams { kCut, kStalled };
  void Restart(Node& node, Streams streams);

  // Appends a message from `node`.
  absl::Status Send(Node& node, absl::string_view text, MonotonicTime deadline = MonotonicTime::InfiniteFuture(),
                    uint64_t sender = 1);
  absl::Status SendSignal(Node& node, size_t bytes);

  // Applies the actions of the session of `node` after a test has called that session directly.
  void Act(Node& node);

  void RunFor(absl::Duration duration) { RunUntil(now_ + duration); }
  void RunUntil(MonotonicTime end);

  void CutAll();
  // Streams stay open and carry nothing any more.
  void StallAll();
  // New streams fail while false.
  void SetReachable(bool reachable) { reachable_ = reachable; }
  // Hands the frame to the receiver of `node`'s carrying stream.
  void Inject(Node& node, std::string frame);
  // Between the present incarnations.
  int open_streams() const;

 private:
  struct Stream {
    int dialler = 0;                // index into nodes_
    std::array<uint64_t, 2> ids{};  // by node, 0 where it is not known
    std::array<MonotonicTime, 2> last_arrival{};
    std::array<uint64_t, 2> incarnations{};
    bool open = true;
    bool stalled = false;
  };

  void Beat(int node, uint64_t id);
  int IndexOf(const Node& node) const { return node.name == "a" ? 0 : 1; }
  void Start(Node& node);
  void At(MonotonicTime time, std::function<void()> what);
  absl::Duration Latency();
  void Carry(int sender, uint64_t id, std::string bytes);
  void Arrive(int stream, int receiver, std::string bytes);
  void Close(int stream, int by);
  void Record(Node& node, const SessionAction& action);

  const Options options_;
  Random random_;
  MonotonicTime now_ = MonotonicTime::FromNanos(1000000000);
  uint64_t order_ = 0;
  std::map<std::pair<MonotonicTime, uint64_t>, std::function<void()>> queue_;
  std::array<Node, 2> nodes_;
  std::map<int, Stream> streams_;
  uint64_t incarnations_ = 100;
  bool reachable_ = true;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_SESSION_PAIR_H_
