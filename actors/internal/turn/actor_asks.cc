#include "understudy/actors/internal/turn/actor_asks.h"

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/types/optional.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/asks/call_watch.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/system/tracing.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_streams.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/router.h"

namespace understudy::internal {
namespace {

void Forget(ActorCore& core, uint64_t id) {
  if (CallWatch* watch = core.system().call_watch(); watch != nullptr) watch->Forget(core.self(), id);
}

// Carries out one AskAction.
class Apply {
 public:
  explicit Apply(ActorCore& core) : core_(core) {}

  void operator()(const TellCallee& tell) const {
    Signal cancel{.kind = SignalKind::kCancel, .from = core_.self(), .to = tell.callee, .id = tell.ask};
    if (ItemBits(tell.ask) != 0) cancel.status = WhyStreamIsCancelled(core_);
    core_.system().Post(std::move(cancel));
  }
  void operator()(const EndNameWatch& ends) const { core_.system().registry().Unwatch(ends.watch); }
  void operator()(const RemoveName& removed) const { core_.system().registry().Remove(removed.name, core_.self()); }
  void operator()(const ReopenMailbox& reopens) const { core_.parts().closed().Reopen(reopens.mailbox); }
  void operator()(const TakeBackMessage& waits) const {
    absl::optional<Payload> unsent = core_.system().blocked_senders().TakeBack(waits.receiver, core_.self(), waits.ask);
    if (unsent) DestroyLater(*std::move(unsent));
  }
  void operator()(const EndStreams& ended) const { OnStreamsAnswered(core_, ended.ask); }
  void operator()(const EndSpan& ended) const {
    Tracing* const tracing = core_.system().tracing();
    if (tracing == nullptr) return;
    Span span = ended.span;
    span.end = tracing->Now();
    tracing->Take(span);
  }
  void operator()(const StopWaitingForNode& waits) const {
    if (Router* router = core_.system().router(); router != nullptr) router->StopWaiting(core_.self(), waits.ask);
  }

 private:
  ActorCore& core_;
};

// Answers ask `id`, whose deadline has passed.
class AnswerDue {
 public:
  AnswerDue(ActorCore& core, uint64_t id) : core_(core), id_(id) {}

  void operator()(const NoAnswerCame&) const {
    AnswerAsk(core_, id_, MakeError(ErrorKind::kExpired, "no answer within the deadline"), {});
  }
  void operator()(const NameHasNoOwner& lookup) const {
    AnswerAsk(core_, id_, NoOwnerError(core_.system().registry(), lookup.name), {});
  }
  void operator()(const NoRoomCame& send) const {
    absl::optional<Payload> unsent = Payload();
    if (!send.receiver.is_null()) {
      unsent = core_.system().blocked_senders().TakeBack(send.receiver, core_.self(), id_);
    }
    if (!unsent) return;
    AnswerAsk(core_, id_, MakeError(ErrorKind::kExpired, "there was no room in the mailbox in time"),
              *std::move(unsent));
  }
  void operator()(NobodyAwaits& freed) const {
    DestroyLater(std::move(freed.answer));
    Forget(core_, id_);
  }

 private:
  ActorCore& core_;
  const uint64_t id_;
};

}  // namespace

MonotonicTime DeadlineWithin(ActorCore& core, absl::Duration timeout) {
  const MonotonicTime deadline = core.system().clock().Now() + std::min(timeout, limits::kAskTimeoutMax);
  return core.current() == nullptr ? deadline : std::min(deadline, core.current()->deadline());
}

namespace {

// The cancellation of the call in hand, if one is, cancels ask `id` too.
void NoteForCall(ActorCore& core, uint64_t id) {
  Activation* const current = core.current();
  const bool is_for_call = current != nullptr && current->is_call() && current->held() != nullptr;
  if (is_for_call && id != 0) core.parts().asks().NoteForCall(id, current->asker(), current->ask());
}

PendingId NotedForCall(ActorCore& core, Pid callee, uint64_t id, MonotonicTime deadline) {
  if (!callee.is_null()) NoteForCall(core, id);
  return {.asker = core.self(), .id = id, .deadline = deadline};
}

}  // namespace

PendingId NewAsk(ActorCore& core, Pid callee, MonotonicTime deadline) {
  return NotedForCall(core, callee, core.parts().asks().Add(callee, deadline), deadline);
}

PendingId NewAskWithItems(ActorCore& core, Pid callee, MonotonicTime deadline, uint64_t kind) {
  return NotedForCall(core, callee, core.parts().asks().AddWithItems(callee, deadline, kind), deadline);
}

PendingId NewOutsideAsk(ActorCore& core, MonotonicTime deadline) {
  if (core.current() != nullptr) deadline = std::min(deadline, core.current()->deadline());
  const uint64_t id = core.parts().asks().Add(Pid(), deadline);
  NoteForCall(core, id);
  return {.asker = core.self(), .id = id, .deadline = deadline};
}

bool AnswerAsk(ActorCore& core, uint64_t id, absl::Status status, Payload payload) {
  Answer answer{.status = std::move(status), .payload = std::move(payload)};
  AskTable* const asks = core.parts().known_asks();
  const absl::optional<Waiter> waiter = asks == nullptr ? absl::nullopt : asks->Answered(id, std::move(answer));
  if (!waiter) {
    DestroyLater(std::move(answer.payload));  // NOLINT(bugprone-use-after-move): it was not taken
    return false;
  }
  Forget(core, id);
  for (const AskAction& action : asks->Settle(id)) std::visit(Apply(core), action);
  if (waiter->handle != nullptr) core.parts().activations().AddResumable(*waiter);
  return true;
}

bool IsAnswered(const ActorCore& core, uint64_t id) {
  const AskTable* const asks = core.parts().known_asks();
  return asks == nullptr || !asks->IsUnderWay(id);
}

void TellOfWait(ActorCore& core, uint64_t id) {
  CallWatch* watch = core.system().call_watch();
  if (watch == nullptr || core.current()->is_interleaved) return;
  watch->Awaits(core.self(), id, std::string(core.occupation().HandlerName()));
}

void GiveUpAsk(ActorCore& core, uint64_t id, absl::Status answer) {
  if (IsAnswered(core, id)) return;
  for (const AskAction& action : core.parts().asks().GiveUp(id)) std::visit(Apply(core), action);
  AnswerAsk(core, id, std::move(answer), {});
}

void CancelAsk(ActorCore& core, uint64_t id) {
  GiveUpAsk(core, id, MakeError(ErrorKind::kCancelled, "the asker gave the call up"));
}

void CancelAsksFor(ActorCore& core, std::vector<std::pair<Pid, uint64_t>> calls) {
  const AskTable* const asks = core.parts().known_asks();
  if (asks == nullptr || calls.empty()) return;
  std::sort(calls.begin(), calls.end());
  for (const uint64_t id : asks->AsksForCalls(calls)) CancelAsk(core, id);
}

void ExpireAsks(ActorCore& core, MonotonicTime now) {
  AskTable* const asks = core.parts().known_asks();
  if (asks == nullptr) return;
  while (absl::optional<DueAsk> due = asks->NextDue(now)) {
    for (const AskAction& action : due->actions) std::visit(Apply(core), action);
    std::visit(AnswerDue(core, due->id), due->answer);
  }
}

void EndAsks(ActorCore& core) {
  const AskTable* const asks = core.parts().known_asks();
  if (asks == nullptr) return;
  if (CallWatch* watch = core.system().call_watch(); watch != nullptr) watch->ForgetAll(core.self());
  for (const AskAction& action : asks->End()) std::visit(Apply(core), action);
  EndUploads(core);
}

}  // namespace understudy::internal
