// RemoteChildren: a supervisor's children on other nodes, by their lives. Such a child has two pids: the pid of its
// proxy, an actor of this node that the supervisor has spawned, and its own pid, which is known once it has started.
//
// Owner only; a RemoteLife is written in the turns of its proxy.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_REMOTE_CHILDREN_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_REMOTE_CHILDREN_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "understudy/actors/pid.h"
#include "understudy/supervision/internal/restart_plan.h"

namespace understudy::internal {

// The data of one life that a supervisor and the proxy of a child on another node share. The proxy writes `child`
// before the outcome of its start is told, and `left` before it ends.
struct RemoteLife {
  Pid child;                         // the child's own pid
  std::shared_ptr<const void> left;  // see NodeChild::left
};

class RemoteChildren {
 public:
  using LifeId = RestartPlan::LifeId;

  // Makes the RemoteLife for the next life of the child `id`, with the `left` of the child's last life.
  std::shared_ptr<RemoteLife> NewLife(const std::string& id) {
    auto life = std::make_shared<RemoteLife>();
    if (auto left = left_.extract(id); !left.empty()) life->left = std::move(left.mapped());
    return life;
  }
  // Call when the proxy of that life was spawned.
  void Spawned(LifeId life, Pid proxy, std::shared_ptr<RemoteLife> shared) {
    lives_[life] = {proxy, std::move(shared)};
    proxies_[proxy] = life;
  }
  // Call when the proxy of that life, a life of the child `id`, has ended. Ignored for a life that is not here.
  void Ended(LifeId life, const std::string& id) {
    auto found = lives_.extract(life);
    if (found.empty()) return;
    if (found.mapped().shared->left != nullptr) left_[id] = std::move(found.mapped().shared->left);
    proxies_.erase(found.mapped().proxy);
  }
  // Call when no further life of the child `id` will follow. Drops the `left` of its last life.
  void Forget(const std::string& id) { left_.erase(id); }

  // Null for a life that is not here.
  Pid ProxyOf(LifeId life) const {
    const auto found = lives_.find(life);
    return found == lives_.end() ? Pid() : found->second.proxy;
  }
  // The child's own pid; null until it is known, and for a life that is not here.
  Pid ChildOf(LifeId life) const {
    const auto found = lives_.find(life);
    return found == lives_.end() ? Pid() : found->second.shared->child;
  }
  // Returns 0 if `proxy` is not the pid of a proxy.
  LifeId LifeOf(Pid proxy) const {
    const auto found = proxies_.find(proxy);
    return found == proxies_.end() ? 0 : found->second;
  }

 private:
  struct Life {
    Pid proxy;
    std::shared_ptr<RemoteLife> shared;
  };
  std::map<LifeId, Life> lives_;
  std::map<Pid, LifeId> proxies_;
  std::map<std::string, std::shared_ptr<const void>> left_;  // by the child's id
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_REMOTE_CHILDREN_H_
