#include "understudy/actors/internal/system/lingering_lives.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "understudy/actors/internal/system/system_core.h"

namespace understudy::internal {

void LingeringLives::Hold(Pid life) {
  const absl::MutexLock lock(&mu_);
  ++entries_[life].holds;
}

void LingeringLives::Release(Pid life) {
  SystemCore* system = nullptr;
  std::map<std::pair<Pid, uint64_t>, Signal> downs;
  {
    const absl::MutexLock lock(&mu_);
    const auto found = entries_.find(life);
    if (--found->second.holds > 0) return;
    downs = std::move(found->second.downs);
    entries_.erase(found);
    if (downs.empty() || system_ == nullptr) return;
    system = system_;
    ++posting_;
  }
  for (auto& [watcher, down] : downs) system->Post(std::move(down));
  const absl::MutexLock lock(&mu_);
  --posting_;
}

std::shared_ptr<const void> LingeringLives::Share(const std::shared_ptr<LingeringLives>& lives, Pid life) {
  lives->Hold(life);
  return {lives.get(), [lives, life](const void*) { lives->Release(life); }};
}

bool LingeringLives::Lingers(Pid life) const {
  const absl::MutexLock lock(&mu_);
  return entries_.contains(life);
}

bool LingeringLives::Defer(Signal& down) {
  const absl::MutexLock lock(&mu_);
  const auto found = entries_.find(down.from);
  if (found == entries_.end()) return false;
  found->second.downs.insert_or_assign({down.to, down.id}, std::move(down));
  return true;
}

void LingeringLives::Forget(Pid life, Pid watcher, uint64_t monitor) {
  const absl::MutexLock lock(&mu_);
  if (const auto found = entries_.find(life); found != entries_.end()) found->second.downs.erase({watcher, monitor});
}

void LingeringLives::Close() {
  const absl::MutexLock lock(&mu_);
  system_ = nullptr;
  const auto is_quiet = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return posting_ == 0; };
  mu_.Await(absl::Condition(&is_quiet));
}

}  // namespace understudy::internal
