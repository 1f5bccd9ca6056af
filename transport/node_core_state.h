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
#include "understudy/transport/frame_stream.h"
#include "understudy/transport/node_core.h"
#include "understudy/transport/peer_session.h"
#include "understudy/transport/session_ties.h"

namespace understudy {

// Guarded by NodeCore::mu_.
struct NodeCore::Peer {
  explicit Peer(SessionConfig config) : name(config.peer), session(std::move(config)) {}

  const std::string name;
  PeerSession session;
  SessionTies ties;  // of the live session
  std::map<uint64_t, std::shared_ptr<Link>> streams;
  std::string configured_address;
  std::string learned_address;  // told by the peer; good while its session lives
  std::string dialled_address;  // what the session was last told to dial
  MonotonicTime credit_at = MonotonicTime::InfiniteFuture();
  bool carrying_out = false;  // its session's actions
};

// Hears one stream. Lives until OnClosed, whatever became of its core.
class NodeCore::Link final : public FrameStream::Events, public std::enable_shared_from_this<Link> {
 public:
  Link(NodeCore* core, uint64_t number) : number(number), core_(core) {}

  const uint64_t number;

  // Guarded by the core's mu_: whose stream it is; null for a stranger and for
  // one that its session has closed.
  Peer* peer = nullptr;
  uint64_t stream_of_peer = 0;

  // Touched only by whoever works on streams.
  std::unique_ptr<FrameStream> stream;

  // From now on OnClosed will come; the link keeps itself until then.
  void Open() { self_ = shared_from_this(); }
  // The core is going; events find nobody. Waits for one that is running.
  void Forget() {
    absl::MutexLock lock(&mu_);
    core_ = nullptr;
  }

  void OnFrame(std::string frame) override {
    absl::MutexLock lock(&mu_);
    if (core_ != nullptr) core_->OnLinkFrame(shared_from_this(), std::move(frame));
  }
  void OnWritten() override {
    absl::MutexLock lock(&mu_);
    if (core_ != nullptr) core_->OnLinkWritten(shared_from_this());
  }
  void OnClosed(absl::Status why) override {
    const std::shared_ptr<Link> keep = std::move(self_);
    absl::MutexLock lock(&mu_);
    if (core_ != nullptr) core_->OnLinkClosed(shared_from_this(), why);
  }

 private:
  std::shared_ptr<Link> self_;
  // Held during events, and never taken while the core's mu_ is held.
  absl::Mutex mu_;
  NodeCore* core_ ABSL_GUARDED_BY(mu_);
};

struct NodeCore::Waker {
  // Held during ticks.
  absl::Mutex mu;
  NodeCore* core ABSL_GUARDED_BY(mu);
};

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_NODE_CORE_STATE_H_
