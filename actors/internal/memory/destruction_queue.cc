#include "understudy/actors/internal/memory/destruction_queue.h"

#include <utility>

#include "understudy/actors/dead_letters.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/current_turn.h"

namespace understudy::internal {

// Not in an unnamed namespace: gold, which links GCC's shared libraries, writes a wrong relocation for a local variable
// of this model.
extern constinit thread_local DestructionQueue* gathering __attribute__((tls_model("initial-exec")));
constinit thread_local DestructionQueue* gathering = nullptr;

DestructionQueue::Scope::Scope(DestructionQueue& remains) : outer_(std::exchange(gathering, &remains)) {}
DestructionQueue::Scope::~Scope() { gathering = outer_; }

DestructionQueue* DestructionQueue::Gathering() {
  if (gathering != nullptr) return gathering;
  CurrentTurn& turn = ThisTurn();
  const Worker* const worker = ThisWorker();
  if (turn.cell == nullptr || worker == nullptr || !worker->lock.IsHeldByOwner()) return nullptr;
  turn.cell->owner()->HasDeferred();
  return &turn.remains;
}

void DestructionQueue::Add(Envelope* envelope) {
  if (newest_ == nullptr) {
    envelope->next = envelope;
  } else {
    envelope->next = newest_->next;
    newest_->next = envelope;
  }
  newest_ = envelope;
}

void DestructionQueue::End(SystemCore& system) {
  while (newest_ != nullptr) {
    Envelope* const oldest = newest_->next;
    oldest == newest_ ? newest_ = nullptr : newest_->next = oldest->next;
    if (oldest->kind == EnvelopeKind::kDeadLetter) {
      system.dead_letters().Publish(*static_cast<const DeadLetter*>(oldest->value()));
    }
    Envelope::Delete(oldest);
  }
}

void DestroyValueLater(Envelope* envelope) {
  const bool runs_users_code = envelope->has(Envelope::kHasValue) && envelope->type->destroy != nullptr;
  DestructionQueue* const remains = runs_users_code ? DestructionQueue::Gathering() : nullptr;
  remains == nullptr ? Envelope::Delete(envelope) : remains->Add(envelope);
}

}  // namespace understudy::internal
