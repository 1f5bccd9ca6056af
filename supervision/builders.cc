#include "understudy/supervision/builders.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/check.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/supervision/pool.h"

namespace understudy {

ChildBuilder& ChildBuilder::NodeNamed(std::string name) {
  if (!spec_.process.has_value()) spec_.process.emplace();  // so that ValidateSpec reports a child that is no process
  spec_.process->node_name = std::move(name);
  return *this;
}

ChildBuilder& ChildBuilder::Environment(std::string variable, std::string value) {
  if (!spec_.process.has_value()) spec_.process.emplace();
  spec_.process->environment.emplace_back(std::move(variable), std::move(value));
  return *this;
}

ChildBuilder& ChildBuilder::MemoryLimit(int64_t bytes) {
  if (!spec_.process.has_value()) spec_.process.emplace();
  spec_.process->limits.memory_bytes = bytes;
  return *this;
}

ChildBuilder& ChildBuilder::OpenFilesLimit(int64_t files) {
  if (!spec_.process.has_value()) spec_.process.emplace();
  spec_.process->limits.open_files = files;
  return *this;
}

ChildBuilder& ChildBuilder::SilentWithin(absl::Duration time) {
  if (!spec_.process.has_value()) spec_.process.emplace();
  spec_.process->silent_within = time;
  return *this;
}

ChildBuilder& ChildBuilder::ConnectWithin(absl::Duration time) {
  if (!spec_.placement.has_value()) spec_.placement.emplace();  // so that ValidateSpec reports a child without nodes
  spec_.placement->connect_within = time;
  return *this;
}

namespace internal {

ChildBuilder WorkerOf(ChildStart::MakeActor make, const SpawnOptions& options) {
  UNDERSTUDY_CHECK(
      options.link == SpawnLink::kLinked && options.outcome_handler == nullptr && options.down_handler == nullptr &&
          options.unhandled_mail == nullptr,
      "an ActorSpec that is a child has no link, handlers or unhandled mail of its own: these are its supervisor's");
  ChildSpec spec;
  spec.registered_as = options.registered_as;
  spec.published_as = options.published_as;
  spec.start_within = options.start_within;
  if (options.shutdown_within != SpawnOptions().shutdown_within) {
    spec.shutdown = ChildShutdown::Within(options.shutdown_within);
  }
  if (make != nullptr) {  // if it is null, ValidateSpec reports that the child has no start
    spec.start = std::make_shared<const ChildStart>(std::move(make), options.label, options.thread);
  }
  return ChildBuilder(std::move(spec));
}

ChildBuilder SupervisorOf(SupervisorSpec tree) {
  ChildSpec spec;
  spec.kind = ChildKind::kSupervisor;
  spec.subtree = Subtree(std::move(tree));
  return ChildBuilder(std::move(spec));
}

ChildBuilder ProcessOf(std::string binary, std::vector<std::string> arguments) {
  ChildSpec spec;
  spec.kind = ChildKind::kProcess;
  spec.process = ProcessSpec{.binary = std::move(binary), .arguments = std::move(arguments)};
  return ChildBuilder(std::move(spec));
}

ChildBuilder RemoteOf(NodePlacement placement, FactoryCall factory) {
  ChildSpec spec;
  spec.placement = std::move(placement);
  spec.factory = std::move(factory);
  return ChildBuilder(std::move(spec));
}

ChildBuilder PoolOf(ChildStart make, const PoolOptions& options) {
  ChildSpec spec;
  spec.kind = ChildKind::kSupervisor;
  spec.subtree = Subtree(PoolTree(options));
  spec.start = std::make_shared<const ChildStart>(std::move(make));
  return ChildBuilder(std::move(spec));
}

}  // namespace internal
}  // namespace understudy
