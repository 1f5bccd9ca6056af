#include "understudy/actors/context.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "understudy/actors/check.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/internal/system_core.h"

namespace understudy {
namespace {

// Debug builds: this thread runs the turn of that actor.
void CheckOwner(const internal::ActorCore& core) {
  UNDERSTUDY_DCHECK(internal::ThisTurn().actor == &core, "context() of ", core.self().ToString(),
                    " is used outside its turn");
}

}  // namespace

void MonitorHandle::End() {
  const uint64_t id = std::exchange(id_, 0);
  if (id == 0) return;
  if (internal::ActorCore* core = internal::ActorCore::OfThisTurn(owner_); core != nullptr) core->Demonitor(id);
}

void Lease::End() {
  const int mailbox = std::exchange(mailbox_, -1);
  if (mailbox < 0) return;
  if (internal::ActorCore* core = internal::ActorCore::OfThisTurn(owner_); core != nullptr) core->EndLease(mailbox);
}

Pid Context::Self() const { return core_.self(); }
Pid Context::Parent() const { return core_.parent(); }
MonotonicTime Context::Now() const { return core_.system().clock().Now(); }
absl::Time Context::WallNow() const { return core_.system().clock().WallNow(); }
Random& Context::Random() { return core_.random(); }
LogSink& Context::Log() { return core_.system().log(); }

Pid Context::SpawnMade(SpawnOptions options, internal::MakeActor make) {
  CheckOwner(core_);
  return core_.SpawnChild(std::move(options), std::move(make));
}
Spawner* Context::Spawner() { return core_.system().spawner(); }

void Context::LinkPid(Pid pid) {
  CheckOwner(core_);
  core_.Link(pid);
}
void Context::UnlinkPid(Pid pid) {
  CheckOwner(core_);
  core_.Unlink(pid);
}
MonitorHandle Context::MonitorPid(Pid pid, std::shared_ptr<internal::MessageHandler> handler) {
  CheckOwner(core_);
  return MonitorHandle(core_.self(), core_.Monitor(pid, std::move(handler)));
}
void Context::ExitPid(Pid pid, ExitReason reason) {
  core_.system().Post({.kind = SignalKind::kExit, .from = core_.self(), .to = pid, .reason = std::move(reason)});
}
void Context::KillPid(Pid pid) { core_.system().Post({.kind = SignalKind::kKill, .from = core_.self(), .to = pid}); }
void Context::RequestStopPid(Pid pid, ExitReason reason) {
  core_.system().Post({.kind = SignalKind::kRequestStop, .from = core_.self(), .to = pid, .reason = std::move(reason)});
}
void Context::SetTraps(std::shared_ptr<internal::MessageHandler> handler,
                       std::shared_ptr<internal::MessageHandler> parent_handler) {
  core_.SetTraps(std::move(handler), std::move(parent_handler));
}
void Context::SetStopHandler(std::shared_ptr<internal::MessageHandler> handler) {
  core_.SetStopHandler(std::move(handler));
}
void Context::FinishStart() {
  CheckOwner(core_);
  core_.FinishStart();
}
void Context::Stop(ExitReason reason) {
  CheckOwner(core_);
  core_.Stop(std::move(reason));
}
absl::Status Context::BecomeStacked(const Behavior& behavior) {
  CheckOwner(core_);
  UNDERSTUDY_CHECK(behavior.table() != nullptr, "BecomeStacked of a behavior that was never built");
  return core_.BecomeStacked(behavior.table());
}
absl::Status Context::Unbecome() {
  CheckOwner(core_);
  return core_.Unbecome();
}
Lease Context::Close(const internal::MailboxBase& mailbox) {
  CheckOwner(core_);
  core_.CloseMailbox(mailbox.index());
  return Lease(core_.self(), mailbox.index());
}
std::vector<Lease> Context::Close(const internal::MailboxArrayBase& mailboxes) {
  CheckOwner(core_);
  std::vector<Lease> leases;
  for (size_t place = 0; place < mailboxes.size(); ++place) {
    core_.CloseMailbox(mailboxes.IndexOf(place));
    leases.emplace_back(core_.self(), mailboxes.IndexOf(place));
  }
  return leases;
}
void Context::Postpone() {
  CheckOwner(core_);
  core_.Postpone();
}
void Context::PassOnPayload(int mailbox, internal::Payload payload, internal::CallInHand call) {
  CheckOwner(core_);
  core_.PassOn(mailbox, std::move(payload), call);
}
absl::Status Context::StartNamedTimer(absl::string_view name, absl::Duration delay,
                                      std::shared_ptr<internal::MessageHandler> handler) {
  CheckOwner(core_);
  return core_.StartTimer(name, delay, std::move(handler));
}
bool Context::CancelTimer(absl::string_view name) {
  CheckOwner(core_);
  return core_.CancelTimer(name);
}
absl::Status Context::Register(absl::string_view name) {
  CheckOwner(core_);
  return core_.Register(name);
}
Pending<void> Context::Publish(absl::string_view name) {
  CheckOwner(core_);
  return Pending<void>(core_.Publish(name));
}
void Context::Unregister(absl::string_view name) {
  CheckOwner(core_);
  core_.Unregister(name);
}
internal::PendingId Context::StartLookup(absl::string_view name, absl::Duration timeout) {
  CheckOwner(core_);
  return core_.StartLookup(name, timeout);
}
void Context::StartNameWatch(absl::string_view name, std::shared_ptr<internal::MessageHandler> handler) {
  CheckOwner(core_);
  core_.WatchName(name, std::move(handler));
}
std::vector<MailboxSignature> Context::Mailboxes() const { return core_.Signatures(); }

}  // namespace understudy
