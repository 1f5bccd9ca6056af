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
    // The last Write is buffered below; the next may be given. It does not
    // mean that the peer has it.
    virtual void OnWritten() = 0;
    virtual void OnClosed(absl::Status why) = 0;
  };

  virtual ~FrameStream() = default;
  // At most one write is under way: the next only after OnWritten.
  virtual void Write(std::string frame) = 0;
  // Ends the stream now. Returns without waiting.
  virtual void Close() = 0;
  // The process at the other end, where the kernel tells; else null.
  virtual std::shared_ptr<const internal::PeerProcess> peer_process() const { return nullptr; }
};

// Opens streams to other nodes. Any thread.
class Dialer {
 public:
  virtual ~Dialer() = default;
  // Begins a stream to the node of that name at `address`. Failure shows as
  // OnClosed, and so does another node there than `node`, where the transport can
  // tell. `events` must live until OnClosed.
  virtual std::unique_ptr<FrameStream> Dial(absl::string_view node, absl::string_view address,
                                            FrameStream::Events* events) = 0;
  // What is proved of the other end of a stream dialled so, once a frame has
  // come from it.
  virtual StreamIdentity IdentityAt(absl::string_view node, absl::string_view address) const = 0;
};

// Told of each stream that another node opens, and of what is known of that
// node; gives the object that hears the stream's events. Any thread.
using AcceptStream =
    std::function<FrameStream::Events*(std::unique_ptr<FrameStream> stream, const StreamIdentity& identity)>;

}  // namespace understudy

#endif  // UNDERSTUDY_TRANSPORT_SESSION_FRAME_STREAM_H_
