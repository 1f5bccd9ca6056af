// SpawnOptions and ActorSpec: how an actor is to be started.
//
//   context().Spawn<Worker>(SpawnOptions{.registered_as = "worker"}, config);
//   ActorSpec<AuctionRef> lot = MakeActorSpec<EnglishAuction>(book, closes);
//   system.Spawn(lot);                    // each time a new actor
//
// Plain values. Any thread.
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

// Whether the new actor and its parent die together. With kOneWay it ends with its
// parent as if linked, while of its own end the parent learns by OnDown alone,
// which it must give; neither can take that back.
enum class SpawnLink { kLinked, kUnlinked, kOneWay };

// Where its turns run. With a thread of its own an actor may block in a handler
// as long as it likes: it holds up nobody. The thread lives as long as the actor.
enum class SpawnThread { kShared, kOwn };

struct SpawnOptions {
  // Plain threads are no actors: what they spawn is never linked.
  SpawnLink link = SpawnLink::kLinked;
  SpawnThread thread = SpawnThread::kShared;
  // Names to take before Start; one that is taken fails the start.
  std::string registered_as;  // of this node
  std::string published_as;   // of the cluster
  // The supervisor that keeps these names while the actor is down (NameKeep in
  // registry.h); null for none.
  Pid names_kept_by;
  // Constructor to the end of Start; then the actor exits StartTimeout.
  absl::Duration start_within = absl::InfiniteDuration();
  // From its parent's exit, an actor that traps has this long to end by itself.
  absl::Duration shutdown_within = absl::Seconds(5);
  // For people: in introspection and log lines.
  std::string label;
  // Set by OnOutcome, OnDown and WithUnhandledMail, each of which returns the changed options by value, so that the
  // result may also be assigned to the same object: options = std::move(options).OnDown(…).
  std::shared_ptr<internal::MessageHandler> outcome_handler;
  std::shared_ptr<internal::MessageHandler> down_handler;
  std::shared_ptr<UnhandledMail> unhandled_mail;

  // Names the handler of the parent that gets exactly one SpawnOutcome, before
  // any Down.
  template <class F>
  SpawnOptions OnOutcome(F handler) && {
    outcome_handler = internal::MakeSharedHandler<SpawnOutcome>(std::move(handler));
    return std::move(*this);
  }
  // Names the handler of the parent that gets its Down: a monitor that is there
  // from the beginning, so that the reason is known however soon it ends, and what
  // it leaves (unhandled_mail.h) is not lost. It cannot be taken back. Nothing for what a
  // plain thread spawns.
  template <class F>
  SpawnOptions OnDown(F handler) && {
    down_handler = internal::MakeSharedHandler<Down>(std::move(handler));
    return std::move(*this);
  }
  // What its predecessor left. The first spawn with these options takes it.
  SpawnOptions WithUnhandledMail(UnhandledMail left) && {
    if (!left.empty()) unhandled_mail = std::make_shared<UnhandledMail>(std::move(left));
    return std::move(*this);
  }
};

namespace internal {

// Called once, in the new actor's turn.
using MakeActor = absl::AnyInvocable<std::unique_ptr<Actor>() &&>;

}  // namespace internal

// A recipe for actors whose ref is an R.
template <class R>
struct ActorSpec {
  using RefType = R;
  // Called in each new actor's turn.
  std::function<std::unique_ptr<Actor>()> make;
  SpawnOptions options;
};

namespace internal {

// Does not compile unless a T is an actor that those arguments make, and says why; see HandlerCheck.
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

// Requires ActorCheck, which has said why else.
template <class T, class... Args>
std::unique_ptr<Actor> MakeChecked(Args&&... args) {
  if constexpr (ActorCheck<T, Args...>::kIsGood) {
    return std::make_unique<T>(std::forward<Args>(args)...);
  } else {
    return nullptr;
  }
}

}  // namespace internal

// Copies `args` at each start.
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

// What converts to an ActorSpec, such as a supervisor's builder, can be
// spawned; its type says RefType.
template <class S>
concept Spawnable = requires(const S& spec) {
  { spec } -> std::convertible_to<ActorSpec<typename S::RefType>>;
};

// The forms of Spawn, for what has SpawnMade(SpawnOptions, MakeActor):
// context() and ActorSystem.
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
  // The same recipe with other options.
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
