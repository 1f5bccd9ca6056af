#include "understudy/actors/fault_point.h"

#include <atomic>

#include "absl/strings/string_view.h"
#include "understudy/actors/check.h"

namespace understudy {

FaultPoint* FaultPoint::head_ = nullptr;

FaultPoint::FaultPoint(absl::string_view name) : name_(name), next_(head_) { head_ = this; }

FaultPoint::Scope::Scope(absl::string_view name) : point_(head_) {
  while (point_ != nullptr && point_->name_ != name) point_ = point_->next_;
  UNDERSTUDY_CHECK(point_ != nullptr, "no fault point is called ", name);
  point_->armed_.store(true, std::memory_order_relaxed);
}

FaultPoint::Scope::~Scope() { point_->armed_.store(false, std::memory_order_relaxed); }

}  // namespace understudy
