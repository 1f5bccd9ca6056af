#include "understudy/actors/actor.h"

#include <utility>

#include "absl/status/status.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_receive.h"
#include "understudy/actors/internal/turn/current_turn.h"

namespace understudy {
namespace internal {

void BeginReceive(const Behavior& receive, std::coroutine_handle<> waiter) {
  ActorCore& core = ActorCore::OfThisTurn();
  const KernelCode kernel;
  if (!kernel.is_fenced()) BeginReceive(core, receive.table(), waiter);
}

int IndexForClause(const MailboxBase& mailbox) {
  if (MailboxHost* const host = MailboxHost::ConstructingOrNull(); host != nullptr) {
    UNDERSTUDY_CHECK(host->NameInClause(mailbox),
                     "a clause for a mailbox that is not made yet: declare behaviors after the mailboxes they use");
  } else if (ActorCore* const core = ThisTurn().actor(); core != nullptr) {
    NameInClause(*core, mailbox.index());
  }
  return mailbox.index();
}

}  // namespace internal

Actor::Actor() : context_(internal::MailboxHost::Constructing().core()) {}

void Actor::Become(const Behavior& behavior) {
  UNDERSTUDY_CHECK(behavior.table() != nullptr, "Become of a behavior that was never built");
  context_.core().CheckTurn();
  const internal::KernelCode kernel;
  if (!kernel.is_fenced()) context_.core().Become(behavior.table());
}

Failure Actor::Fail(absl::Status status) {
  context_.core().CheckTurn();
  Failure failure(std::move(status));
  const internal::KernelCode kernel;
  if (kernel.is_fenced()) return failure;
  internal::ActorCore& core = context_.core();
  if (core.current() != nullptr) core.current()->has_failed = true;
  core.SetExit(ExitReason::Failed(failure.status()), internal::ExitCause::kOwn);
  return failure;
}

}  // namespace understudy
