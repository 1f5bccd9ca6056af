// Hooks: what runs when a behaviour is entered or left. MakeHook makes one from a member function of the actor, or
// another callable, that takes nothing and returns void (or Failure, for `return Fail(status);`).
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_HOOK_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_HOOK_H_

#include <type_traits>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "understudy/actors/internal/turn/own_class.h"
#include "understudy/actors/task.h"

namespace understudy {

class Actor;
class Failure;

namespace internal {

using Hook = absl::AnyInvocable<void(Actor&)>;

// The hooks of a behaviour, each null if it has none.
struct BehaviorHooks {
  Hook entered;
  Hook left;
};

template <class F>
struct HookClass {
  using type = void;
};
template <class Function, class A>
struct HookClass<Function A::*> {
  using type = A;
};

template <class R>
constexpr void CheckHookResult() {
  static_assert(!IsTask<R>::value,
                "a hook is no coroutine: it ends before the next message is handled; await in a handler");
  static_assert(IsTask<R>::value || std::is_void_v<R> || std::is_same_v<R, Failure>,
                "a hook returns void, or what Fail gives");
}

template <class F>
Hook MakeHook(F hook) {
  using A = typename HookClass<F>::type;
  if constexpr (std::is_void_v<A>) {
    static_assert(std::is_invocable_v<F&>, "a hook takes nothing");
    if constexpr (std::is_invocable_v<F&>) {
      CheckHookResult<decltype(hook())>();
      return [hook = std::move(hook)](Actor& /*self*/) mutable { (void)hook(); };
    }
  } else {
    static_assert(std::is_invocable_v<F&, A&>, "a hook takes nothing");
    if constexpr (std::is_invocable_v<F&, A&>) {
      CheckHookResult<decltype((std::declval<A&>().*hook)())>();
      return [hook](Actor& self) { (void)(AsOwnClass<A>(self).*hook)(); };
    }
  }
  return nullptr;
}

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_HOOK_H_
