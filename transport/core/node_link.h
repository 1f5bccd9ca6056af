// NodeLink: one stream of a node, as NodeCore and the core of its peer see it.
//
// Streams and timers may outlive the NodeCore. They call it through a NodeBackReference,
// which the NodeCore closes before it is destroyed. Each link has a back-reference of its
// own, so that the streams of two peers share no lock.
//
// NodeLinks holds every stream of the node that has not closed.
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

// Receives the events of all streams of a node. Any thread; the events of one stream come one at a time.
class NodeLinkOwner {
 public:
  virtual ~NodeLinkOwner() = default;
  virtual void OnLinkFrame(const std::shared_ptr<NodeLink>& link, absl::string_view frame) = 0;
  // A frame of the session was written; heartbeats are not reported.
  virtual void OnLinkWritten(const std::shared_ptr<NodeLink>& link) = 0;
  // The last event of the link.
  virtual void OnLinkClosed(const std::shared_ptr<NodeLink>& link, const absl::Status& why) = 0;
  // The clock of the node.
  virtual MonotonicTime ReadClock() const = 0;
};

// A reference to an object that may be destroyed while others still have the reference. Any thread.
template <class T>
class BackReference {
 public:
  explicit BackReference(T* behind) : behind_(behind) {}

  // Calls `event` with the object, without a lock, unless Close was called.
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
  // Lets no further event begin, and waits until those that run have returned. Must not be called by such an event.
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

// Receives the events of one stream. Once Open was called it lives until OnClosed, even if the NodeCore is gone.
class NodeLink final : public FrameStream::Events, public std::enable_shared_from_this<NodeLink> {
 public:
  using OnOver = std::function<void(const absl::Status& why)>;
  NodeLink(std::shared_ptr<NodeBackReference> back_reference, uint64_t number, StreamIdentity known)
      : number(number), identity(std::move(known)), back_reference_(std::move(back_reference)) {}

  const uint64_t number;
  // The identity of the node at the other end, as far as it is proved. If this node dialled the stream, the address
  // alone proves it.
  const StreamIdentity identity;

  // The core of the peer that the stream belongs to; null while the node at the other end is unknown. Set once, with
  // release, so that an event that loads it with acquire sees stream_of_peer as it was set before.
  std::atomic<PeerCore*> peer{nullptr};
  // The number by which the peer's session knows the stream; 0 if it does not, or not any more. Guarded by the lock of
  // that peer's core.
  uint64_t stream_of_peer = 0;
  // Called when an accepted stream is over (NodeCore::Accept); may be null. Set before the first event; the last event
  // takes it.
  OnOver on_over;

  // Sets or, with null, drops the stream. Called by the thread that works on the core's streams.
  void SetStream(std::shared_ptr<FrameStream> stream) {
    absl::MutexLock lock(&turns_mu_);
    stream_.swap(stream);
  }
  std::shared_ptr<FrameStream> stream() {
    absl::MutexLock lock(&turns_mu_);
    return stream_;
  }
  // The process at the other end of the stream, if it is known.
  void SetProcess(std::shared_ptr<const PeerProcess> process) {
    absl::MutexLock lock(&turns_mu_);
    process_ = std::move(process);
  }
  std::shared_ptr<const PeerProcess> process() {
    absl::MutexLock lock(&turns_mu_);
    return process_;
  }
  // Writes a frame of the session, or lets it follow the write that is under way.
  void Write(std::string frame, MonotonicTime now);
  // From now on writes `heartbeat` whenever nothing was written for `interval`, on the
  // thread of `at`, which is NodeCoreOptions::beat_at. No heartbeat begins after EndBeats.
  using CallAt = std::function<void(MonotonicTime time, absl::AnyInvocable<void()> callback)>;
  void BeginBeats(std::string heartbeat, absl::Duration interval, MonotonicTime now, const CallAt& at);
  void EndBeats();

  // Call before the stream can have events: the link keeps itself alive until OnClosed.
  void Open() { self_ = shared_from_this(); }

  void OnFrame(std::string frame) override;
  void OnWritten() override;
  void OnClosed(absl::Status why) override;

 private:
  // A write completed: begins the next one, if any. Returns whether what was written was a frame of the session.
  bool CompleteWrite(MonotonicTime now);
  // Writes a heartbeat if one is due. Returns when to call Beat again; InfiniteFuture: never.
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
  // Drops all streams. No event of any stream reaches the owner after CloseAll has returned.
  void CloseAll();

 private:
  NodeLinkOwner* const owner_;
  absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t last_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<uint64_t, std::shared_ptr<NodeLink>> links_ ABSL_GUARDED_BY(mu_);
  // The back-references of all links that may still have an event, including links that were removed.
  std::vector<std::shared_ptr<NodeBackReference>> back_references_ ABSL_GUARDED_BY(mu_);
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CORE_NODE_LINK_H_
