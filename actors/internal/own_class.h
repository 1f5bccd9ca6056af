// The actor as the class whose member a handler, guard or hook is. A clause does
// not know the class of its actor: debug builds look.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_OWN_CLASS_H_
#define UNDERSTUDY_ACTORS_INTERNAL_OWN_CLASS_H_

#include <type_traits>
#include <typeinfo>

#include "understudy/actors/check.h"
#include "understudy/actors/message.h"

namespace understudy::internal {

// `Self` is Actor, const or not, and A a class derived from it.
template <class A, class Self>
A& AsOwnClass(Self& self) {
  UNDERSTUDY_DCHECK(dynamic_cast<A*>(&self) != nullptr, "a member of ", TypeName<std::remove_const_t<A>>(),
                    " in a behavior of a ", DemangledName(typeid(self).name()), ", which is none");
  return static_cast<A&>(self);
}

}  // namespace understudy::internal

#endif  // UNDERSTUDY_ACTORS_INTERNAL_OWN_CLASS_H_
