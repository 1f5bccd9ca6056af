#include "understudy/actors/internal/turn/event_queue.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "understudy/actors/events.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {
namespace {

bool IsBySource(const Event& event) { return event.kind == Event::Kind::kDown || event.kind == Event::Kind::kName; }

}  // namespace

struct EventQueue::BySource {
  // The same if one event of the source waits. More than two never do.
  struct Waiting {
    iterator oldest;
    iterator newest;
  };
  absl::flat_hash_map<std::pair<Event::Kind, uint64_t>, Waiting> sources;
};

EventQueue::EventQueue() = default;
EventQueue::~EventQueue() = default;
EventQueue::EventQueue(EventQueue&& other) noexcept = default;
EventQueue& EventQueue::operator=(EventQueue&& other) noexcept = default;

EventQueue::Sent& EventQueue::SentLike(const Event& event) {
  if (event.kind == Event::Kind::kStopRequest) return stop_requests_;
  return event.kind == Event::Kind::kParentExit ? parents_exits_ : exits_;
}

bool EventQueue::Add(Event event) {
  if (event.is_sent) {
    Sent& sent = SentLike(event);
    if (sent.waiting >= limits::kExitsWaitingPerActorMax) {
      ++sent.merged;
      return false;
    }
    ++sent.waiting;
  }
  if (!IsBySource(event)) {
    events_.push_back(std::move(event));
    return true;
  }
  if (by_source_ == nullptr) by_source_ = std::make_unique<BySource>();
  const auto [found, is_first] = by_source_->sources.try_emplace({event.kind, event.id});
  BySource::Waiting& waiting = found->second;
  // The oldest keeps its place: what was sent after it comes after it.
  if (!is_first && waiting.newest != waiting.oldest) events_.erase(waiting.newest);
  waiting.newest = events_.insert(events_.end(), std::move(event));
  if (is_first) waiting.oldest = waiting.newest;
  return true;
}

Event EventQueue::Take(iterator place) {
  Event event = std::move(*place);
  if (IsBySource(event)) {
    const auto found = by_source_->sources.find({event.kind, event.id});
    BySource::Waiting& waiting = found->second;
    if (waiting.oldest == waiting.newest) {
      by_source_->sources.erase(found);
    } else if (place == waiting.oldest) {
      waiting.oldest = waiting.newest;
    } else {
      waiting.newest = waiting.oldest;
    }
  }
  events_.erase(place);
  if (!event.is_sent) return event;
  Sent& sent = SentLike(event);
  if (--sent.waiting > 0) return event;
  const bool is_stop = event.kind == Event::Kind::kStopRequest;
  int64_t& merged = is_stop ? event.payload.As<StopRequest>().merged : event.payload.As<ExitEvent>().merged;
  merged = std::exchange(sent.merged, 0);
  return event;
}

bool EventQueue::RemoveExitsOfLink(Pid peer) {
  bool removes_parents = false;
  bool keeps_parents = false;
  events_.remove_if([&](const Event& event) {
    const bool is_parents = event.kind == Event::Kind::kParentExit;
    if (!is_parents && event.kind != Event::Kind::kExit) return false;
    const bool is_of_link = event.peer == peer && !event.is_sent && !event.is_tied_exit;
    (is_of_link ? removes_parents : keeps_parents) |= is_parents;
    return is_of_link;
  });
  return removes_parents && !keeps_parents;
}

void EventQueue::Remove(Event::Kind kind, uint64_t id) {
  if (by_source_ == nullptr) return;
  const auto found = by_source_->sources.find({kind, id});
  if (found == by_source_->sources.end()) return;
  const BySource::Waiting waiting = found->second;
  by_source_->sources.erase(found);
  if (waiting.oldest != waiting.newest) events_.erase(waiting.oldest);
  events_.erase(waiting.newest);
}

bool EventQueue::RemoveNamedTimer(uint64_t id) {
  const auto place = std::find_if(events_.begin(), events_.end(), [id](const Event& event) {
    return event.kind == Event::Kind::kTimer && event.id == id;
  });
  if (place == events_.end()) return false;
  events_.erase(place);
  return true;
}

void EventQueue::RemoveBehaviorTimers() {
  events_.remove_if([](const Event& event) { return event.epoch != 0; });
}

bool EventQueue::HasBehaviorTimer(uint64_t epoch, const std::shared_ptr<MessageHandler>& handler) const {
  return std::any_of(events_.begin(), events_.end(),
                     [&](const Event& event) { return event.epoch == epoch && event.handler == handler; });
}

}  // namespace understudy::internal
