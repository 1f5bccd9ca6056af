#include "understudy/supervision/supervision_watch.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace understudy {
namespace {

struct Watches {
  std::atomic<int> count{0};  // so that a process without watches takes no lock
  absl::Mutex mu;
  std::vector<const SupervisionWatch*> all ABSL_GUARDED_BY(mu);
};

Watches& AllWatches() {
  static auto* const watches = new Watches;
  return *watches;
}

}  // namespace

SupervisionWatch::SupervisionWatch(uint16_t node, Listener listener) : node_(node), listener_(std::move(listener)) {
  Watches& watches = AllWatches();
  absl::MutexLock lock(&watches.mu);
  watches.all.push_back(this);
  watches.count.fetch_add(1, std::memory_order_relaxed);
}

SupervisionWatch::~SupervisionWatch() {
  Watches& watches = AllWatches();
  absl::MutexLock lock(&watches.mu);
  watches.all.erase(std::find(watches.all.begin(), watches.all.end(), this));
  watches.count.fetch_sub(1, std::memory_order_relaxed);
}

bool SupervisionWatch::IsWatched(uint16_t node) {
  Watches& watches = AllWatches();
  // relaxed: a thread that makes a watch and then a supervisor orders the two; other readers may see an old count.
  if (watches.count.load(std::memory_order_relaxed) == 0) return false;
  absl::ReaderMutexLock lock(&watches.mu);
  return std::any_of(watches.all.begin(), watches.all.end(),
                     [&](const SupervisionWatch* watch) { return watch->node_ == node; });
}

void SupervisionWatch::Tell(const SupervisionEvent& event) {
  Watches& watches = AllWatches();
  if (watches.count.load(std::memory_order_relaxed) == 0) return;
  absl::ReaderMutexLock lock(&watches.mu);
  for (const SupervisionWatch* watch : watches.all) {
    if (watch->node_ == event.supervisor.node()) watch->listener_(event);
  }
}

}  // namespace understudy
