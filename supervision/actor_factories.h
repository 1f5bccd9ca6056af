// ActorFactories: actors that a tree written as data can name.
//
//   ActorFactories factories;
//   factories.Add<Book>("book")
//       .Add<LotConfig>("lot", [](const LotConfig& config) { return std::make_unique<Lot>(config); });
//   absl::StatusOr<SupervisorSpec> tree = ReadTreeFile("house.textproto", factories);   // transport/tree_file.h
//
// A factory makes a new actor, in that actor's turn, at each start of the
// child. It may take one argument, a protobuf message, which a file gives as a
// google.protobuf.Any. This header does not depend on protobuf (WireMessage).
//
// A node may start the actors of the same factories for other nodes
// (transport/child_host.h).
//
// Names are unique: Add CHECKs that its name is new. Copies are independent.
// Threads: a value; the ChildStart that StartOf returns may be used on any thread.
#ifndef UNDERSTUDY_SUPERVISION_ACTOR_FACTORIES_H_
#define UNDERSTUDY_SUPERVISION_ACTOR_FACTORIES_H_

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/check.h"
#include "understudy/actors/message.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"

namespace understudy {

// The call of that factory with that message. CHECKs that the message serialises.
template <WireMessage M>
FactoryCall CallWith(std::string factory, const M& argument) {
  FactoryCall call{std::move(factory), internal::TypeName<M>(), ""};
  UNDERSTUDY_CHECK(argument.SerializeToString(&call.argument), "a ", call.argument_type, " does not serialise");
  return call;
}

class ActorFactories {
 public:
  using MakeActor = ChildStart::MakeActor;

  // A class without constructor arguments.
  template <std::derived_from<Actor> T>
  ActorFactories& Add(std::string name) {
    return Add(std::move(name), MakeActor([] { return std::make_unique<T>(); }));
  }
  // Without an argument.
  ActorFactories& Add(std::string name, MakeActor make);
  // With a message as argument. A file must give it.
  template <WireMessage M, class F>
    requires std::convertible_to<std::invoke_result_t<const F&, const M&>, std::unique_ptr<Actor>>
  ActorFactories& Add(std::string name, F make) {
    return AddEntry(
        std::move(name),
        {.argument_type = internal::TypeName<M>(), .bind = [make = std::move(make)](const std::string& bytes) {
           M argument;
           if (!argument.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return MakeActor();
           return MakeActor(
               [make, argument = std::move(argument)]() -> std::unique_ptr<Actor> { return make(argument); });
         }});
  }

  // A Pool<…> (pool.h), for the pools of a tree.
  template <std::derived_from<Actor> P>
    requires std::constructible_from<P, const SupervisorSpec&>
  ActorFactories& AddPool(std::string name) {
    return AddEntry(std::move(name), {.make_pool = [](const SupervisorSpec& tree) -> std::unique_ptr<Actor> {
                      return std::make_unique<P>(tree);
                    }});
  }

  // Returns the registered names in alphabetical order.
  std::vector<std::string> names() const;

  // Returns how to start the child that `call` describes. Returns NotFound, with the registered names,
  // if there is no such factory; InvalidArgument if the argument is missing, not expected, of another
  // type or does not parse, or if the factory makes pools.
  absl::StatusOr<std::shared_ptr<const ChildStart>> StartOf(const FactoryCall& call) const;
  // Like StartOf, for a factory that makes pools.
  absl::StatusOr<std::shared_ptr<const ChildStart>> PoolStartOf(const FactoryCall& call) const;

 private:
  struct Entry {
    std::string argument_type;  // empty if the factory takes no argument
    // Makes the start function from the argument's bytes; null if they do not parse.
    std::function<MakeActor(const std::string& bytes)> bind;
    // Set for a factory of pools, which has neither of the above.
    std::function<std::unique_ptr<Actor>(const SupervisorSpec&)> make_pool;
  };
  absl::StatusOr<const Entry*> Find(const std::string& name) const;
  ActorFactories& AddEntry(std::string name, Entry entry);

  std::map<std::string, Entry> entries_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_ACTOR_FACTORIES_H_
