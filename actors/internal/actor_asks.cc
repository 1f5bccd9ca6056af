// The table of asks: calls, lookups and publications that this actor waits for.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "understudy/actors/check.h"
#include "understudy/actors/error.h"
#include "understudy/actors/internal/actor_core.h"
#include "understudy/actors/limits.h"

namespace understudy::internal {

MonotonicTime ActorCore::DeadlineWithin(absl::Duration timeout) {
  const MonotonicTime deadline = system().clock().Now() + std::min(timeout, limits::kAskTimeoutMax);
  return current_ == nullptr ? deadline : std::min(deadline, current_->deadline());
}

uint64_t ActorCore::NewAsk(Pid callee, MonotonicTime deadline) {
  if (rare().asks.size() >= limits::kAsksPerActorMax) return 0;
  const uint64_t id = ++rare().last_ask;
  Ask& ask = rare().asks[id];
  ask.callee = callee;
  ask.timer = AddTimer(deadline, {.kind = Timer::Kind::kAsk, .ask = id});
  return id;
}

void ActorCore::Answered(uint64_t id, absl::Status status, Payload payload) {
  const auto found = rare().asks.find(id);
  if (found == rare().asks.end() || found->second.is_answered) return;  // too late
  Ask& ask = found->second;
  ask.is_answered = true;
  // Not taken after all: then this node does not know the name either.
  if (!status.ok() && !ask.publishes.empty()) Unregister(ask.publishes);
  ask.answer = {.status = std::move(status), .payload = std::move(payload)};
  if (ask.name_watch != 0) system().registry().Unwatch(std::exchange(ask.name_watch, 0));
  if (ask.waiter.handle == nullptr) return;
  rare().timers.Remove(std::exchange(ask.timer, 0));
  rare().resumable.push_back(std::exchange(ask.waiter, {}));
}

// Its time is over. Awaited later, it says so.
void ActorCore::ExpireAsk(uint64_t id, absl::string_view name) {
  const auto found = rare().asks.find(id);
  if (found == rare().asks.end()) return;
  Ask& ask = found->second;
  if (!ask.is_answered && !ask.callee.is_null()) {
    system().Post({.kind = SignalKind::kCancel, .from = self(), .to = ask.callee, .id = id});
  }
  if (ask.waiter.handle == nullptr) {
    if (ask.name_watch != 0) system().registry().Unwatch(ask.name_watch);
    rare().asks.erase(found);
    return;
  }
  Answered(id,
           name.empty() ? MakeError(ErrorKind::kExpired, "no answer within the deadline")
                        : MakeError(ErrorKind::kNoName, absl::StrCat("no actor took the name ", name, " in time")),
           {});
}

void ActorCore::CancelAsk(uint64_t id) {
  const auto found = rare().asks.find(id);
  if (found == rare().asks.end() || found->second.is_answered) return;
  if (const Pid callee = found->second.callee; !callee.is_null()) {
    system().Post({.kind = SignalKind::kCancel, .from = self(), .to = callee, .id = id});
  }
  Answered(id, MakeError(ErrorKind::kCancelled, "the asker gave the call up"), {});
}

bool ActorCore::IsAnswered(uint64_t id) {
  const auto found = rare().asks.find(id);
  return found == rare().asks.end() || found->second.is_answered;
}

void ActorCore::AwaitAnswer(uint64_t id, std::coroutine_handle<> waiter) {
  Ask& ask = rare().asks.at(id);
  UNDERSTUDY_CHECK(ask.waiter.handle == nullptr, "a Pending is awaited twice");
  ask.waiter = {waiter, current_};
}

Answer ActorCore::TakeAnswer(uint64_t id) {
  const auto found = rare().asks.find(id);
  if (id == 0) {
    return {.status = MakeError(ErrorKind::kFull, absl::StrCat("an actor has at most ", limits::kAsksPerActorMax,
                                                               " asks under way; await some first"))};
  }
  if (found == rare().asks.end()) {
    return {.status =
                MakeError(ErrorKind::kExpired, "it was awaited after its deadline, or given up, or awaited before")};
  }
  Answer answer = std::move(found->second.answer);
  if (found->second.timer != 0) rare().timers.Remove(found->second.timer);
  rare().asks.erase(found);
  return answer;
}

PendingId ActorCore::StartLookup(absl::string_view name, absl::Duration timeout) {
  const uint64_t id = NewAsk(Pid(), MonotonicTime::InfiniteFuture());
  if (id == 0) return {self(), id};
  const auto no_name = [name = std::string(name)] {
    return MakeError(ErrorKind::kNoName, absl::StrCat("no actor has the name ", name));
  };
  if (absl::optional<NameRecord> record = system().registry().Find(name)) {
    Answered(id, absl::OkStatus(), Payload::Of(*std::move(record)));
    return {self(), id};
  }
  if (timeout <= absl::ZeroDuration()) {
    Answered(id, no_name(), {});
    return {self(), id};
  }
  Ask& ask = rare().asks.at(id);
  rare().timers.Remove(ask.timer);
  ask.timer = AddTimer(DeadlineWithin(timeout), {.kind = Timer::Kind::kAsk, .ask = id, .name = std::string(name)});
  // A change comes back as a reply to this ask: the first one answers it.
  const uint64_t watch = system().registry().Watch(name, [cell = &cell(), core = &system(), self = self(), id](absl::string_view,
                                                                                         const NameRecord* record) {
    if (record == nullptr) return;
    PostOrDrop(*cell, *core, self.life(), MakeEnvelope(EnvelopeKind::kSignal, Signal{.kind = SignalKind::kReply, .from = self, .to = self, .id = id, .payload = Payload::Of(*record)}));
  });
  rare().asks.at(id).name_watch = watch;
  return {self(), id};
}

PendingId ActorCore::Publish(absl::string_view name) {
  const uint64_t id = NewAsk(Pid(), DeadlineWithin(absl::InfiniteDuration()));
  if (id == 0) return {self(), id};
  const NameRecord record{.name = std::string(name),
                          .pid = self(),
                          .scope = NameScope::kCluster,
                          .claimed = system().clock().WallNow(),
                          .mailboxes = Signatures()};
  absl::Status taken = ValidateName(name);
  has_names_ = true;
  if (taken.ok()) taken = system().registry().Insert(record);
  NamePublisher* publisher = system().publisher();
  if (!taken.ok() || publisher == nullptr) {
    Answered(id, std::move(taken), {});
    return {self(), id};
  }
  rare().asks.at(id).publishes = std::string(name);
  publisher->Publish(record, [cell = &cell(), core = &system(), self = self(), id](absl::Status published) {
    PostOrDrop(*cell, *core, self.life(), MakeEnvelope(EnvelopeKind::kSignal, Signal{.kind = SignalKind::kReply, .from = self, .to = self, .id = id, .status = std::move(published)}));
  });
  return {self(), id};
}

absl::Status ActorCore::Register(absl::string_view name) {
  has_names_ = true;
  if (absl::Status valid = ValidateName(name); !valid.ok()) return valid;
  return system().registry().Insert({.name = std::string(name),
                                    .pid = self(),
                                    .scope = NameScope::kNode,
                                    .claimed = system().clock().WallNow(),
                                    .mailboxes = Signatures()});
}

void ActorCore::Unregister(absl::string_view name) { system().registry().Remove(name, self()); }

void ActorCore::WatchName(absl::string_view name, std::shared_ptr<MessageHandler> handler) {
  const uint64_t id = ++rare().last_name_watch;
  NameWatch& watch = rare().name_watches[id];
  watch.name = std::string(name);
  watch.handler = std::move(handler);
  watch.registry_id = system().registry().Watch(name, [cell = &cell(), core = &system(), self = self(), id](absl::string_view changed,
                                                                                      const NameRecord* record) {
    PostOrDrop(*cell, *core, self.life(), MakeEnvelope(EnvelopeKind::kNameChange, NameReport{.watch = id, .name = std::string(changed), .pid = record == nullptr ? Pid() : record->pid}));
  });
}

}  // namespace understudy::internal
