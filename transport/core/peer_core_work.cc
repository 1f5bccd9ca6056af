// PeerCore: the work on streams and in the system that a change of its state
// leaves to be done without its lock.
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/core/node_core_options.h"
#include "understudy/transport/core/node_link.h"
#include "understudy/transport/core/node_parts.h"
#include "understudy/transport/core/peer_core.h"
#include "understudy/transport/session/frame_stream.h"

namespace understudy::internal {

PeerCore::Rest PeerCore::TakeRest(Change change) {
  Rest rest;
  if (!stream_work_.empty() && !working_on_streams_) {
    working_on_streams_ = true;
    rest.stream_work.swap(stream_work_);
  }
  if (!deliveries_.empty() && !delivering_) {
    if (change != Change::kCall) {
      delivering_ = true;
      rest.deliveries.swap(deliveries_);
    } else {
      SetDueAt(Now());
    }
  }
  rest.wake = std::exchange(wake_, MonotonicTime::InfiniteFuture());
  rest.tells_names = std::exchange(tells_names_, false);
  // The peer keeps the core while deliveries are pending; the thread that makes them calls TakeRest again.
  if (may_be_idle_ && !delivering_ && deliveries_.empty()) {
    may_be_idle_ = false;
    rest.is_idle = IsIdle();
  }
  return rest;
}

void PeerCore::Do(Rest rest, Change change) {
  while (true) {
    if (!rest.wake.is_infinite()) parts_.owner->WakeAt(rest.wake);
    if (rest.is_idle) parts_.owner->OnIdle(*this);
    const bool works = !rest.stream_work.empty();
    const bool tells_names = std::exchange(rest.tells_names, false);
    if (!works && rest.deliveries.empty()) {
      if (tells_names) parts_.owner->TellNames();
      return;
    }
    if (works) {
      // Streams come before deliveries, so that a slow delivery does not delay a write.
      for (StreamWork& work : std::exchange(rest.stream_work, {})) Work(work);
    } else {
      for (Delivery& delivery : std::exchange(rest.deliveries, {})) {
        std::visit([this](auto&& what) { this->Perform(std::forward<decltype(what)>(what)); }, std::move(delivery));
      }
    }
    // Other peers are told after the work for this peer.
    if (tells_names) parts_.owner->TellNames();
    const Locked lock(*this);
    if (works) {
      working_on_streams_ = false;
      Rest more = TakeRest(change);
      // If this thread is the one that delivers, TakeRest returned no deliveries, and those not yet made are in `rest`.
      if (more.deliveries.empty()) more.deliveries.swap(rest.deliveries);
      rest = std::move(more);
    } else {
      delivering_ = false;
      // Deliveries that came during this visit are left to the next visit, behind other peers, or to the next event.
      if (change == Change::kTick) change = Change::kCall;
      rest = TakeRest(change);
    }
  }
}

void PeerCore::Work(StreamWork& work) {
  NodeLink& link = *work.link;
  switch (work.kind) {
    case StreamWork::Kind::kDial:
      link.Open();
      link.SetStream(options_.dialer->Dial(work.node, work.text, &link));
      if (auto process = link.stream()->peer_process(); process != nullptr) link.SetProcess(std::move(process));
      break;
    case StreamWork::Kind::kWrite:
      link.Write(std::move(work.text), options_.clock->Now());
      break;
    case StreamWork::Kind::kBeat:
      link.BeginBeats(std::move(work.text), work.interval, options_.clock->Now(),
                      options_.beat_at != nullptr ? options_.beat_at : options_.run_at);
      break;
    case StreamWork::Kind::kClose:
      if (const auto stream = link.stream(); stream != nullptr) stream->Close();
      break;
    case StreamWork::Kind::kDestroy:
      link.SetStream(nullptr);
      break;
  }
}

}  // namespace understudy::internal
