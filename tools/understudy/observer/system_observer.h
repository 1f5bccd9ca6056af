// SystemObserver: lets a program offer the observer page for its own system, as the examples do with --observe: it
// starts the operator's service (Ops) on a socket of its own and an Observer on it.
//
//   absl::StatusOr<std::unique_ptr<SystemObserver>> observer = SystemObserver::Start(system, node.get());
//   std::cout << "observe: " << (*observer)->PrintedAddress() << "\n";
//
// For programs that a person runs on their own machine; a service offers Ops, and its operator runs `understudy
// observe`. Threads: any. Lifetime: must be destroyed before the node and before the system.
#ifndef UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_SYSTEM_OBSERVER_H_
#define UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_SYSTEM_OBSERVER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/tools/understudy/observer/observer.h"
#include "understudy/transport/node.h"
#include "understudy/transport/ops/ops.h"

namespace understudy::tool {

class SystemObserver {
 public:
  // `node` may be null. All actions are allowed. The socket lies in `folder`, into which no other user may write.
  // If `folder` is empty, a new one is made in the folder of temporary files. Errors: the errors of Ops::Start and
  // Observer::Start; Unavailable if no folder can be made.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<SystemObserver>> Start(ActorSystem& system, Node* node,
                                                                             const std::string& folder = "");

  // Removes the socket, and the folder if it was made.
  ~SystemObserver();
  SystemObserver(const SystemObserver&) = delete;
  SystemObserver& operator=(const SystemObserver&) = delete;

  std::string PrintedAddress() const { return observer_->PrintedAddress(); }

 private:
  explicit SystemObserver(std::string made_folder) : made_folder_(std::move(made_folder)) {}

  const std::string made_folder_;  // empty if none was made
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<Observer> observer_;
};

}  // namespace understudy::tool

#endif  // UNDERSTUDY_TOOLS_UNDERSTUDY_OBSERVER_SYSTEM_OBSERVER_H_
