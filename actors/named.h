// Named<R>: a ref that is looked up again at each use.
//
//   Named<BookRef> book("book");
//   auto asked = book->load().Ask({}, absl::Seconds(5));   // resolved here
//
// Each `->` resolves the name in this node's table of names. A send through a name
// without an owner answers NoName, or Restarting (Unavailable) if the owner has ended
// and its supervisor will start it again. The error's text has the name, unless many
// other names without an owner were resolved since (limits::kUnownedNamesMax). A Named
// neither links nor monitors the owner, and messages to two successive owners have no
// order among each other.
//
// Names are looked up in the system given to the constructor. Without one, they are looked
// up in the system of the actor whose turn runs on this thread or, on a plain thread, in the
// process's only system. A copyable value; any thread.
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
// Returns the present owner of the name, or Pid::Unnamed or Pid::Vacant with the name's tag. A null `system` means the
// system of the actor whose turn runs on this thread, else the only system of the process.
Pid Resolve(absl::string_view name, SystemCore* system);
SystemCore* CoreOf(ActorSystem& system);
}  // namespace internal

template <class R>
class Named {
 public:
  explicit Named(std::string name) : name_(std::move(name)) {}
  // For plain threads of a process with several systems. `system` must outlive this object.
  Named(ActorSystem& system, std::string name) : name_(std::move(name)), system_(internal::CoreOf(system)) {}

  const std::string& name() const { return name_; }
  // Returns a ref to the present owner. If there is none, the ref's pid is_unnamed().
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
