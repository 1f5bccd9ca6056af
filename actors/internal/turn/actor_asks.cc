// The table of asks: calls, lookups and publications that this actor waits for.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/asks/call_watch.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/router.h"

namespace understudy::internal {
namespace {

// The error of a constructor that takes a name: a lookup of the name returns its owner's mailboxes, which are not known
// yet.
absl::Status TooEarlyForNames(absl::string_view name) {
  return absl::FailedPreconditionError(
      absl::StrCat("the constructor has not run, so the mailboxes that ", name,
                   " would have are not known; take names in Start, or by SpawnOptions"));
}

}  // namespace

MonotonicTime ActorCore::DeadlineWithin(absl::Duration timeout) {
  const MonotonicTime deadline = system().clock().Now() + std::min(timeout, limits::kAskTimeoutMax);
  return current() == nullptr ? deadline : std::min(deadline, current()->deadline());
}

AskTable& ActorCore::MakeAsks() {
  rare().asks = std::make_unique<AskTable>();
  return *rare_->asks;
}

PendingId ActorCore::NewAsk(Pid callee, MonotonicTime deadline) {
  const uint64_t id = asks().Add(callee, deadline);
  const bool is_for_call = current() != nullptr && current()->is_call() && current()->held() != nullptr;
  if (is_for_call && id != 0 && !callee.is_null()) asks().NoteForCall(id, current()->asker(), current()->ask());
  return {.asker = self(), .id = id, .deadline = deadline};
}

// Cancels the asks that were made for a call in hand which its asker has cancelled. If the call's deadline has passed,
// nothing is done: those asks have no later deadline, so they expire by themselves.
void ActorCore::CancelAsksFor(const Activation& activation) {
  if (known_asks() == nullptr || activation.deadline() <= system().clock().Now()) return;
  for (const uint64_t id : asks().AsksForCall(activation.asker(), activation.ask())) CancelAsk(id);
}

bool ActorCore::Answered(uint64_t id, absl::Status status, Payload payload) {
  const bool is_good = status.ok();
  Answer answer{.status = std::move(status), .payload = std::move(payload)};
  const absl::optional<Waiter> waiter =
      known_asks() == nullptr ? absl::nullopt : asks().Answered(id, std::move(answer));
  if (!waiter) {
    DestroyLater(std::move(answer.payload));  // NOLINT(bugprone-use-after-move): it was not taken
    return false;
  }
  if (CallWatch* watch = system().call_watch(); watch != nullptr) watch->Forget(self(), id);
  SettleNotes(id, is_good);
  if (waiter->handle != nullptr) rare().activations.AddResumable(*waiter);
  return true;
}

void ActorCore::SettleNotes(uint64_t id, bool has_good_answer) {
  AskNotes* notes = asks().FindNotes(id);
  if (notes == nullptr) return;
  if (notes->name_watch != 0) system().registry().Unwatch(std::exchange(notes->name_watch, 0));
  // Not taken after all: then this node does not know the name either.
  const std::string publishes = std::exchange(notes->publishes, {});
  if (!has_good_answer && !publishes.empty()) system().registry().Remove(publishes, self());
  for (const int mailbox : std::exchange(notes->closes, {})) closed().Reopen(mailbox);
}

void ActorCore::TellCallee(uint64_t id) {
  const Pid callee = asks().CalleeOf(id);
  if (asks().IsAnswered(id) || callee.is_null()) return;
  system().Post({.kind = SignalKind::kCancel, .from = self(), .to = callee, .id = id});
}

void ActorCore::ExpireAsks(MonotonicTime now) {
  if (known_asks() == nullptr) return;
  while (const uint64_t id = asks().PopDue(now)) ExpireAsk(id);
}

// The deadline of ask `id` has passed. An ask that is awaited only after this gives Expired.
void ActorCore::ExpireAsk(uint64_t id) {
  TellCallee(id);
  if (StopWaitingForNode(id) && asks().IsAwaited(id)) {
    Answered(id, MakeError(ErrorKind::kExpired, "there was no room in the mailbox in time"), {});
    return;
  }
  if (!asks().IsAwaited(id)) {
    SettleNotes(id, asks().HasGoodAnswer(id));
    if (absl::optional<Answer> never_awaited = asks().Take(id)) DestroyLater(std::move(never_awaited->payload));
    if (CallWatch* watch = system().call_watch(); watch != nullptr) watch->Forget(self(), id);
    return;
  }
  const AskNotes* notes = asks().FindNotes(id);
  if (notes != nullptr && !notes->waits_for_room.is_null()) {
    absl::optional<Payload> unsent = system().blocked_senders().TakeBack(notes->waits_for_room, self(), id);
    if (!unsent) return;  // it was sent, or cannot be: the reply is on its way
    Answered(id, MakeError(ErrorKind::kExpired, "there was no room in the mailbox in time"), *std::move(unsent));
    return;
  }
  const bool looks_up = notes != nullptr && !notes->looks_up.empty();
  Answered(id,
           looks_up ? NoOwnerError(system().registry(), notes->looks_up)
                    : MakeError(ErrorKind::kExpired, "no answer within the deadline"),
           {});
}

// If ask `id` waits for room on another node, tells the router to stop waiting there, and returns true.
bool ActorCore::StopWaitingForNode(uint64_t id) {
  const AskNotes* notes = asks().FindNotes(id);
  if (notes == nullptr || notes->waits_for_room.is_null() || system().IsLocal(notes->waits_for_room)) return false;
  if (Router* router = system().router(); router != nullptr) router->StopWaiting(self(), id);
  return true;
}

void ActorCore::CancelAsk(uint64_t id) {
  if (IsAnswered(id)) return;
  TellCallee(id);
  Answered(id, MakeError(ErrorKind::kCancelled, "the asker gave the call up"), {});
}

bool ActorCore::IsAnswered(uint64_t id) const {
  const AskTable* const asks = known_asks();
  return asks == nullptr || !asks->Has(id) || asks->IsAnswered(id);
}

void ActorCore::AwaitAnswer(uint64_t id, std::coroutine_handle<> waiter) {
  asks().Await(id, {.handle = waiter, .activation = current()});
  TellOfWait(id);
}

// Tells the search for call cycles that the current handler waits for ask `id`, unless it is interleaved: then the
// actor handles other messages meanwhile.
void ActorCore::TellOfWait(uint64_t id) {
  CallWatch* watch = system().call_watch();
  if (watch == nullptr || current()->is_interleaved) return;
  std::string handler(current()->source() == Activation::Source::kStart ? StartName() : "an event");
  if (current()->mailbox >= 0) handler = std::string(layout()[static_cast<size_t>(current()->mailbox)].wire_name);
  watch->Awaits(self(), id, std::move(handler));
}

void ActorCore::AwaitGroup(absl::Span<const PendingId> pendings, GroupWait& wait, std::coroutine_handle<> waiter) {
  wait.waiter = {.handle = waiter, .activation = current()};
  // Asks that are answered already join too, so that their answers are kept until the group has been resumed.
  for (const PendingId& pending : pendings) {
    if (asks().Has(pending.id)) asks().Join(pending.id, &wait);
  }
  // Only a group that needs all its answers waits for each of them; one that is content with fewer may go on without an
  // answer that does not come.
  const bool needs_all =
      wait.good_left > pendings.size() && wait.bad_left > pendings.size() &&
      wait.answers_left == static_cast<size_t>(std::count_if(pendings.begin(), pendings.end(),
                                                             [this](const PendingId& p) { return !IsAnswered(p.id); }));
  if (!needs_all) return;
  for (const PendingId& pending : pendings) {
    if (!IsAnswered(pending.id)) TellOfWait(pending.id);
  }
}

Answer ActorCore::TakeAnswer(const PendingId& pending) {
  if (pending.id == 0) {
    return {.status = MakeError(ErrorKind::kFull, absl::StrCat("an actor has at most ", limits::kAsksPerActorMax,
                                                               " asks under way; await some first"))};
  }
  absl::optional<Answer> answer = asks().Take(pending.id);
  if (answer) return *std::move(answer);
  UNDERSTUDY_CHECK(system().clock().Now() >= pending.deadline, "a Pending of ", self().ToString(),
                   " is awaited a second time; await each once, and keep the answer");
  return {.status = MakeError(ErrorKind::kExpired, "it was awaited after its deadline")};
}

bool ActorCore::CloseUntilAnswered(int mailbox, uint64_t id) {
  if (IsAnswered(id)) return false;
  asks().NotesOf(id).closes.push_back(mailbox);
  closed().Close(mailbox);
  return true;
}

// At the end of the life: tells the callees, and removes all asks.
void ActorCore::DropAsks() {
  if (known_asks() == nullptr) return;
  if (CallWatch* watch = system().call_watch(); watch != nullptr) watch->ForgetAll(self());
  for (const uint64_t id : asks().All()) {
    TellCallee(id);
    const AskNotes* notes = asks().FindNotes(id);
    if (notes == nullptr) continue;
    if (notes->name_watch != 0) system().registry().Unwatch(notes->name_watch);
    if (notes->waits_for_room.is_null() || StopWaitingForNode(id)) continue;
    absl::optional<Payload> unsent = system().blocked_senders().TakeBack(notes->waits_for_room, self(), id);
    if (unsent) DestroyLater(*std::move(unsent));
  }
}

PendingId ActorCore::StartSleep(MonotonicTime until) {
  return NewAsk(Pid(), current() == nullptr ? until : std::min(until, current()->deadline()));
}

PendingId ActorCore::StartLookup(absl::string_view name, absl::Duration timeout) {
  PendingId pending = NewAsk(Pid(), DeadlineWithin(absl::InfiniteDuration()));
  if (pending.id == 0) return pending;
  const uint64_t id = pending.id;
  if (absl::Status valid = ValidateName(name); !valid.ok()) {
    Answered(id, std::move(valid), {});
    return pending;
  }
  if (absl::optional<NameRecord> record = system().registry().Find(name)) {
    Answered(id, absl::OkStatus(), Payload::Of(*std::move(record)));
    return pending;
  }
  if (timeout <= absl::ZeroDuration()) {
    Answered(id, NoOwnerError(system().registry(), name), {});
    return pending;
  }
  pending.deadline = DeadlineWithin(timeout);
  asks().SetDeadline(id, pending.deadline);
  asks().NotesOf(id).looks_up = std::string(name);
  // A change comes back as a reply to this ask: the first one answers it.
  const uint64_t watch = system().registry().Watch(name, [cell = &cell(), core = &system(), self = self(), id](
                                                             absl::string_view, const NameRecord* record) {
    if (record == nullptr) return;
    PostOrDrop(
        *cell, *core, self.life(),
        MakeEnvelope(
            EnvelopeKind::kSignal,
            Signal{.kind = SignalKind::kReply, .from = self, .to = self, .id = id, .payload = Payload::Of(*record)}));
  });
  asks().NotesOf(id).name_watch = watch;
  return pending;
}

PendingId ActorCore::Publish(absl::string_view name, Pid kept_by) {
  const PendingId pending = NewAsk(Pid(), DeadlineWithin(absl::InfiniteDuration()));
  if (pending.id == 0) return pending;
  const uint64_t id = pending.id;
  if (stage_ == Stage::kConstructing) {
    Answered(id, TooEarlyForNames(name), {});
    return pending;
  }
  const NameRecord record{.name = std::string(name),
                          .pid = self(),
                          .scope = NameScope::kCluster,
                          .claimed = system().clock().WallNow(),
                          .mailboxes = Signatures(),
                          .kept_by = kept_by};
  absl::Status taken = ValidateName(name);
  has_names_ = true;
  if (taken.ok()) taken = system().registry().Insert(record);
  NamePublisher* publisher = system().publisher();
  if (!taken.ok() || publisher == nullptr) {
    Answered(id, std::move(taken), {});
    return pending;
  }
  asks().NotesOf(id).publishes = std::string(name);
  publisher->Publish(record, [cell = &cell(), core = &system(), self = self(), id](absl::Status published) {
    PostOrDrop(
        *cell, *core, self.life(),
        MakeEnvelope(
            EnvelopeKind::kSignal,
            Signal{.kind = SignalKind::kReply, .from = self, .to = self, .id = id, .status = std::move(published)}));
  });
  return pending;
}

absl::Status ActorCore::Register(absl::string_view name, Pid kept_by) {
  if (stage_ == Stage::kConstructing) return TooEarlyForNames(name);
  has_names_ = true;
  if (absl::Status valid = ValidateName(name); !valid.ok()) return valid;
  return system().registry().Insert({.name = std::string(name),
                                     .pid = self(),
                                     .scope = NameScope::kNode,
                                     .claimed = system().clock().WallNow(),
                                     .mailboxes = Signatures(),
                                     .kept_by = kept_by});
}

void ActorCore::KeepName(NameKeep keep) {
  has_names_ = true;  // its keeps end with it
  keep.keeper = self();
  system().registry().Keep(keep);
}

void ActorCore::WatchName(absl::string_view name, std::shared_ptr<MessageHandler> handler) {
  const uint64_t id = watches().AddName(std::move(handler));
  const uint64_t registry_id = system().registry().Watch(
      name, [cell = &cell(), core = &system(), self = self(), id](absl::string_view changed, const NameRecord* record) {
        PostOrDrop(*cell, *core, self.life(),
                   MakeEnvelope(EnvelopeKind::kNameChange, NameReport{.watch = id,
                                                                      .name = std::string(changed),
                                                                      .pid = record == nullptr ? Pid() : record->pid}));
      });
  watches().SetRegistryId(id, registry_id);
}

}  // namespace understudy::internal
