// NodeLink: its events, and the turns of session and heart. Heartbeats need no lock
// that a sender or a delivery can hold.
#include "understudy/transport/core/node_link.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/clock.h"
#include "understudy/transport/codec/frame_memory.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"
#include "understudy/transport/session/write_turns.h"

namespace understudy::internal {

void NodeLink::OnFrame(std::string frame) {
  back_reference_->Enter([&](NodeLinkOwner& owner) { owner.OnLinkFrame(shared_from_this(), frame); });
  KeepMemory(std::move(frame));
}

void NodeLink::OnWritten() {
  back_reference_->Enter([&](NodeLinkOwner& owner) {
    if (CompleteWrite(owner.ReadClock())) owner.OnLinkWritten(shared_from_this());
  });
}

void NodeLink::OnClosed(absl::Status why) {
  const std::shared_ptr<NodeLink> keep = std::move(self_);
  back_reference_->Enter([&](NodeLinkOwner& owner) { owner.OnLinkClosed(keep, why); });
}

void NodeLink::Write(std::string frame, MonotonicTime now) {
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

bool NodeLink::CompleteWrite(MonotonicTime now) {
  std::shared_ptr<FrameStream> stream;
  WriteTurns::Written written;
  {
    absl::MutexLock lock(&turns_mu_);
    stream = stream_;
    written = turns_.OnWritten(now);
  }
  if (written.next.has_value() && stream != nullptr) stream->Write(*std::move(written.next));
  return written.is_frame;
}

void NodeLink::BeginBeats(std::string heartbeat, absl::Duration interval, MonotonicTime now, const CallAt& at) {
  {
    absl::MutexLock lock(&turns_mu_);
    turns_.Begin(std::move(heartbeat), interval, now);
  }
  BeatAt(now + interval, at);
}

void NodeLink::BeatAt(MonotonicTime time, const CallAt& at) {
  // `at` is an option of the NodeCore, so it exists as long as Enter calls its function.
  at(time, [back_reference = back_reference_, weak = weak_from_this(), &at] {
    back_reference->Enter([&](NodeLinkOwner& owner) {
      const std::shared_ptr<NodeLink> beating = weak.lock();
      if (beating == nullptr) return;
      const MonotonicTime again = beating->Beat(owner.ReadClock());
      if (!again.is_infinite()) beating->BeatAt(again, at);
    });
  });
}

void NodeLink::EndBeats() {
  absl::MutexLock lock(&turns_mu_);
  turns_.End();
}

MonotonicTime NodeLink::Beat(MonotonicTime now) {
  std::shared_ptr<FrameStream> stream;
  WriteTurns::Beat beat;
  {
    absl::MutexLock lock(&turns_mu_);
    if (stream_ == nullptr) return MonotonicTime::InfiniteFuture();
    stream = stream_;
    beat = turns_.OnTime(now);
  }
  if (beat.heartbeat.has_value()) stream->Write(*std::move(beat.heartbeat));
  return beat.again;
}

std::shared_ptr<NodeLink> NodeLinks::Add(StreamIdentity identity) {
  absl::MutexLock lock(&mu_);
  // If this list has the only pointer to a back-reference, its link is destroyed, and no event can use it any more.
  std::erase_if(back_references_, [](const std::shared_ptr<NodeBackReference>& back_reference) {
    return back_reference.use_count() == 1;
  });
  auto back_reference = std::make_shared<NodeBackReference>(closed_ ? nullptr : owner_);
  if (!closed_) back_references_.push_back(back_reference);
  auto link = std::make_shared<NodeLink>(std::move(back_reference), ++last_, std::move(identity));
  links_[link->number] = link;
  return link;
}

void NodeLinks::Remove(uint64_t number) {
  std::shared_ptr<NodeLink> removed;  // may be the last reference; destroyed after the lock is released
  absl::MutexLock lock(&mu_);
  const auto link = links_.find(number);
  if (link == links_.end()) return;
  removed = std::move(link->second);
  links_.erase(link);
}

void NodeLinks::CloseAll() {
  std::vector<std::shared_ptr<NodeBackReference>> back_references;
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
    back_references.swap(back_references_);
  }
  for (const std::shared_ptr<NodeBackReference>& back_reference : back_references) back_reference->Close();
  std::map<uint64_t, std::shared_ptr<NodeLink>> links;
  {
    absl::MutexLock lock(&mu_);
    links.swap(links_);
  }
  for (const auto& [number, link] : links) link->SetStream(nullptr);
}

}  // namespace understudy::internal
