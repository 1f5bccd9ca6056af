// Builders: supervision trees, as a program writes them.
//
//   auto house = OneForOne().Intensity(3, absl::Seconds(10))      // start in this order, stop in reverse
//       .Child("ledger", Process("ledger_node", {"--db", path}))
//       .Child("lots", Of(RestForOne()                     // supervisors nest
//           .Child("book", Of<Book>(path).RegisteredAs("book"))
//           .Child("lot-1", Of<EnglishAuction>(closes).Transient().ShutdownWithin(absl::Seconds(2))
//                               .Backoff({.min = absl::Milliseconds(50)}))));
//   SupervisorRef root = system.Spawn(house);
//
// A child may also run on another node of the cluster, which has registered a
// factory for it:
//
//   .Child("encoder", Remote(OnAnyOf({"worker-1", "worker-2"}), "encoder", config)
//                         .Backoff({.min = absl::Milliseconds(50)}))
//
// A supervisor's builder is an ActorSpec<SupervisorRef> like any other. Errors
// of the tree are told by Validate(), all at once, and fail the start.
//
// A child is a class and its arguments, which are copied at each start; or a
// factory, which is called in each new child's turn; or an ActorSpec; or a tree,
// a builder or a SupervisorSpec; or a pool (pool.h) and its PoolOptions; or a binary to run
// as a process of its own, "ledger_node" beside this program or a `data` binary
// as Bazel names it, "app/ledger_node".
//
// Builders are copyable values; each call changes and gives the builder.
// Any thread.
#ifndef UNDERSTUDY_SUPERVISION_BUILDERS_H_
#define UNDERSTUDY_SUPERVISION_BUILDERS_H_

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/message.h"
#include "understudy/supervision/actor_factories.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/supervision/pool.h"
#include "understudy/supervision/spec_errors.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"

namespace understudy {

// Describes one child, except for its id. The child is permanent unless Transient() or Temporary() is called.
class ChildBuilder {
 public:
  explicit ChildBuilder(ChildSpec spec) : spec_(std::move(spec)) {}

  // Restarted after an abnormal exit only: neither Normal nor Shutdown.
  ChildBuilder& Transient() { return Set(spec_.restart, RestartType::kTransient); }
  // Never restarted, and forgotten when it ends.
  ChildBuilder& Temporary() { return Set(spec_.restart, RestartType::kTemporary); }

  // A name of this node, which is taken before the child starts.
  ChildBuilder& RegisteredAs(std::string name) { return Set(spec_.registered_as, std::move(name)); }
  // A name of the cluster, as Context::Publish takes it: peers must grant it.
  ChildBuilder& PublishedAs(std::string name) { return Set(spec_.published_as, std::move(name)); }
  // To stop the child, its supervisor asks it to exit and kills it if it has not ended after `time`.
  // Default: 5 s for workers and processes; no limit for supervisors.
  ChildBuilder& ShutdownWithin(absl::Duration time) { return SetShutdown(ChildShutdown::Within(time)); }
  ChildBuilder& ShutdownWithoutLimit() { return SetShutdown(ChildShutdown::Infinity()); }
  // To stop the child, its supervisor kills it without asking it to exit first.
  ChildBuilder& BrutalKill() { return SetShutdown(ChildShutdown::BrutalKill()); }
  ChildBuilder& Backoff(RestartBackoff backoff) {
    spec_.backoff = backoff;
    return *this;
  }
  // The child is given up after more than `restarts` restarts within `period`; see RestartBudget.
  ChildBuilder& Budget(int restarts, absl::Duration period) {
    spec_.budget = RestartBudget{restarts, period};
    return *this;
  }
  // The child is started again only when nothing of its last life is left: a handler that ran when the child was killed
  // has returned, and the object and its LifeHolds are gone. The child is given up (Stuck) if this takes longer than
  // its shutdown time, or than 5 s with BrutalKill. See ChildSpec::exclusive.
  ChildBuilder& Exclusive() { return Set(spec_.exclusive, true); }
  // Limits the time from the constructor to the end of Start, awaits included. A start that takes longer fails with
  // StartTimeout. Default: no limit.
  ChildBuilder& StartWithin(absl::Duration time) { return Set(spec_.start_within, time); }
  // The child's own end may end its supervisor; see SupervisorBuilder::AutoShutdown.
  ChildBuilder& Significant() { return Set(spec_.significant, true); }
  // Processes only: the name of the child's node, a DNS label. Default: the child's id.
  ChildBuilder& NodeNamed(std::string name);
  // Processes only: resource limits; see ProcessLimits.
  ChildBuilder& MemoryLimit(int64_t bytes);
  ChildBuilder& OpenFilesLimit(int64_t files);
  // Processes only: the process is killed when its node has said nothing to this one for `time`, because it is then
  // stuck or stopped. 40 ms to 10 min. The default of 20 s is long enough for a process on a loaded machine.
  ChildBuilder& SilentWithin(absl::Duration time);
  // Processes only: adds a variable to the environment that the child inherits from this process.
  ChildBuilder& Environment(std::string variable, std::string value);

  // Children on other nodes only: how long a start waits until one of the nodes is connected.
  ChildBuilder& ConnectWithin(absl::Duration time);

  // The data, for a StartChild request.
  ChildSpec Spec(std::string id) const {
    ChildSpec spec = spec_;
    spec.id = std::move(id);
    return spec;
  }

 private:
  template <class T>
  ChildBuilder& Set(T& field, std::type_identity_t<T> value) {
    field = std::move(value);
    return *this;
  }
  ChildBuilder& SetShutdown(ChildShutdown shutdown) {
    spec_.shutdown = shutdown;
    return *this;
  }

  ChildSpec spec_;
};

class SupervisorBuilder {
 public:
  using RefType = SupervisorRef;

  explicit SupervisorBuilder(RestartStrategy strategy) { spec_.strategy = strategy; }

  // More than `restarts` within `period` and the supervisor gives up. Default:
  // 1 in 5 s.
  SupervisorBuilder& Intensity(int restarts, absl::Duration period) {
    spec_.intensity = restarts;
    spec_.period = period;
    return *this;
  }
  SupervisorBuilder& AutoShutdown(understudy::AutoShutdown when) {
    spec_.auto_shutdown = when;
    return *this;
  }
  // Children are stopped all at once, not one after another. Only of OneForOne.
  SupervisorBuilder& StopTogether() {
    spec_.stop_together = true;
    return *this;
  }
  // Called for each event of this supervisor, and of those below it that have
  // none of their own; in the supervisor's turn, so it must not wait.
  SupervisorBuilder& OnEvent(std::function<void(const SupervisionEvent&)> handler) {
    spec_.on_event = std::move(handler);
    return *this;
  }
  // Children start in the order of these calls.
  SupervisorBuilder& Child(std::string id, const ChildBuilder& child) {
    spec_.children.push_back(child.Spec(std::move(id)));
    return *this;
  }

  const SupervisorSpec& spec() const { return spec_; }
  // OK, or InvalidArgument with every error of the tree.
  absl::Status Validate() const { return ValidateSpec(spec_); }
  operator ActorSpec<SupervisorRef>() const { return MakeSupervisor(spec_); }  // NOLINT: it is one

 private:
  SupervisorSpec spec_;
};

inline SupervisorBuilder OneForOne() { return SupervisorBuilder(RestartStrategy::kOneForOne); }
inline SupervisorBuilder OneForAll() { return SupervisorBuilder(RestartStrategy::kOneForAll); }
inline SupervisorBuilder RestForOne() { return SupervisorBuilder(RestartStrategy::kRestForOne); }

namespace internal {

template <class F>
concept ActorFactory = requires(const F& factory) {
  { factory() } -> std::convertible_to<std::unique_ptr<Actor>>;
};
template <class S>
concept ChildSource = ActorFactory<S> || Spawnable<S> || std::same_as<S, SupervisorSpec>;

ChildBuilder WorkerOf(ChildStart::MakeActor make, const SpawnOptions& options);
ChildBuilder SupervisorOf(SupervisorSpec tree);
ChildBuilder ProcessOf(std::string binary, std::vector<std::string> arguments);
ChildBuilder RemoteOf(NodePlacement placement, FactoryCall factory);
ChildBuilder PoolOf(ChildStart make, const PoolOptions& options);

template <class T>
inline constexpr bool kIsPool = false;
template <class Signature>
inline constexpr bool kIsPool<Pool<Signature>> = true;

// `auto`, as SourceChild: see MakeHandler.
template <class T, class... Args>
auto ClassChild(Args&&... args) {
  if constexpr (kIsPool<T>) {
    ChildStart make([](const SupervisorSpec& tree) -> std::unique_ptr<Actor> { return std::make_unique<T>(tree); },
                    TypeName<T>());
    return PoolOf(std::move(make), PoolOptions(std::forward<Args>(args)...));
  } else {
    static_assert(alignof(ActorCheck<T, const std::decay_t<Args>&...>) > 0);
    const auto spec = MakeActorSpec<T, std::decay_t<Args>...>(std::forward<Args>(args)...);
    return WorkerOf(spec.make, spec.options);
  }
}

template <ChildSource S>
auto SourceChild(const S& source) {
  if constexpr (std::is_same_v<S, SupervisorBuilder>) {
    return SupervisorOf(source.spec());
  } else if constexpr (std::is_same_v<S, SupervisorSpec>) {
    return SupervisorOf(source);
  } else if constexpr (Spawnable<S>) {
    static_assert(!std::derived_from<typename S::RefType, SupervisorRef>,
                  "an ActorSpec hides the tree of its supervisor: give the SupervisorSpec or the builder itself, as in "
                  "Of(spec), and a pool as Of<Workers>(PoolOptions())");
    const ActorSpec<typename S::RefType> spec = source;
    return WorkerOf(spec.make, spec.options);
  } else {
    if constexpr (requires { source == nullptr; }) {
      if (source == nullptr) return WorkerOf(nullptr, SpawnOptions());
    }
    return WorkerOf([source]() -> std::unique_ptr<Actor> { return source(); }, SpawnOptions());
  }
}

}  // namespace internal

// What the child is: an actor class T with the arguments of its constructor, or a
// pool with its PoolOptions. The child is permanent, that is restarted after
// every exit, unless .Transient() or .Temporary() says otherwise.
template <class T, class... Args>
  requires std::derived_from<T, Actor>
ChildBuilder Of(Args&&... args) {
  return internal::ClassChild<T>(std::forward<Args>(args)...);
}

// A factory, an ActorSpec, or a supervisor: another builder, or the
// SupervisorSpec of a tree, from a file for instance. Of an ActorSpec's options
// the names, times, label and thread are kept; what belongs to a parent (link,
// handlers, unhandled mail) it may not have (CHECK).
template <internal::ChildSource S>
ChildBuilder Of(const S& source) {
  return internal::SourceChild(source);
}

// An actor on another node, one of `placement`, made by the factory that the node
// has registered as `factory` (transport/child_host.h), without an argument or
// with a protobuf message. Needs a Node, and that node's grant.
inline ChildBuilder Remote(NodePlacement placement, std::string factory) {
  return internal::RemoteOf(std::move(placement), FactoryCall{std::move(factory), "", ""});
}
template <WireMessage M>
ChildBuilder Remote(NodePlacement placement, std::string factory, const M& argument) {
  return internal::RemoteOf(std::move(placement), CallWith(std::move(factory), argument));
}

// A binary that runs as a process of its own; see ProcessSpec. Needs a Node.
inline ChildBuilder Process(std::string binary, std::vector<std::string> arguments = {}) {
  return internal::ProcessOf(std::move(binary), std::move(arguments));
}

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_BUILDERS_H_
