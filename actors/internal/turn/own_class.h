// AsOwnClass: casts an actor to the class whose member a handler, guard or hook is. A clause does not know the class of
// its actor, so debug builds check that the cast is right.
//
// The classes generated from .proto services derive virtually from Actor, so that an actor may serve several services.
// A static_cast cannot undo that. Nearly always A is the class of the whole object, which two loads from its table of
// virtual functions tell; otherwise the cast is a dynamic_cast.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_OWN_CLASS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_OWN_CLASS_H_

#include <type_traits>
#include <typeinfo>

#include "understudy/actors/check.h"
#include "understudy/actors/message.h"

namespace understudy {

class Actor;

namespace internal {

template <class A>
inline constexpr bool kIsActorClass = std::is_base_of_v<Actor, std::remove_const_t<A>>;

template <class A, class Self>
concept IsStaticallyCast = requires(Self& self) { static_cast<A&>(self); };

template <class A, class Self>
A& FromVirtualBase(Self& self) {
  using Whole = std::conditional_t<std::is_const_v<Self>, const void, void>;
  // Equal types have one type_info here, but for those that two shared libraries have each for itself.
  if (&typeid(self) == &typeid(A)) return *static_cast<A*>(dynamic_cast<Whole*>(&self));
  return *dynamic_cast<A*>(&self);
}

// `Self` is Actor, const or not.
template <class A, class Self>
A& AsOwnClass(Self& self) {
  static_assert(kIsActorClass<A>, "a guard or hook that is a member function is one of a class derived from Actor");
  if constexpr (kIsActorClass<A>) {
    UNDERSTUDY_DCHECK(dynamic_cast<A*>(&self) != nullptr, "a member of ", TypeName<std::remove_const_t<A>>(),
                      " in a behavior of a ", DemangledName(typeid(self).name()), ", which is none");
    if constexpr (IsStaticallyCast<A, Self>) {
      return static_cast<A&>(self);
    } else {
      return FromVirtualBase<A>(self);
    }
  }
}

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_OWN_CLASS_H_
