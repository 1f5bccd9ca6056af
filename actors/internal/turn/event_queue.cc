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
  struct Newest {
    iterator place;
    bool is_second = false;  // an older one waits too, earlier in the queue
  };
  absl::flat_hash_map<std::pair<Event::Kind, uint64_t>, Newest> places;
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
  const auto [found, is_new] = by_source_->places.try_emplace({event.kind, event.id});
  BySource::Newest& newest = found->second;
  // The older one keeps its place: what was sent after it comes after it.
  if (newest.is_second) events_.erase(newest.place);
  newest.place = events_.insert(events_.end(), std::move(event));
  newest.is_second = !is_new;
  return true;
}

Event EventQueue::Take(iterator place) {
  Event event = std::move(*place);
  if (IsBySource(event)) {
    const auto found = by_source_->places.find({event.kind, event.id});
    if (found->second.place != place) {
      found->second.is_second = false;  // this was the older one
    } else {
      by_source_->places.erase(found);
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

void EventQueue::RemoveDown(uint64_t monitor) {
  if (by_source_ == nullptr) return;
  const auto down = by_source_->places.find({Event::Kind::kDown, monitor});
  if (down == by_source_->places.end()) return;
  events_.erase(down->second.place);
  by_source_->places.erase(down);
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
