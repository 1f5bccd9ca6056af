#include "understudy/actors/internal/turn/actor_names.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/memory/destruction_queue.h"
#include "understudy/actors/internal/turn/actor_asks.h"
#include "understudy/actors/internal/turn/actor_core.h"
#include "understudy/actors/internal/turn/current_turn.h"
#include "understudy/actors/internal/turn/name_news.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pending.h"

namespace understudy::internal {
namespace {

// The error of a constructor that takes a name: a lookup of the name returns its owner's mailboxes, which are not known
// yet.
absl::Status TooEarlyForNames(absl::string_view name) {
  return absl::FailedPreconditionError(
      absl::StrCat("the constructor has not run, so the mailboxes that ", name,
                   " would have are not known; take names in Start, or by SpawnOptions"));
}

// The reason with which a start ends that did not get a name. NameConflict is distinguished from other failures,
// because a supervisor then waits until the name is free.
ExitReason NotTaken(absl::string_view name, const absl::Status& why) {
  ExitReason failed = ExitReason::Failed(why);
  return absl::IsAlreadyExists(why) ? ExitReason::NameConflict(name).CausedBy(failed) : failed;
}

NameRecord RecordOf(ActorCore& core, absl::string_view name, NameScope scope, Pid kept_by) {
  return {.name = std::string(name),
          .pid = core.self(),
          .scope = scope,
          .claimed = core.system().clock().WallNow(),
          .mailboxes = std::make_shared<const std::vector<MailboxSignature>>(Signatures(core)),
          .kept_by = kept_by};
}

}  // namespace

std::vector<MailboxSignature> Signatures(const ActorCore& core) {
  std::vector<MailboxSignature> signatures;
  if (core.stage().start().is_constructing()) return signatures;
  for (size_t i = 0; i < core.layout().size(); ++i) {
    const MailboxDeclaration& d = core.layout()[i];
    signatures.push_back(
        {.name = std::string(d.wire_name), .is_call = d.is_call(), .request = d.RequestText(), .reply = d.ReplyText()});
  }
  return signatures;
}

PendingId StartLookup(ActorCore& core, absl::string_view name, absl::Duration timeout) {
  PendingId pending = NewAsk(core, Pid(), DeadlineWithin(core, absl::InfiniteDuration()));
  if (pending.id == 0) return pending;
  const uint64_t id = pending.id;
  SystemCore& system = core.system();
  if (absl::Status valid = ValidateName(name); !valid.ok()) {
    AnswerAsk(core, id, std::move(valid), {});
    return pending;
  }
  if (absl::optional<NameRecord> record = system.registry().Find(name)) {
    AnswerAsk(core, id, absl::OkStatus(), Payload::Of(*std::move(record)));
    return pending;
  }
  if (timeout <= absl::ZeroDuration()) {
    AnswerAsk(core, id, NoOwnerError(system.registry(), name), {});
    return pending;
  }
  pending.deadline = DeadlineWithin(core, timeout);
  core.parts().asks().SetDeadline(id, pending.deadline);
  // A change comes back as a reply to this ask: the first one answers it.
  const uint64_t watch = system.registry().Watch(name, [cell = ThisTurn().cell, system = &system, self = core.self(),
                                                        id, is_answered = false](absl::string_view,
                                                                                 const NameRecord* record) mutable {
    if (record == nullptr || std::exchange(is_answered, true)) return;  // called under the registry's lock
    PostOrDrop(
        *cell, *system, self.life(),
        MakeEnvelope(
            EnvelopeKind::kSignal,
            Signal{.kind = SignalKind::kReply, .from = self, .to = self, .id = id, .payload = Payload::Of(*record)}));
  });
  core.parts().asks().LooksUp(id, std::string(name), watch);
  return pending;
}

PendingId Publish(ActorCore& core, absl::string_view name, Pid kept_by) {
  const PendingId pending = NewAsk(core, Pid(), DeadlineWithin(core, absl::InfiniteDuration()));
  if (pending.id == 0) return pending;
  const uint64_t id = pending.id;
  SystemCore& system = core.system();
  if (core.stage().start().is_constructing()) {
    AnswerAsk(core, id, TooEarlyForNames(name), {});
    return pending;
  }
  const NameRecord record = RecordOf(core, name, NameScope::kCluster, kept_by);
  absl::Status taken = ValidateName(name);
  core.NoteNames();
  if (taken.ok()) taken = system.registry().Insert(record);
  NamePublisher* publisher = system.publisher();
  if (!taken.ok() || publisher == nullptr) {
    AnswerAsk(core, id, std::move(taken), {});
    return pending;
  }
  core.parts().asks().Publishes(id, std::string(name));
  publisher->Publish(record, [cell = ThisTurn().cell, system = &system, self = core.self(),
                              id](absl::Status published) {
    PostOrDrop(
        *cell, *system, self.life(),
        MakeEnvelope(
            EnvelopeKind::kSignal,
            Signal{.kind = SignalKind::kReply, .from = self, .to = self, .id = id, .status = std::move(published)}));
  });
  return pending;
}

absl::Status Register(ActorCore& core, absl::string_view name, Pid kept_by) {
  if (core.stage().start().is_constructing()) return TooEarlyForNames(name);
  core.NoteNames();
  if (absl::Status valid = ValidateName(name); !valid.ok()) return valid;
  return core.system().registry().Insert(RecordOf(core, name, NameScope::kNode, kept_by));
}

Task<absl::optional<ExitReason>> TakeNames(ActorCore& core) {
  const SpawnOptions& options = core.parts().spawn_or_default().options();
  const std::string registered_as = options.registered_as;
  const std::string published_as = options.published_as;
  const Pid kept_by = options.names_kept_by;
  if (!registered_as.empty()) {
    absl::Status taken;
    {
      const KernelCode kernel;
      taken = Register(core, registered_as, kept_by);
    }
    if (!taken.ok()) co_return NotTaken(registered_as, taken);
  }
  if (!published_as.empty()) {
    PendingId asked;
    {
      const KernelCode kernel;
      asked = Publish(core, published_as, kept_by);
    }
    const Pending<void> publishing(asked);
    absl::Status taken = co_await publishing;
    if (!taken.ok()) co_return NotTaken(published_as, taken);
  }
  co_return absl::nullopt;
}

void KeepName(ActorCore& core, NameKeep keep) {
  core.NoteNames();  // its keeps end with it
  keep.keeper = core.self();
  core.system().registry().Keep(keep);
}

absl::Status WatchName(ActorCore& core, absl::string_view name, std::shared_ptr<MessageHandler> handler) {
  if (absl::Status valid = ValidateName(name); !valid.ok()) return valid;
  UnwatchName(core, name);
  Watches& watches = core.parts().watches();
  if (watches.name_count() >= limits::kNamesWatchedPerActorMax) {
    return MakeError(ErrorKind::kFull,
                     absl::StrCat("an actor watches at most ", limits::kNamesWatchedPerActorMax, " names"));
  }
  const uint64_t id = watches.AddName(name, std::move(handler));
  const auto news = std::make_shared<NameNews>(id, std::string(name));
  const uint64_t registry_id =
      core.system().registry().Watch(name, [cell = ThisTurn().cell, system = &core.system(), life = core.self().life(),
                                            news](absl::string_view /*name*/, const NameRecord* change) {
        if (!news->Tell(change == nullptr ? Pid() : change->pid)) return;
        PostOrDrop(*cell, *system, life, MakeEnvelope(EnvelopeKind::kNameChange, std::shared_ptr<NameNews>(news)));
      });
  watches.SetRegistryId(name, registry_id);
  return absl::OkStatus();
}

void UnwatchName(ActorCore& core, absl::string_view name) {
  Watches* const watches = core.parts().known_watches();
  if (watches == nullptr) return;
  absl::optional<NameWatch> watch = watches->RemoveName(name);
  if (!watch.has_value()) return;
  core.system().registry().Unwatch(watch->registry_id);
  core.parts().events().Remove(Event::Kind::kName, watch->id);
  DestroyLater(Payload::Of(std::move(watch->handler)));
}

}  // namespace understudy::internal
