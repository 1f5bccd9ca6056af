// ChildStart: how to make a worker, kept with its ChildSpec. Immutable.
#ifndef UNDERSTUDY_SUPERVISION_CHILD_START_H_
#define UNDERSTUDY_SUPERVISION_CHILD_START_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "understudy/actors/actor.h"

namespace understudy {

class ChildStart {
 public:
  using MakeActor = std::function<std::unique_ptr<Actor>()>;

  // `make` is called in each new child's turn. `label` is for people.
  ChildStart(MakeActor make, std::string label) : make_(std::move(make)), label_(std::move(label)) {}

  const MakeActor& make() const { return make_; }
  const std::string& label() const { return label_; }

 private:
  const MakeActor make_;
  const std::string label_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_CHILD_START_H_
