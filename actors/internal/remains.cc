#include "understudy/actors/internal/remains.h"

#include <utility>

#include "understudy/actors/dead_letters.h"
#include "understudy/actors/internal/system_core.h"
#include "understudy/actors/internal/worker.h"

namespace understudy::internal {

// Not in an unnamed namespace: gold, which links GCC's shared libraries, writes a wrong relocation for a local variable
// of this model.
extern constinit thread_local Remains* gathering __attribute__((tls_model("initial-exec")));
constinit thread_local Remains* gathering = nullptr;

Remains::Scope::Scope(Remains& remains) : outer_(std::exchange(gathering, &remains)) {}
Remains::Scope::~Scope() { gathering = outer_; }

Remains* Remains::Gathering() {
  if (gathering != nullptr) return gathering;
  CurrentTurn& turn = ThisTurn();
  const Worker* const worker = ThisWorker();
  if (turn.cell == nullptr || worker == nullptr || !worker->lock.IsHeldByOwner()) return nullptr;
  turn.cell->owner()->HasRemains();
  return &turn.remains;
}

void Remains::Add(Envelope* envelope) {
  if (newest_ == nullptr) {
    envelope->next = envelope;
  } else {
    envelope->next = newest_->next;
    newest_->next = envelope;
  }
  newest_ = envelope;
}

void Remains::End(SystemCore& system) {
  while (newest_ != nullptr) {
    Envelope* const oldest = newest_->next;
    oldest == newest_ ? newest_ = nullptr : newest_->next = oldest->next;
    // Of its own kind: a message may be a DeadLetter too.
    if (oldest->kind == EnvelopeKind::kWake && oldest->type == &TypeOf<DeadLetter>()) {
      system.dead_letters().Publish(*static_cast<const DeadLetter*>(oldest->value()));
    }
    Envelope::Delete(oldest);
  }
}

void LetGoValue(Envelope* envelope) {
  const bool runs_users_code = envelope->has(Envelope::kHasValue) && envelope->type->destroy != nullptr;
  Remains* const remains = runs_users_code ? Remains::Gathering() : nullptr;
  remains == nullptr ? Envelope::Delete(envelope) : remains->Add(envelope);
}

}  // namespace understudy::internal
