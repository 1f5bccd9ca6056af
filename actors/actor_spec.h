// SpawnOptions and ActorSpec: how an actor is to be started.
//
//   context().Spawn<Worker>(SpawnOptions{.registered_as = "worker"}, config);
//   ActorSpec<AuctionRef> lot = MakeActorSpec<EnglishAuction>(book, closes);
//   system.Spawn(lot);                    // each call starts a new actor
//
// Threads: plain values, for any thread.
#ifndef UNDERSTUDY_ACTORS_ACTOR_SPEC_H_
#define UNDERSTUDY_ACTORS_ACTOR_SPEC_H_

#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "understudy/actors/events.h"
#include "understudy/actors/internal/turn/handler.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/unhandled_mail.h"

namespace understudy {

class Actor;

// Whether the new actor is linked to its parent.
enum class SpawnLink {
  // If either ends with a reason other than Normal, the other ends too, unless it traps
  // exits.
  kLinked,
  kUnlinked,  // neither ends because the other has ended
  // The parent's end has the same effect on the new actor as with kLinked. The parent
  // gets no exit when the new actor ends, only the Down of SpawnOptions::OnDown, which is
  // required (CHECKed). Unlink does not undo it.
  kOneWay
};

// Where the actor's turns run.
enum class SpawnThread {
  kShared,  // on the executor's workers
  // On a thread that no other actor uses, so handlers may block on it for any time without
  // delaying other actors. The thread ends with the actor.
  kOwn
};

struct SpawnOptions {
  // Ignored for actors that a plain thread spawns: they have no parent to be linked to.
  SpawnLink link = SpawnLink::kLinked;
  SpawnThread thread = SpawnThread::kShared;
  // Names that the actor takes before Start. Empty means none. If another actor has the
  // name, the start fails with NameConflict.
  std::string registered_as;  // a name of this node
  std::string published_as;   // a name of the cluster
  // The supervisor that keeps these names while the actor is down (NameKeep in
  // registry.h); null for none.
  Pid names_kept_by;
  // The time for the constructor and Start together. An actor that takes longer ends with
  // StartTimeout.
  absl::Duration start_within = absl::InfiniteDuration();
  // The time that an actor which handles its parent's exit (TrapExits) has to end by
  // itself after that exit. If it takes longer it is killed.
  absl::Duration shutdown_within = absl::Seconds(5);
  // A text for people that stands for the actor in introspection and log lines.
  std::string label;
  // Set by OnOutcome, OnDown and WithUnhandledMail, each of which returns the changed options by value, so that the
  // result may also be assigned to the same object: options = std::move(options).OnDown(…).
  std::shared_ptr<internal::MessageHandler> outcome_handler;
  std::shared_ptr<internal::MessageHandler> down_handler;
  std::shared_ptr<UnhandledMail> unhandled_mail;

  // `handler`, a handler of the parent, gets exactly one SpawnOutcome, before any Down.
  template <class F>
  SpawnOptions OnOutcome(F handler) && {
    outcome_handler = internal::MakeSharedHandler<SpawnOutcome>(std::move(handler));
    return std::move(*this);
  }
  // `handler`, a handler of the parent, gets the Down of the new actor. The monitor exists
  // before the actor runs, so however soon the actor ends, the Down has its exit reason
  // and its unhandled mail (unhandled_mail.h). The monitor cannot be ended.
  // Ignored for actors that a plain thread spawns.
  template <class F>
  SpawnOptions OnDown(F handler) && {
    down_handler = internal::MakeSharedHandler<Down>(std::move(handler));
    return std::move(*this);
  }
  // The new actor gets the messages that its predecessor left unhandled. If the options are
  // used for several spawns, the first one takes `left`.
  SpawnOptions WithUnhandledMail(UnhandledMail left) && {
    if (!left.empty()) unhandled_mail = std::make_shared<UnhandledMail>(std::move(left));
    return std::move(*this);
  }
};

namespace internal {

// Makes an actor. Called at most once, in the new actor's first turn; not called if the
// spawn was refused.
using MakeActor = absl::AnyInvocable<std::unique_ptr<Actor>() &&>;

}  // namespace internal

// A recipe for actors whose ref is an R.
template <class R>
struct ActorSpec {
  using RefType = R;
  // Makes one actor; called in the first turn of each actor that is spawned.
  std::function<std::unique_ptr<Actor>()> make;
  SpawnOptions options;
};

namespace internal {

// Fails to compile, with an explanation, unless T is an actor class that can be constructed from Args. As HandlerCheck.
template <class T, class... Args>
struct ActorCheck {
  static constexpr bool kIsActor = std::is_base_of_v<Actor, T>;
  static constexpr bool kIsWhole = !kIsActor || !std::is_abstract_v<T>;
  static constexpr bool kIsGood = kIsActor && kIsWhole && std::is_constructible_v<T, Args...>;
  static_assert(kIsActor, "Spawn<T> starts a class derived from Actor");
  static_assert(kIsWhole, "the actor has no Start(), or another function of its bases that it must override");
  static_assert(kIsGood || !kIsActor || !kIsWhole,
                "no public constructor of the actor takes copies of these arguments");
};

// Makes a T. Where ActorCheck fails, this compiles all the same and returns null, so that its explanation is the only
// error.
template <class T, class... Args>
std::unique_ptr<Actor> MakeChecked(Args&&... args) {
  if constexpr (ActorCheck<T, Args...>::kIsGood) {
    return std::make_unique<T>(std::forward<Args>(args)...);
  } else {
    return nullptr;
  }
}

}  // namespace internal

// Returns a recipe for actors of class T, each of which is constructed from a copy of
// `args`. The label is the name of the class.
template <class T, class... Args>
ActorSpec<typename internal::RefOf<T>::type> MakeActorSpec(Args... args) {
  static_assert((std::is_copy_constructible_v<Args> && ...),
                "the arguments of an actor that may start again are copied at each start; use a factory for others");
  static_assert(alignof(internal::ActorCheck<T, const Args&...>) > 0);
  ActorSpec<typename internal::RefOf<T>::type> spec;
  spec.make = [... held = std::move(args)] { return internal::MakeChecked<T>(held...); };
  spec.options.label = internal::TypeName<T>();
  return spec;
}

// A type that can be spawned: it converts to ActorSpec<S::RefType>. Besides ActorSpec
// itself these are a supervisor's builders.
template <class S>
concept Spawnable = requires(const S& spec) {
  { spec } -> std::convertible_to<ActorSpec<typename S::RefType>>;
};

// The overloads of Spawn, for a class Derived that has SpawnMade(SpawnOptions, MakeActor):
// Context and ActorSystem. They return a ref to the new actor at once and never fail; an
// actor whose start fails ends with the reason.
//
//   AuctionRef lot = context().Spawn<EnglishAuction>(book, closes);    // moves or copies the arguments into it
//   context().Spawn<Worker>(SpawnOptions{.registered_as = "worker"}, config);
//   SupervisorRef root = system.Spawn(house);                          // a recipe
template <class Derived>
class SpawnsActors {
 public:
  template <class T, class... Args>
    requires(!std::is_same_v<std::remove_cvref_t<Args>, SpawnOptions> && ...)
  auto Spawn(Args&&... args) {
    return Spawn<T>(SpawnOptions(), std::forward<Args>(args)...);
  }
  template <class T, class... Args>
  auto Spawn(SpawnOptions options, Args&&... args) {
    static_assert(alignof(internal::ActorCheck<T, std::decay_t<Args>...>) > 0);
    return typename internal::RefOf<T>::type(
        self().SpawnMade(std::move(options),
                         [... held = std::decay_t<Args>(std::forward<Args>(args))]() mutable -> std::unique_ptr<Actor> {
                           return internal::MakeChecked<T>(std::move(held)...);
                         }));
  }
  template <Spawnable S>
  typename S::RefType Spawn(const S& spec) {
    const ActorSpec<typename S::RefType>& made = spec;
    return typename S::RefType(self().SpawnMade(made.options, made.make));
  }
  // Spawns from the recipe `spec`, with `options` in place of its own.
  template <Spawnable S>
  typename S::RefType Spawn(SpawnOptions options, const S& spec) {
    const ActorSpec<typename S::RefType>& made = spec;
    return typename S::RefType(self().SpawnMade(std::move(options), made.make));
  }

 protected:
  SpawnsActors() = default;
  ~SpawnsActors() = default;

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_ACTOR_SPEC_H_
