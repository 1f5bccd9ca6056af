// NodeCore's parts. Only its own sources include this.
#ifndef UNDERSTUDY_TRANSPORT_NODE_CORE_STATE_H_
#define UNDERSTUDY_TRANSPORT_NODE_CORE_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/transport/credit_receiver.h"
#include "understudy/transport/credit_sender.h"
#include "understudy/transport/frame_memory.h"
#include "understudy/transport/frame_stream.h"
#include "understudy/transport/node_core.h"
#include "understudy/transport/peer_session.h"
#include "understudy/transport/session_ties.h"
#include "understudy/transport/stream_identity.h"
#include "understudy/transport/write_turns.h"

namespace understudy {

// Guarded by NodeCore::mu_.
struct NodeCore::Peer {
  Peer(SessionConfig config, uint64_t number) : name(config.peer), number(number), session(std::move(config)) {}

  const std::string name;
  const uint64_t number;  // given once
  PeerSession session;
  SessionTies ties;  // of the live session
  // What was proved on the stream with which the live session began.
  StreamIdentity identity;
  // With which the last session began.
  NodeIncarnation last_met;
  std::map<uint64_t, std::shared_ptr<Link>> streams;
  // The one that was last told to carry the session, until the session is suspect or over. Another stream may be there
  // already, to carry the next session.
  std::shared_ptr<Link> beating;
  bool is_kept = false;  // from SetPeer to ForgetPeer
  // It came by itself, and nothing proves its identity.
  bool is_unproved = false;
  std::string configured_address;
  std::string learned_address;  // told by the peer; good while its session lives
  std::string dialled_address;  // what the session was last told to dial
  // Of the live session.
  CreditSender credit_out;
  CreditReceiver credit_in;
  MonotonicTime credit_at = MonotonicTime::InfiniteFuture();       // what is due is done then
  MonotonicTime credit_look_at = MonotonicTime::InfiniteFuture();  // for what lies unused
  bool is_crediting = false;                                       // a CreditWork is on its way
  MonotonicTime due_at = MonotonicTime::InfiniteFuture();          // its place in due_
  // For PeerStatus.
  std::map<ErrorKind, int64_t> refused_by_peer;
  int64_t without_credit = 0;
  int64_t forbidden = 0;
  bool carrying_out = false;  // its session's actions
};

class ABSL_SCOPED_LOCKABLE NodeCore::Locked {
 public:
  explicit Locked(NodeCore& core) ABSL_EXCLUSIVE_LOCK_FUNCTION(core.mu_) : core_(core) {
    core_.mu_.Lock();
    core_.now_.reset();
  }
  ~Locked() ABSL_UNLOCK_FUNCTION() { core_.mu_.Unlock(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  NodeCore& core_;
};

class ABSL_SCOPED_LOCKABLE NodeCore::Changing {
 public:
  Changing(NodeCore& core, Change change) ABSL_EXCLUSIVE_LOCK_FUNCTION(core.mu_) : core_(core), change_(change) {
    core_.mu_.Lock();
    core_.now_.reset();
  }
  ~Changing() ABSL_UNLOCK_FUNCTION() {
    Rest rest = core_.TakeRest(change_);
    core_.mu_.Unlock();
    core_.Do(std::move(rest), change_);
  }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  NodeCore& core_;
  const Change change_;
};

// How streams and timers, which may outlive the core, find it.
class NodeCore::Door {
 public:
  explicit Door(NodeCore* core) : core_(core) {}

  // Calls `event` with the core, unless that is gone.
  template <class F>
  void Enter(F event) {
    NodeCore* core = nullptr;
    {
      absl::MutexLock lock(&mu_);
      if (core_ == nullptr) return;
      core = core_;
      ++inside_;
    }
    event(*core);
    absl::MutexLock lock(&mu_);
    --inside_;
  }
  // Nobody is inside when it returns, and nobody enters after that.
  void Close() {
    absl::MutexLock lock(&mu_);
    core_ = nullptr;
    mu_.Await(absl::Condition(+[](int* inside) { return *inside == 0; }, &inside_));
  }

 private:
  absl::Mutex mu_;
  NodeCore* core_ ABSL_GUARDED_BY(mu_);
  int inside_ ABSL_GUARDED_BY(mu_) = 0;
};

// Hears one stream. Lives until OnClosed, whatever became of its core.
class NodeCore::Link final : public FrameStream::Events, public std::enable_shared_from_this<Link> {
 public:
  Link(std::shared_ptr<Door> door, uint64_t number) : number(number), door_(std::move(door)) {}

  const uint64_t number;

  // Guarded by the core's mu_: whose stream it is; null for a stranger and for
  // one that its session has closed.
  Peer* peer = nullptr;
  uint64_t stream_of_peer = 0;
  OnStreamOver on_over;  // of an accepted one; may be null
  // What is known of the node at the other end; of one that we dialled, once a frame has come.
  StreamIdentity identity;

  bool is_refused = false;                               // a stranger that is told so, and may read it
  std::shared_ptr<const internal::PeerProcess> process;  // at its other end, where it is known

  // Whoever works on streams makes and destroys it.
  void SetStream(std::shared_ptr<FrameStream> stream) {
    absl::MutexLock lock(&turns_mu_);
    stream_.swap(stream);
  }
  std::shared_ptr<FrameStream> stream() {
    absl::MutexLock lock(&turns_mu_);
    return stream_;
  }
  // A frame of the session's.
  void Write(std::string frame, MonotonicTime now);
  // Both, and each Beat, say when the heart is to come. None begins after EndBeats.
  MonotonicTime BeginBeats(std::string heartbeat, absl::Duration interval, MonotonicTime now);
  void EndBeats();
  MonotonicTime Beat(MonotonicTime now);
  // True when the session's frame is written.
  bool CompleteWrite(MonotonicTime now);

  // From now on OnClosed will come; the link keeps itself until then.
  void Open() { self_ = shared_from_this(); }

  void OnFrame(std::string frame) override {
    door_->Enter([&](NodeCore& core) { core.OnLinkFrame(shared_from_this(), frame); });
    internal::KeepMemory(std::move(frame));
  }
  void OnWritten() override {
    door_->Enter([&](NodeCore& core) { core.OnLinkWritten(shared_from_this()); });
  }
  void OnClosed(absl::Status why) override {
    const std::shared_ptr<Link> keep = std::move(self_);
    door_->Enter([&](NodeCore& core) { core.OnLinkClosed(keep, why); });
  }

 private:
  const std::shared_ptr<Door> door_;
  std::shared_ptr<Link> self_;

  // Held for a few instructions, never while the stream is called.
  absl::Mutex turns_mu_;
  std::shared_ptr<FrameStream> stream_ ABSL_GUARDED_BY(turns_mu_);
  internal::WriteTurns turns_ ABSL_GUARDED_BY(turns_mu_);
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NODE_CORE_STATE_H_
