// ChildStart: the function that makes a child's actor, kept in its ChildSpec. Immutable.
#ifndef UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_START_H_
#define UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_START_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/check.h"
#include "understudy/supervision/child_spec.h"

namespace understudy {

class ChildStart {
 public:
  using MakeActor = std::function<std::unique_ptr<Actor>()>;

  // `make` must not be null. It is called at each start, in the new actor's turn. `label` is shown to people.
  ChildStart(MakeActor make, std::string label, SpawnThread thread = SpawnThread::kShared)
      : make_(std::move(make)), label_(std::move(label)), thread_(thread) {
    UNDERSTUDY_CHECK(make_ != nullptr, "a ChildStart without a function starts nothing: leave ChildSpec::start null");
  }

  // For a class derived from Supervisor, such as a Pool: `make_supervisor` makes a supervisor of the given tree.
  ChildStart(std::function<std::unique_ptr<Actor>(const SupervisorSpec&)> make_supervisor, std::string label)
      : make_supervisor_(std::move(make_supervisor)), label_(std::move(label)) {
    UNDERSTUDY_CHECK(make_supervisor_ != nullptr,
                     "a ChildStart without a function starts nothing: leave ChildSpec::start null");
  }

  const MakeActor& make() const { return make_; }
  // The function to call at a start: make() or, if this ChildStart makes supervisors, that function bound to `tree`.
  MakeActor MakerOf(SupervisorSpec tree) const {
    if (make_supervisor_ == nullptr) return make_;
    return [make = make_supervisor_, tree = std::move(tree)] { return make(tree); };
  }
  const std::string& label() const { return label_; }
  SpawnThread thread() const { return thread_; }

 private:
  const MakeActor make_;
  const std::function<std::unique_ptr<Actor>(const SupervisorSpec&)> make_supervisor_;
  const std::string label_;
  const SpawnThread thread_ = SpawnThread::kShared;
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_INTERNAL_CHILD_START_H_
