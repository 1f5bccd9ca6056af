// FrameStream: a bidirectional stream of frames between two nodes, as the
// transport's core sees it. gRPC implements it, and so does the simulated
// network; a session outlives the streams that carry it.
//
// A frame is raw bytes of at most limits::kFrameBytesMax; frames arrive whole
// and in order, or the stream closes. Threads: Write and Close from any thread,
// one at a time; events come one at a time, on a thread of the transport that
// must not wait. Lifetime: the events object outlives OnClosed, which is the
// last event and comes exactly once, also after Close.
#ifndef UNDERSTUDY_TRANSPORT_SESSION_FRAME_STREAM_H_
#define UNDERSTUDY_TRANSPORT_SESSION_FRAME_STREAM_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {

namespace internal {
class PeerProcess;  // peer_process.h
}  // namespace internal

class FrameStream {
 public:
  class Events {
   public:
    virtual ~Events() = default;
    virtual void OnFrame(std::string frame) = 0;
    // The layer below has taken the frame of the last Write, so the next Write may be
    // called. The peer need not have received the frame.
    virtual void OnWritten() = 0;
    virtual void OnClosed(absl::Status why) = 0;
  };

  virtual ~FrameStream() = default;
  // Requires that OnWritten has come for the last Write.
  virtual void Write(std::string frame) = 0;
  // Ends the stream now. Returns without waiting.
  virtual void Close() = 0;
  // The process at the other end if the kernel tells it; else null.
  virtual std::shared_ptr<const internal::PeerProcess> peer_process() const { return nullptr; }
};

// Opens streams to other nodes. Any thread.
class Dialer {
 public:
  virtual ~Dialer() = default;
  // Begins a stream to `node` at `address`. A failure is reported by OnClosed, and so is
  // the answer of another node than `node`, if the transport can tell. `events` must
  // live until OnClosed.
  virtual std::unique_ptr<FrameStream> Dial(absl::string_view node, absl::string_view address,
                                            FrameStream::Events* events) = 0;
  // Returns what a stream dialled to `node` at `address` proves of its other end, once a
  // frame has arrived from there.
  virtual StreamIdentity IdentityAt(absl::string_view node, absl::string_view address) const = 0;
};

// Called for each stream that another node opens, with what is known of that node.
// Returns the object that is to receive the stream's events; null: the stream is not
// accepted. Any thread.
using AcceptStream =
    std::function<FrameStream::Events*(std::unique_ptr<FrameStream> stream, const StreamIdentity& identity)>;

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_FRAME_STREAM_H_
