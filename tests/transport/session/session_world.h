// SessionWorld: two nodes, "a" and "b", whose PeerSessions are driven step by step, and a stranger without their
// secret. Steps() lists everything that can happen next; Do() makes one of these happen and checks what must hold. The
// same steps lead to the same world again: an explorer repeats them at each fork.
//
// The possible events are: a frame or a stream's end arrives (streams overtake one another, frames on one stream do
// not); all streams break; time passes; a node sends, ends its session by itself or is restarted; a proof that a peer's
// process is dead comes, late, twice, or of a process that only did not listen for a moment; and the stranger, an
// attacker without the nodes' secrets, opens a stream to a with data that it can know, answers a dial of b, or takes an
// offer. Each kind except arrivals has a budget, so that every history ends.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_SESSION_SESSION_WORLD_H_
#define UNDERSTUDY_TESTS_TRANSPORT_SESSION_SESSION_WORLD_H_

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "understudy/actors/clock.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/transport/session/peer_session.h"

namespace understudy {

class SessionWorld {
 public:
  // How often each may happen.
  struct Budget {
    int breaks = 0;
    int ticks = 0;
    int sends = 0;
    int ends = 0;
    int restarts = 0;
    int strangers = 0;
    int proofs = 0;
  };

  struct Step {
    enum class Kind {
      kArrive,  // what is first on `stream` for `side`
      kBreak,
      kTick,
      kSend,      // by node `side`
      kEnd,       // by node `side`
      kRestart,   // of node `side`
      kStranger,  // opens a stream to a with the Hello of number `choice`
      kAnswer,    // the stranger answers the dial on `stream` with `choice`
      kProof,     // node `side` hears that the peer's incarnation `choice` is proved dead
    };
    Kind kind;
    int stream = 0;
    int side = 0;
    int choice = 0;
  };

  explicit SessionWorld(Budget budget);
  SessionWorld(const SessionWorld&) = delete;
  SessionWorld& operator=(const SessionWorld&) = delete;

  // Delivers all frames that are under way, stream by stream.
  void Join();
  // All streams break, both ends hear of it, and the next dial begins.
  void BreakAndTick();
  // Node b is restarted, its end is proved, and the nodes join again.
  void RestartAndJoin();

  std::vector<Step> Steps() const;
  void Do(const Step& step);
  // Nothing bad happens any more, and a minute passes; then the nodes must have
  // found each other.
  void Settle();

  // Empty while all that must hold holds.
  const std::string& wrong() const { return wrong_; }
  // Worlds with one fingerprint differ in jitter, and in the bytes of keys, only.
  std::string Fingerprint() const;

 private:
  static constexpr int kStranger = 2;

  struct Node {
    explicit Node(SessionConfig config) : incarnation(config.incarnation.bits), session(std::move(config)) {}
    uint64_t incarnation;
    PeerSession session;
    std::map<uint64_t, int> stream_of;
    int begun = 0;
    int ended = 0;
    bool has_genuine = false;  // its session is with the other node, not with the stranger
    bool was_suspect = false;  // since its session began
    // The stream that carries the node's session (0: none), and the heartbeat that the node writes there with each
    // tick.
    uint64_t carrier = 0;
    std::string heartbeat;
  };
  struct Frame {
    std::string bytes;  // empty: the stream's end
    int from;           // who wrote it
  };
  struct Stream {
    int dialler;
    std::array<int, 2> ends;                    // who is at each end: the dialler's is 0
    std::array<uint64_t, 2> numbers{};          // of the nodes at the ends, 0 when not known
    std::array<std::deque<Frame>, 2> arriving;  // to each end
    std::array<bool, 2> open = {true, true};
  };
  // A message's session: the sender's incarnation, the receiver's, and the epoch.
  using Run = std::array<uint64_t, 3>;

  std::unique_ptr<Node> NewNode(int node, uint64_t incarnation) const;
  void Act(int node, int stream, int from);
  // Whether there was something.
  bool ArriveOne();
  void Arrive(int stream, int end);
  void Close(int stream, int end);
  void Break();
  void Tick(MonotonicTime time);
  void TickNext();
  void Send(int node);
  void Restart(int node);
  void Prove(int node, uint64_t incarnation);
  proto::Hello StrangersHello(int choice) const;
  proto::Frame StrangersAnswer(const proto::Hello& hello, int choice) const;
  void ToNode(int stream, int end, std::string bytes, int from);
  void WriteTo(int node, uint64_t stream, const std::string& bytes);
  void Fail(std::string what);
  void CheckArrivals(bool complete);

  Budget budget_;
  MonotonicTime now_ = MonotonicTime::FromNanos(1000000000);
  std::array<std::unique_ptr<Node>, 2> nodes_;
  std::vector<Stream> streams_;
  // The parts of b's handshakes that the stranger has seen.
  std::vector<proto::Hello> recorded_;
  std::vector<proto::Frame> recorded_answers_;
  uint64_t incarnations_ = 2;
  int64_t sent_ = 0;
  std::map<Run, std::vector<std::string>> sent_by_;
  std::map<Run, std::vector<std::string>> received_;
  std::map<Run, int> ends_of_;  // of sessions that have ended at one end or both
  std::string wrong_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_SESSION_SESSION_WORLD_H_
