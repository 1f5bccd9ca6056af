#include "understudy/actors/internal/turn/behavior_stack.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

absl::Status BehaviorStack::Push(BehaviorPtr next, const BehaviorPtr& current) {
  const BehaviorPtr& top = next_ != nullptr ? next_ : current;
  if (top == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("BecomeStacked(", next->name(), "): the actor has no behavior yet for it to lie on"));
  }
  if (below_.size() >= limits::kBehaviorsStackedMax) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat("BecomeStacked(", next->name(), "): ", limits::kBehaviorsStackedMax,
                                  " behaviors lie below ", top->name(), " already, the most there may be"));
  }
  below_.push_back(top);
  next_ = std::move(next);
  return absl::OkStatus();
}

absl::Status BehaviorStack::Pop() {
  if (below_.empty()) {
    return absl::FailedPreconditionError(
        "Unbecome: no behavior lies below the present one; BecomeStacked puts one there");
  }
  next_ = std::move(below_.back());
  below_.pop_back();
  return absl::OkStatus();
}

void BehaviorStack::Clear() {
  next_ = nullptr;
  below_.clear();
}

}  // namespace understudy::internal
