#include "understudy/actors/internal/turn/actor_choice.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/types/optional.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_crash.h"
#include "understudy/actors/internal/turn/actor_due.h"
#include "understudy/actors/internal/turn/actor_queues.h"
#include "understudy/actors/internal/turn/actor_receive.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/internal/turn/exceptions.h"
#include "understudy/actors/internal/turn/in_user_code.h"

namespace understudy::internal {
namespace {

// The clauses whose guards hold. Ends the actor when one throws.
ClauseSet HoldingGuards(ActorCore& core, const BehaviorTable& table) {
  ClauseSet holding;
  holding.set();
  if (!table.has_guards()) return holding;
  const BehaviorExtra& extra = *table.extra();
  const std::exception_ptr thrown = CaughtInUserCode([&] {
    for (const uint8_t clause : extra.guarded) {
      if (!extra.clauses[clause].Holds(*core.object())) holding.reset(clause);
    }
  });
  if (core.stage().is_fenced()) return {};
  if (thrown != nullptr) core.SetExit(DescribeException(thrown), ExitCause::kOwn);
  return core.stage().has_exit() ? ClauseSet() : holding;
}

void HandleEvent(ActorCore& core) {
  Event event = core.parts().events().Take(core.parts().events().begin());
  std::shared_ptr<MessageHandler> handler = HandlerOf(core, event);
  core.RunEvent(std::move(event), std::move(handler), /*ends_receive=*/false);
}

}  // namespace

BehaviorTable* Effective(ActorCore& core) {
  if (IsReceiving(core)) {
    const ReceiveUnderWay& receive = core.parts().activations().receive();
    return receive.is_taken ? nullptr : receive.table.get();
  }
  return core.stage().start().handles_messages() ? core.behavior().get() : nullptr;
}

MailChoice Candidates(ActorCore& core, BehaviorTable& table) {
  MailChoice choice(table, HoldingGuards(core, table));
  const auto says = [&](const ClauseExtra& clause, const Envelope& message) -> absl::optional<bool> {
    bool takes = false;
    const std::exception_ptr thrown = CaughtInUserCode([&] { takes = clause.predicate(message.value()); });
    if (thrown != nullptr && !core.stage().is_fenced()) core.SetExit(DescribeException(thrown), ExitCause::kOwn);
    if (core.stage().has_exit()) return absl::nullopt;
    return takes;
  };
  for (uint64_t waiting = core.mail().mailboxes() & ~core.parts().closed_mask() & table.mailboxes();
       waiting != 0 && !core.stage().has_exit(); waiting &= waiting - 1) {
    const auto place = static_cast<size_t>(std::countr_zero(waiting));
    if (!choice.Add(place, core.cell().queue(place).newest, says)) break;
  }
  // With no message to choose, the ranks begin anew from the top. A table without ranks leaves their turn as it is, so
  // that it persists across a Receive without ranks.
  if (choice.empty() && table.has_ranks()) core.rank_turns().Restart();
  return choice;
}

void HandleMessage(ActorCore& core, BehaviorTable& table, const Choice& choice) {
  if (ABSL_PREDICT_FALSE(core.is_traced())) NoteTraced(core, *choice.envelope);
  const size_t place = choice.envelope->mailbox;
  TakeOut(core, ThisTurn(), core.cell().queue(place), place, choice.envelope, choice.before);
  core.HandleTaken(choice.envelope, table, choice.clause);
}

const std::shared_ptr<MessageHandler>& HandlerOf(ActorCore& core, const Event& event) {
  return Exits::IsHandled(event.kind) ? core.parts().exits_or_default().HandlerOf(event.kind) : event.handler;
}

uint64_t OpenMask(ActorCore& core) {
  BehaviorTable* table = Effective(core);
  if (table == nullptr || (!core.parts().empty() && core.parts().activations().IsHeld())) return 0;
  if (!table->has_guards()) return table->mailboxes() & ~core.parts().closed_mask();
  const ClauseSet guards = HoldingGuards(core, *table);
  uint64_t mask = 0;
  for (size_t i = 0; i < table->size(); ++i) {
    if (guards[i]) mask |= uint64_t{1} << table->mailbox(i);
  }
  return mask & ~core.parts().closed_mask();
}

bool HandleOne(ActorCore& core) {
  BehaviorTable* table = Effective(core);
  if (table == nullptr || (!core.parts().empty() && core.parts().activations().IsHeld())) return false;
  if (IsReceiving(core)) return ReceiveOne(core, *table);
  uint64_t event = UINT64_MAX;
  if (!core.parts().empty()) {
    EventQueue& events = core.parts().events();
    while (!events.empty() && (IsStale(core, events.front()) || RunsOn(core, events.front())))
      events.Drop(events.begin());
    if (!events.empty()) event = events.front().stamp;
  }
  const MailChoice choice = Candidates(core, *table);
  if (core.stage().has_exit()) return false;
  if (event < choice.oldest()) {
    HandleEvent(core);
    return true;
  }
  if (choice.empty()) return false;
  HandleMessage(core, *table, choice.Choose(core.rank_turns()));
  return true;
}

}  // namespace understudy::internal
