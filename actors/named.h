// Named<R>: a ref that is looked up again at each use.
//
//   Named<BookRef> book("book");
//   auto asked = book->load().Ask({}, absl::Seconds(5));   // resolved here
//
// The name is resolved in this node's table at the moment of `->`; a send
// through a free name answers NoName, and Restarting (Unavailable) while the
// owner is down and its supervisor will start it again. It has no link, no
// monitor, and no order across lives. Inside a turn the table is that of the actor's system; on a
// plain thread it is that of the only system of the process, or the one given.
// Any thread. A copyable value.
#ifndef UNDERSTUDY_ACTORS_NAMED_H_
#define UNDERSTUDY_ACTORS_NAMED_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/string_view.h"
#include "understudy/actors/pid.h"

namespace understudy {

class ActorSystem;

namespace internal {
class SystemCore;
// The owner of the name now, or Pid::Unnamed, or Pid::Vacant. `system` may be null.
Pid Resolve(absl::string_view name, SystemCore* system);
SystemCore* CoreOf(ActorSystem& system);
}  // namespace internal

template <class R>
class Named {
 public:
  explicit Named(std::string name) : name_(std::move(name)) {}
  // For plain threads of a process with several systems. `system` outlives it.
  Named(ActorSystem& system, std::string name) : name_(std::move(name)), system_(internal::CoreOf(system)) {}

  const std::string& name() const { return name_; }
  // The ref of the present owner; its pid is_unnamed() when there is none.
  R Resolve() const {
    static_assert(std::is_constructible_v<R, Pid>,
                  "a name is resolved to a ref, not to an actor: Named<Ref<Counter>>, or the ref class of a service");
    if constexpr (std::is_constructible_v<R, Pid>) return R(internal::Resolve(name_, system_));
  }

  class Arrow {
   public:
    explicit Arrow(R ref) : ref_(ref) {}
    const R* operator->() const { return &ref_; }

   private:
    R ref_;
  };
  Arrow operator->() const { return Arrow(Resolve()); }

 private:
  std::string name_;
  internal::SystemCore* system_ = nullptr;
};

}  // namespace understudy

#endif  // UNDERSTUDY_ACTORS_NAMED_H_
