// NodeSpawner: the Spawner that a node installs in its actor system.
//
// Any thread.
#ifndef UNDERSTUDY_TRANSPORT_CHILDREN_NODE_SPAWNER_H_
#define UNDERSTUDY_TRANSPORT_CHILDREN_NODE_SPAWNER_H_

#include <functional>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/spawner.h"

namespace understudy::internal {

class NodeSpawner final : public Spawner {
 public:
  using MakeActor = std::function<std::unique_ptr<Actor>()>;
  using ForProcesses = std::function<absl::StatusOr<MakeActor>(const ProcessChild&)>;

  // `processes` is null if this node starts no process children. `grants` returns whether
  // the given actor of another node may start actors on this node.
  NodeSpawner(ForProcesses processes, std::function<bool(Pid)> grants)
      : processes_(std::move(processes)), grants_(std::move(grants)) {}

  absl::StatusOr<MakeActor> ForProcess(const ProcessChild& child) override;
  absl::StatusOr<MakeActor> ForNode(const NodeChild& child) override;
  bool Grants(Pid asker) override { return grants_(asker); }

 private:
  const ForProcesses processes_;
  const std::function<bool(Pid)> grants_;
};

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_CHILDREN_NODE_SPAWNER_H_
