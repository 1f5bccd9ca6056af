// NodeLink: one stream of a node, as NodeCore and the core of its peer see it.
//
// Streams and timers may outlive the core. They find it through a NodeBackReference, which
// the core closes before it goes. Each link has a back_reference of its own, so that the
// streams of two peers share no lock.
//
// NodeLinks has every stream of the node that has not closed.
#ifndef UNDERSTUDY_TRANSPORT_CORE_NODE_LINK_H_
#define UNDERSTUDY_TRANSPORT_CORE_NODE_LINK_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session/write_turns.h"

namespace understudy::internal {

class NodeLink;
class PeerCore;
class PeerProcess;

// Hears the streams of a node. Any thread; the events of one stream come one at a time.
class NodeLinkOwner {
 public:
  virtual ~NodeLinkOwner() = default;
  virtual void OnLinkFrame(const std::shared_ptr<NodeLink>& link, absl::string_view frame) = 0;
  // A frame of the session's is written, as opposed to a heartbeat.
  virtual void OnLinkWritten(const std::shared_ptr<NodeLink>& link) = 0;
  // The last event of the link.
  virtual void OnLinkClosed(const std::shared_ptr<NodeLink>& link, const absl::Status& why) = 0;
  // The clock of the node.
  virtual MonotonicTime ReadClock() const = 0;
};

// The way to an object that may be gone. Any thread.
template <class T>
class BackReference {
 public:
  explicit BackReference(T* behind) : behind_(behind) {}

  // Calls `event` with the object, unless that is gone.
  template <class F>
  void Enter(F event) {
    T* behind = nullptr;
    {
      absl::MutexLock lock(&mu_);
      if (behind_ == nullptr) return;
      behind = behind_;
      ++inside_;
    }
    event(*behind);
    absl::MutexLock lock(&mu_);
    --inside_;
  }
  // Waits until no call of Enter runs its event. None begins after that.
  void Close() {
    absl::MutexLock lock(&mu_);
    behind_ = nullptr;
    mu_.Await(absl::Condition(+[](int* inside) { return *inside == 0; }, &inside_));
  }

 private:
  absl::Mutex mu_;
  T* behind_ ABSL_GUARDED_BY(mu_);
  int inside_ ABSL_GUARDED_BY(mu_) = 0;
};
using NodeBackReference = BackReference<NodeLinkOwner>;

// Hears one stream. Lives until OnClosed, whatever became of its core.
class NodeLink final : public FrameStream::Events, public std::enable_shared_from_this<NodeLink> {
 public:
  using OnOver = std::function<void(const absl::Status& why)>;
  NodeLink(std::shared_ptr<NodeBackReference> back_reference, uint64_t number, StreamIdentity known)
      : number(number), identity(std::move(known)), back_reference_(std::move(back_reference)) {}

  const uint64_t number;
  // What is known of the node at the other end; of one that we dialled, what its address proves.
  const StreamIdentity identity;

  // The peer whose stream it is or was; null while it is a stranger's. Set once. Release, so that an event that loads
  // it with acquire sees the stream's number below.
  std::atomic<PeerCore*> peer{nullptr};
  // Guarded by the lock of that peer: the session's number of the stream; 0 when the session has none for it any more.
  uint64_t stream_of_peer = 0;
  // Of an accepted stream; may be null. Set before the first event, and taken by the last one.
  OnOver on_over;
  // Guarded by the node's lock of its table: a stranger that is told so, and may read it.
  bool is_refused = false;

  // Whoever works on streams makes and destroys it.
  void SetStream(std::shared_ptr<FrameStream> stream) {
    absl::MutexLock lock(&turns_mu_);
    stream_.swap(stream);
  }
  std::shared_ptr<FrameStream> stream() {
    absl::MutexLock lock(&turns_mu_);
    return stream_;
  }
  // At the other end of the stream, where it is known.
  void SetProcess(std::shared_ptr<const PeerProcess> process) {
    absl::MutexLock lock(&turns_mu_);
    process_ = std::move(process);
  }
  std::shared_ptr<const PeerProcess> process() {
    absl::MutexLock lock(&turns_mu_);
    return process_;
  }
  // A frame of the session's.
  void Write(std::string frame, MonotonicTime now);
  // The heart writes `heartbeat` whenever nothing was written for an interval. `at`
  // is NodeCoreOptions::beat_at. No heartbeat begins after EndBeats.
  using CallAt = std::function<void(MonotonicTime time, absl::AnyInvocable<void()> callback)>;
  void BeginBeats(std::string heartbeat, absl::Duration interval, MonotonicTime now, const CallAt& at);
  void EndBeats();

  // From now on OnClosed will come; the link keeps itself until then.
  void Open() { self_ = shared_from_this(); }

  void OnFrame(std::string frame) override;
  void OnWritten() override;
  void OnClosed(absl::Status why) override;

 private:
  // True when the session's frame is written.
  bool CompleteWrite(MonotonicTime now);
  // Gives the time of the next.
  MonotonicTime Beat(MonotonicTime now);
  void BeatAt(MonotonicTime time, const CallAt& at);

  const std::shared_ptr<NodeBackReference> back_reference_;
  std::shared_ptr<NodeLink> self_;

  // Held for a few instructions, never while the stream is called.
  absl::Mutex turns_mu_;
  std::shared_ptr<FrameStream> stream_ ABSL_GUARDED_BY(turns_mu_);
  std::shared_ptr<const PeerProcess> process_ ABSL_GUARDED_BY(turns_mu_);
  WriteTurns turns_ ABSL_GUARDED_BY(turns_mu_);
};

// Any thread. Its lock is a leaf: nothing is called under it.
class NodeLinks {
 public:
  explicit NodeLinks(NodeLinkOwner* owner) : owner_(owner) {}

  std::shared_ptr<NodeLink> Add(StreamIdentity identity);
  void Remove(uint64_t number);
  // No event of any stream runs when it returns, and none comes after that.
  void CloseAll();

 private:
  NodeLinkOwner* const owner_;
  absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, std::shared_ptr<NodeLink>> links_ ABSL_GUARDED_BY(mu_);
  // Of all links that may still have an event, those that were removed included.
  std::vector<std::shared_ptr<NodeBackReference>> back_references_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_NODE_LINK_H_
