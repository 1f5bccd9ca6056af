#include "understudy/actors/internal/turn/exits.h"

#include <memory>
#include <utility>

#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"

namespace understudy::internal {

void Exits::Trap(Handler handler, Handler parents_handler) {
  traps_ = true;
  handler_ = std::move(handler);
  parents_handler_ = std::move(parents_handler);
}

Exits::Effect Exits::EffectOf(const ExitReason& reason, bool is_own) const {
  if (traps_) return Effect::kIsEvent;
  // An exit with reason Normal ends an actor only if the actor sent it to itself.
  return reason.is_normal() && !is_own ? Effect::kNothing : Effect::kEndsActor;
}

const Exits::Handler& Exits::HandlerOf(Event::Kind kind) const {
  if (kind == Event::Kind::kStopRequest) return stop_handler_;
  return kind == Event::Kind::kParentExit ? parents_handler_ : handler_;
}

void Exits::AddCrash(std::shared_ptr<const CrashReport> crash) {
  has_crashed_ = true;
  reason_ = reason_->WithCrash(std::move(crash));
}

void Exits::DropHandlers() {
  handler_ = nullptr;
  parents_handler_ = nullptr;
  stop_handler_ = nullptr;
}

}  // namespace understudy::internal
