// Guard: what must hold for a clause: a const member function of the actor, or
// a function of it. A plain value; it reads nothing but the actor. Owner's turn
// only.
#ifndef UNDERSTUDY_ACTORS_INTERNAL_TURN_GUARD_H_
#define UNDERSTUDY_ACTORS_INTERNAL_TURN_GUARD_H_

#include <array>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "understudy/actors/internal/turn/own_class.h"

namespace understudy {

class Actor;

namespace internal {

template <class R, class A>
void GuardOf(R (*function)(A&));
// A captureless callable that takes one argument by reference. Its result may be of any type.
template <class F>
concept IsGuardFunction = std::is_empty_v<F> && requires(F guard) { GuardOf(+guard); };

class Guard {
 public:
  // Always holds.
  Guard() = default;
  template <class A>
  explicit Guard(bool (A::*holds)() const)
      : Guard(holds, 0, [](const Guard& guard, const Actor& actor) {
          return (AsOwnClass<const A>(actor).*guard.As<bool (A::*)() const>())();
        }) {}
  // A guard of a clause for an array of mailboxes; `place` is the mailbox's index in that array.
  template <class A>
  Guard(bool (A::*holds)(size_t place) const, size_t place)
      : Guard(holds, place, [](const Guard& guard, const Actor& actor) {
          return (AsOwnClass<const A>(actor).*guard.As<bool (A::*)(size_t) const>())(guard.place_);
        }) {}
  template <class A>
  explicit Guard(bool (*holds)(const A&))
      : Guard(holds, 0, [](const Guard& guard, const Actor& actor) {
          return guard.As<bool (*)(const A&)>()(AsOwnClass<const A>(actor));
        }) {}

  bool is_always() const { return call_ == nullptr; }
  // Not when is_always().
  bool Holds(const Actor& actor) const { return call_(*this, actor); }

 private:
  using Calls = bool (*)(const Guard& guard, const Actor& actor);

  template <class F>
  Guard(F holds, size_t place, Calls call) : call_(call), place_(place) {
    static_assert(sizeof(F) <= sizeof(held_) && std::is_trivially_copyable_v<F>);
    std::memcpy(held_.data(), &holds, sizeof(F));
  }
  template <class F>
  F As() const {
    F holds;
    std::memcpy(&holds, held_.data(), sizeof(F));
    return holds;
  }

  Calls call_ = nullptr;
  size_t place_ = 0;
  std::array<unsigned char, 2 * sizeof(void*)> held_{};  // what it calls
};

}  // namespace internal
}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_INTERNAL_TURN_GUARD_H_
