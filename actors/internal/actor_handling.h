// What each message goes through that its behaviour handles at once, inline.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_ACTOR_HANDLING_H_
#define UNDERSTUDY_ACTORS_INTERNAL_ACTOR_HANDLING_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/internal/actor_queues.h"
#include "understudy/actors/internal/exceptions.h"

namespace understudy::internal {

// A handler has ended.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::Settle(const CurrentTurn& turn, Activation& activation) {
  if (ABSL_PREDICT_TRUE(activation.source() == Activation::Source::kMessage)) {
    if (ABSL_PREDICT_TRUE(activation.is_plainly_handled())) {
      AddAsOwner(cell().queue(turn.gates, static_cast<size_t>(activation.mailbox)).handled, 1U);
    } else {
      SettleUnusual(activation);
    }
  }
  if (ABSL_PREDICT_TRUE(rare_ == nullptr)) return;
  ApplyBecome();
  SettleRound(activation);
}

// A handler that is no coroutine.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::RunHandler(CurrentTurn& turn, Activation& activation,
                                                               MessageHandler& handler) {
  if (ABSL_PREDICT_FALSE(turn.system->is_observed())) Trace("handles", activation);
  current_ = &activation;
  Guarded(
      [&] {
        UserCode user(*turn.worker);
        handler.Run(*actor_, activation);
      },
      [&](const std::exception_ptr& thrown) {
        if (is_fenced()) return;
        activation.has_failed = true;
        SetExit(DescribeException(thrown), ExitCause::kOwn);
      });
  current_ = nullptr;
  if (ABSL_PREDICT_FALSE(is_fenced())) return;
  Settle(turn, activation);
}

// By a handler that is no coroutine.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::HandleAtOnce(CurrentTurn& turn, Envelope* envelope,
                                                                 MessageHandler& handler) {
  Activation activation(*this, Activation::Source::kMessage);
  activation.TakeMessage(envelope);
  if (ABSL_PREDICT_FALSE(IsReceiving())) BeginRound(activation);
  RunHandler(turn, activation, handler);
}

// The oldest of what waits in those mailboxes, which is not nothing, by the
// first clause of its mailbox.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void ActorCore::HandleOldest(CurrentTurn& turn, uint64_t waiting) {
  auto place = static_cast<size_t>(std::countr_zero(waiting));
  Envelope* before = cell().queue(turn.gates, place).newest;
  for (uint64_t others = waiting & (waiting - 1); ABSL_PREDICT_FALSE(others != 0); others &= others - 1) {
    const auto other = static_cast<size_t>(std::countr_zero(others));
    Envelope* const newest = cell().queue(turn.gates, other).newest;
    if (newest->next->stamp < before->next->stamp) {
      before = newest;
      place = other;
    }
  }
  Envelope* const envelope = before->next;
  BehaviorTable& table = *behavior_;
  const size_t clause = table.ClauseFor(place);
  MessageHandler& handler = table.handler(clause);
  TakeOut(turn, place, envelope, before);
  if (ABSL_PREDICT_TRUE(handler.form() == MessageHandler::Form::kRuns && !envelope->has(Envelope::kHasCallPart) &&
                        !table.has_idle())) {
    HandleAtOnce(turn, envelope, handler);
  } else {
    HandleTaken(envelope, table, clause);
  }
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_ACTOR_HANDLING_H_
