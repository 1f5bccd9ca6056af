#include "understudy/actors/context.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "understudy/actors/caller.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/scheduling/worker.h"
#include "understudy/actors/internal/system/system_core.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/actor_forwarding.h"
#include "understudy/actors/internal/turn/actor_names.h"
#include "understudy/actors/internal/turn/actor_signals.h"
#include "understudy/actors/internal/turn/actor_tracing.h"

namespace understudy {
namespace {

// A call from the actor's own code into the kernel, in the actor's turn. After the actor was
// fenced, and while its suspended handlers are being destroyed, such calls are refused and
// have no effect.
class OwnersCall : public internal::KernelCode {
 public:
  explicit OwnersCall(const internal::ActorCore& core) { core.CheckTurn(); }
};

[[maybe_unused]] bool IsAlive(Pid actor) {
  internal::SystemCore* const system = internal::SystemCore::OfLife(actor.life());
  const internal::ActorCell* const cell = system == nullptr ? nullptr : system->CellOf(actor);
  return cell != nullptr && cell->IsAlive(actor.life());
}

// Returns the actor `owner` if this is its turn, else null. In debug builds CHECKs that it is
// `owner`'s turn or `owner` has ended. `what` names the object that is being ended.
internal::ActorCore* OwnerOf([[maybe_unused]] absl::string_view what, Pid owner) {
  internal::ActorCore* const core = internal::ActorCore::OfThisTurn(owner);
  UNDERSTUDY_DCHECK(core != nullptr || !IsAlive(owner), what, " of ", owner.ToString(), " ends outside its turn");
  return core;
}

}  // namespace

void MonitorHandle::End() {
  const uint64_t id = std::exchange(id_, 0);
  if (id == 0) return;
  internal::ActorCore* core = OwnerOf("a MonitorHandle", owner_);
  const internal::KernelCode kernel;
  if (core != nullptr && !kernel.is_fenced()) internal::Demonitor(*core, id);
}

void ScopedClose::End() {
  const int mailbox = std::exchange(mailbox_, -1);
  if (mailbox < 0) return;
  internal::ActorCore* core = OwnerOf("a ScopedClose", owner_);
  const internal::KernelCode kernel;
  if (core != nullptr && !kernel.is_fenced()) {
    if (ask_ == 0 || core->parts().asks().TakeClose(ask_, mailbox)) core->parts().closed().Reopen(mailbox);
  }
}

Pid Context::Self() const {
  core_.CheckTurn();
  return core_.self();
}
Pid Context::Parent() const {
  core_.CheckTurn();
  return core_.parts().parent();
}
MonotonicTime Context::Now() const {
  core_.CheckTurn();
  return core_.system().clock().Now();
}
absl::Time Context::WallNow() const {
  core_.CheckTurn();
  return core_.system().clock().WallNow();
}
Random& Context::Random() {
  const OwnersCall call(core_);
  absl::optional<understudy::Random>& random = core_.parts().random();
  if (!random.has_value()) random.emplace(core_.system().SeedFor(core_.self().serial()));
  return *random;
}
bool Context::StartTrace(absl::string_view name) {
  const OwnersCall call(core_);
  return !call.is_refused() && internal::StartTrace(core_, name);
}
void Context::EndTrace() {
  const OwnersCall call(core_);
  if (!call.is_refused()) internal::EndTrace(core_);
}
LogSink& Context::Log() {
  core_.CheckTurn();
  return core_.system().log();
}

absl::StatusOr<std::shared_ptr<const Caller>> Context::Caller() const {
  const OwnersCall call(core_);
  if (call.is_refused()) return internal::RefusedError();
  const internal::Activation* const current = core_.current();
  if (current == nullptr || !current->is_call()) {
    return absl::FailedPreconditionError(
        "no call is being handled, so nobody calls: a client's cast is a message like any other; make the rpc a call");
  }
  std::shared_ptr<const understudy::Caller> caller = core_.system().callers().Find(current->asker());
  if (caller != nullptr) return caller;
  return absl::NotFoundError(absl::StrCat(current->asker().ToString(),
                                          ", which asks, is not known as a client's: it is another actor, the gateway "
                                          "is on another node or exports without WithCaller, or the call has ended"));
}

Pid Context::SpawnMade(SpawnOptions options, internal::MakeActor make) {
  const OwnersCall call(core_);
  if (call.is_refused()) return Pid();
  return internal::SpawnChild(core_, std::move(options), std::move(make));
}
Spawner* Context::Spawner() {
  core_.CheckTurn();
  return core_.system().spawner();
}

void Context::LinkPid(Pid pid) {
  const OwnersCall call(core_);
  if (!call.is_refused()) internal::Link(core_, pid);
}
void Context::UnlinkPid(Pid pid) {
  const OwnersCall call(core_);
  if (!call.is_refused()) internal::Unlink(core_, pid);
}
MonitorHandle Context::MonitorPid(Pid pid, std::shared_ptr<internal::MessageHandler> handler) {
  const OwnersCall call(core_);
  if (call.is_refused()) return MonitorHandle();
  return MonitorHandle(core_.self(), internal::Monitor(core_, pid, std::move(handler)));
}
MonitorHandle Context::MonitorPidUntilGone(Pid pid, std::shared_ptr<internal::MessageHandler> handler) {
  const OwnersCall call(core_);
  if (call.is_refused()) return MonitorHandle();
  return MonitorHandle(core_.self(), internal::MonitorUntilGone(core_, pid, std::move(handler)));
}
bool Context::IsGone(Pid actor) const {
  core_.CheckTurn();
  return core_.system().IsGone(actor);
}
// Not refused after a fence, because the handler of a fenced actor may still begin something
// that must keep the actor from being gone.
LifeHold Context::HoldLife() {
  core_.CheckTurn();
  return core_.system().HoldLife(core_.self());
}
void Context::ExitPid(Pid pid, ExitReason reason) {
  const OwnersCall call(core_);
  if (call.is_refused()) return;
  core_.system().Post({.kind = SignalKind::kExit, .from = core_.self(), .to = pid, .reason = std::move(reason)});
}
void Context::KillPid(Pid pid) {
  const OwnersCall call(core_);
  if (!call.is_refused()) core_.system().Post({.kind = SignalKind::kKill, .from = core_.self(), .to = pid});
}
void Context::RequestStopPid(Pid pid, ExitReason reason) {
  const OwnersCall call(core_);
  if (call.is_refused()) return;
  core_.system().Post({.kind = SignalKind::kRequestStop, .from = core_.self(), .to = pid, .reason = std::move(reason)});
}
void Context::SetTraps(std::shared_ptr<internal::MessageHandler> handler,
                       std::shared_ptr<internal::MessageHandler> parent_handler) {
  const OwnersCall call(core_);
  if (!call.is_refused()) core_.parts().exits().Trap(std::move(handler), std::move(parent_handler));
}
void Context::SetStopHandler(std::shared_ptr<internal::MessageHandler> handler) {
  const OwnersCall call(core_);
  if (!call.is_refused()) core_.parts().exits().SetStopHandler(std::move(handler));
}
void Context::FinishStart() {
  const OwnersCall call(core_);
  if (!call.is_refused()) core_.FinishStart();
}
void Context::DeclineStart() {
  const OwnersCall call(core_);
  if (!call.is_refused()) core_.DeclineStart();
}
void Context::Stop(ExitReason reason) {
  const OwnersCall call(core_);
  if (!call.is_refused()) core_.SetExit(std::move(reason), internal::ExitCause::kOwn);
}
void Context::StopAs(ExitReason reason) {
  const OwnersCall call(core_);
  if (!call.is_refused()) core_.SetExit(std::move(reason), internal::ExitCause::kTold);
}
absl::Status Context::BecomeStacked(const Behavior& behavior) {
  const OwnersCall call(core_);
  if (call.is_refused()) return internal::RefusedError();
  UNDERSTUDY_CHECK(behavior.table() != nullptr, "BecomeStacked of a behavior that was never built");
  return core_.parts().behaviors().Push(behavior.table(), core_.behavior());
}
absl::Status Context::Unbecome() {
  const OwnersCall call(core_);
  if (call.is_refused()) return internal::RefusedError();
  return core_.parts().behaviors().Pop();
}
void Context::HandlesLater(const internal::MailboxBase& mailbox) { (void)internal::IndexForClause(mailbox); }
ScopedClose Context::Close(const internal::MailboxBase& mailbox) {
  const OwnersCall call(core_);
  if (call.is_refused()) return ScopedClose();
  core_.parts().closed().Close(mailbox.index());
  return ScopedClose(core_.self(), mailbox.index());
}
std::vector<ScopedClose> Context::Close(const internal::MailboxArrayBase& mailboxes) {
  const OwnersCall call(core_);
  std::vector<ScopedClose> closes;
  if (call.is_refused()) return closes;
  for (size_t place = 0; place < mailboxes.size(); ++place) {
    core_.parts().closed().Close(mailboxes.IndexOf(place));
    closes.emplace_back(core_.self(), mailboxes.IndexOf(place));
  }
  return closes;
}
ScopedClose Context::CloseUntil(const internal::MailboxBase& mailbox, const internal::PendingId& pending) {
  const OwnersCall call(core_);
  if (call.is_refused()) return ScopedClose();
  UNDERSTUDY_CHECK(pending.asker == core_.self(), "a scoped close of ", core_.self().ToString(), " until an ask of ",
                   pending.asker.ToString(), " is over; only its own asks end it");
  if (internal::IsAnswered(core_, pending.id) ||
      !core_.parts().asks().CloseUntilAnswered(pending.id, mailbox.index())) {
    return ScopedClose();
  }
  core_.parts().closed().Close(mailbox.index());
  return ScopedClose(core_.self(), mailbox.index(), pending.id);
}
void Context::Postpone() {
  const OwnersCall call(core_);
  if (!call.is_refused()) internal::Postpone(core_);
}
void Context::ForwardPayload(int mailbox, internal::Payload payload, internal::ReplierBase* replier) {
  core_.CheckTurn();
  const uint64_t bytes =
      core_.layout()[static_cast<size_t>(mailbox)].has_bytes() ? payload.bytes() : 0;  // user code, which may throw
  const OwnersCall call(core_);
  if (call.is_refused()) return;  // the fence or the end of the actor answers the call
  internal::Forward(core_, mailbox, std::move(payload), bytes,
                    replier == nullptr ? internal::CallInHand() : replier->Release());
}
absl::Status Context::StartNamedTimer(absl::string_view name, absl::Duration delay,
                                      std::shared_ptr<internal::MessageHandler> handler) {
  const OwnersCall call(core_);
  if (call.is_refused()) return internal::RefusedError();
  return core_.parts().timers().Start(name, core_.system().clock().Now() + delay, std::move(handler),
                                      core_.parts().events());
}
bool Context::CancelTimer(absl::string_view name) {
  const OwnersCall call(core_);
  return !call.is_refused() && core_.parts().timers().Cancel(name, core_.parts().events());
}
absl::Status Context::Register(absl::string_view name) {
  const OwnersCall call(core_);
  if (call.is_refused()) return internal::RefusedError();
  return internal::Register(core_, name);
}
Pending<void> Context::Publish(absl::string_view name) {
  const OwnersCall call(core_);
  if (call.is_refused()) return Pending<void>(internal::CancelledAsk());
  return Pending<void>(internal::Publish(core_, name));
}
void Context::Unregister(absl::string_view name) {
  const OwnersCall call(core_);
  if (!call.is_refused()) core_.system().registry().Remove(name, core_.self());
}
void Context::KeepName(NameKeep keep) {
  const OwnersCall call(core_);
  if (!call.is_refused()) internal::KeepName(core_, std::move(keep));
}
void Context::FreeName(absl::string_view name) {
  const OwnersCall call(core_);
  if (!call.is_refused()) core_.system().registry().Free(name, core_.self());
}
Sleeping Context::Sleep(absl::Duration delay) {
  const MonotonicTime until = Now() + delay;
  const OwnersCall call(core_);
  if (call.is_refused()) return Sleeping(internal::CancelledAsk(), until);
  // A call in hand whose deadline is earlier ends the sleep then, and so does limits::kAskTimeoutMax.
  return Sleeping(internal::NewAsk(core_, Pid(), internal::DeadlineWithin(core_, delay)), until);
}
internal::PendingId Context::StartLookup(absl::string_view name, absl::Duration timeout) {
  const OwnersCall call(core_);
  if (call.is_refused()) return internal::CancelledAsk();
  return internal::StartLookup(core_, name, timeout);
}
absl::Status Context::StartNameWatch(absl::string_view name, std::shared_ptr<internal::MessageHandler> handler) {
  const OwnersCall call(core_);
  if (call.is_refused()) return internal::RefusedError();
  return internal::WatchName(core_, name, std::move(handler));
}
void Context::UnwatchName(absl::string_view name) {
  const OwnersCall call(core_);
  if (!call.is_refused()) internal::UnwatchName(core_, name);
}
uint32_t Context::WireHashOf(const internal::MailboxBase& mailbox) const {
  UNDERSTUDY_CHECK(!core_.stage().start().is_constructing(),
                   "an actor sends to itself from Start on: while its constructor runs its mailboxes are not known");
  return core_.layout()[static_cast<size_t>(mailbox.index())].hash;
}
std::vector<MailboxSignature> Context::Mailboxes() const {
  core_.CheckTurn();
  return internal::Signatures(core_);
}

}  // namespace understudy
