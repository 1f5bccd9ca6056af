// AsOwnClass: casts an actor to the class whose member a handler, guard or hook is. A clause does not know the class of
// its actor, so debug builds check that the cast is right.
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

// `Self` is Actor, const or not.
template <class A, class Self>
A& AsOwnClass(Self& self) {
  static_assert(kIsActorClass<A>, "a guard or hook that is a member function is one of a class derived from Actor");
  if constexpr (kIsActorClass<A>) {
    UNDERSTUDY_DCHECK(dynamic_cast<A*>(&self) != nullptr, "a member of ", TypeName<std::remove_const_t<A>>(),
                      " in a behavior of a ", DemangledName(typeid(self).name()), ", which is none");
    return static_cast<A&>(self);
  }
}

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_OWN_CLASS_H_
