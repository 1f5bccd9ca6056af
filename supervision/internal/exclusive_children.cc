#include "understudy/supervision/internal/exclusive_children.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/exclusive_lives.h"
#include "understudy/supervision/internal/member_ids.h"
#include "understudy/supervision/internal/predecessor_watch.h"

namespace understudy::internal {

void ExclusiveChildren::Begin(Pid self, bool has_made_up_ids) {
  self_ = self;
  has_made_up_ids_ = has_made_up_ids;
  if (lives_ == nullptr) lives_ = std::make_shared<ExclusiveLives>();
}

std::string ExclusiveChildren::KeyOf(const std::string& child) const {
  return has_made_up_ids_ && IsMadeUpId(child) ? absl::StrCat(child, " of ", self_.ToString()) : child;
}

void ExclusiveChildren::Began(const ChildSpec& child, Pid life, IsGone is_gone) {
  if (life.is_null() || !IsBelowExclusive(child)) return;
  const auto why = child.exclusive ? ExclusiveLives::Why::kIsExclusive : ExclusiveLives::Why::kIsBelowExclusive;
  lives_->Add(KeyOf(child.id), life, why, is_gone);
}

bool ExclusiveChildren::Lingers(const ChildSpec& child, IsGone is_gone) const {
  return child.exclusive && !lives_->FirstNotGone(KeyOf(child.id), is_gone).is_null();
}

void ExclusiveChildren::Look(IsGone is_gone, absl::FunctionRef<void(const Predecessor&)> gone,
                             absl::FunctionRef<uint64_t(Pid left)> monitor) {
  for (Predecessor& predecessor : predecessors_.TakeDue()) {
    if (const Pid left = lives_->FirstNotGone(predecessor.key, is_gone); !left.is_null()) {
      const uint64_t id = monitor(left);
      predecessors_.Await(std::move(predecessor), id);
    } else {
      gone(predecessor);
    }
  }
}

}  // namespace understudy::internal
