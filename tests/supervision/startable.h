// Startable: gives each worker of a tree the factory that a test of other rules leaves out, so that the tree can start.
#ifndef UNDERSTUDY_TESTS_SUPERVISION_STARTABLE_H_
#define UNDERSTUDY_TESTS_SUPERVISION_STARTABLE_H_

#include <memory>
#include <utility>

#include "understudy/supervision/child_spec.h"

namespace understudy {

// Returns the child or tree with a factory for each worker, so that a supervisor can start it.
inline ChildSpec Startable(ChildSpec child);
inline SupervisorSpec Startable(SupervisorSpec tree) {
  for (ChildSpec& child : tree.children) child = Startable(std::move(child));
  return tree;
}
inline ChildSpec Startable(ChildSpec child) {
  if (child.kind == ChildKind::kWorker && !child.factory.has_value() && !child.placement.has_value()) {
    child.factory.emplace().name = "worker";
  }
  if (child.subtree != nullptr) child.subtree = Subtree(Startable(*child.subtree));
  return child;
}

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_SUPERVISION_STARTABLE_H_
