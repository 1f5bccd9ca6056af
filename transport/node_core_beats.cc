// NodeCore: heartbeats. None of it needs the core's lock, so that the heart never
// waits for a sender or a delivery.
#include <memory>
#include <string>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/frame_stream.h"
#include "understudy/transport/node_core.h"
#include "understudy/transport/node_core_state.h"
#include "understudy/transport/write_turns.h"

namespace understudy {

void NodeCore::BeatAt(MonotonicTime time, const std::shared_ptr<Link>& link) {
  const auto& at = options_.beat_at != nullptr ? options_.beat_at : options_.run_at;
  at(time, [door = door_, weak = std::weak_ptr<Link>(link)] {
    door->Enter([&weak](NodeCore& core) {
      const std::shared_ptr<Link> beating = weak.lock();
      if (beating == nullptr) return;
      const MonotonicTime again = beating->Beat(core.options_.clock->Now());
      if (!again.is_infinite()) core.BeatAt(again, beating);
    });
  });
}

void NodeCore::EndBeats(Peer& peer) {
  if (const std::shared_ptr<Link> beating = std::exchange(peer.beating, nullptr)) beating->EndBeats();
}

void NodeCore::Link::Write(std::string frame, MonotonicTime now) {
  std::shared_ptr<FrameStream> stream;
  absl::optional<std::string> write;
  {
    absl::MutexLock lock(&turns_mu_);
    if (stream_ == nullptr) return;
    stream = stream_;
    write = turns_.Write(std::move(frame), now);
  }
  if (write.has_value()) stream->Write(*std::move(write));
}

bool NodeCore::Link::CompleteWrite(MonotonicTime now) {
  std::shared_ptr<FrameStream> stream;
  internal::WriteTurns::Written written;
  {
    absl::MutexLock lock(&turns_mu_);
    stream = stream_;
    written = turns_.OnWritten(now);
  }
  if (written.next.has_value() && stream != nullptr) stream->Write(*std::move(written.next));
  return written.is_frame;
}

MonotonicTime NodeCore::Link::BeginBeats(std::string heartbeat, absl::Duration interval, MonotonicTime now) {
  absl::MutexLock lock(&turns_mu_);
  turns_.Begin(std::move(heartbeat), interval, now);
  return now + interval;
}

void NodeCore::Link::EndBeats() {
  absl::MutexLock lock(&turns_mu_);
  turns_.End();
}

MonotonicTime NodeCore::Link::Beat(MonotonicTime now) {
  std::shared_ptr<FrameStream> stream;
  internal::WriteTurns::Beat beat;
  {
    absl::MutexLock lock(&turns_mu_);
    if (stream_ == nullptr) return MonotonicTime::InfiniteFuture();
    stream = stream_;
    beat = turns_.OnTime(now);
  }
  if (beat.heartbeat.has_value()) stream->Write(*std::move(beat.heartbeat));
  return beat.again;
}

}  // namespace understudy
