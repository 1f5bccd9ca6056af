// Pool: a dynamic supervisor, whose children are all of one class and are started by request. OTP's
// simple_one_for_one; Elixir's DynamicSupervisor.
//
//   using Workers = Pool<Worker(JobConfig)>;             // the arguments travel in the start message
//   auto house = OneForOne().Child("workers", Of<Workers>(PoolOptions{.shards = 4}).RegisteredAs("workers"));
//
//   auto starting = workers.start().Ask(config, absl::Seconds(1));       // workers: a PoolRef<Worker(JobConfig)>
//   absl::StatusOr<Ref<Worker>> worker = co_await starting;              // started, or why not
//   auto keyed = workers.start_as().Ask({"job-17", config}, absl::Seconds(1));
//   auto found = workers.find_or_start().Ask({"job-17", config}, absl::Seconds(1));   // the one that runs, if there is
//   one workers.terminate_child() …  TerminateChild{"job-17"}, or {.pid = worker->pid()}
//
// A pool is a supervisor: it answers which_children, count_children, get_child_spec and subscribe, gives up when its
// intensity is spent, and ends after its children. It differs from other supervisors in this:
// - Any number of children start, stop and are restarted at the same time, each in its own turns. A request about one
//   child does not wait for another child.
// - A child has an id, which is given with start_as or made up otherwise ("worker#17"). Requests name a child by its id
//   or by its pid; while the child is being restarted, by its last pid.
// - A child that is down for good is forgotten: a child that was terminated, declined to start, has ended and is not to
//   be restarted, or is given up because of a limit of its own (backoff, budget, exclusive). To give up one child is
//   reported (kGaveUp) and does not affect the others.
// - start_child, restart_child and delete_child are refused.
// - All children are stopped at once.
//
// A pool begins without children, also after a restart of the pool. For children that must always be there, put
// InitialChildren (initial_children.h) after the pool under rest_for_one.
//
// find_or_start answers the child with that id, which is started if there is none; the arguments of a child that runs
// stay as they are. While that child is being restarted or stopped, it answers Restarting: ask again after a pause.
//
// The arguments of a child's constructor are the request: the argument itself if there is one, else a tuple. They are
// copied at each start. The answer to a start that declined is a null ref.
//
// With several shards, that many supervisors share the children by a hash of the ids. A front hands requests to them
// and answers as one pool. Intensity and children_max are then counted in each shard, and when one shard gives up, the
// pool does.
//
// Threads: a ref is a value for any thread.
#ifndef UNDERSTUDY_SUPERVISION_POOL_H_
#define UNDERSTUDY_SUPERVISION_POOL_H_

#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/mailbox_signature.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/replier.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_start.h"
#include "understudy/supervision/internal/pending_answers.h"
#include "understudy/supervision/internal/plan_supervisor.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/supervision/supervisor.h"

namespace understudy {

// The options of a pool and of each of its children; see ChildSpec, SupervisorSpec, PoolSpec.
struct PoolOptions {
  std::string id = "child";  // ids that are made up are this, '#' and a number
  RestartType restart = RestartType::kTemporary;
  absl::optional<ChildShutdown> shutdown;
  absl::optional<RestartBackoff> backoff;
  absl::optional<RestartBudget> budget;
  bool exclusive = false;
  bool significant = false;
  absl::Duration start_within = absl::InfiniteDuration();
  // The names of each child, on this node and in the cluster; empty for none. A name must contain "{id}", which is
  // replaced by the child's id: "job/{id}". If another actor has the name, the start fails with AlreadyExists.
  std::string registered_as;
  std::string published_as;

  int intensity = 1;
  absl::Duration period = absl::Seconds(5);
  AutoShutdown auto_shutdown = AutoShutdown::kNever;
  // With several shards each has its part of children_max, rounded up.
  int children_max = static_cast<int>(limits::kChildrenPerSupervisorMax);
  int shards = 1;
  // Called in the turns of each shard, so with several shards from several threads at once; see SupervisorSpec.
  std::function<void(const SupervisionEvent&)> on_event;
};

// Returns the tree of such a pool, for Pool's constructor. It is not validated.
SupervisorSpec PoolTree(const PoolOptions& options);

// The request of start_as and find_or_start: the id of the child, not empty, and the arguments of its constructor.
template <class Arguments>
struct Keyed {
  std::string id;
  Arguments arguments;
};

namespace internal {

template <class... Args>
struct ArgumentsOf {
  using type = std::tuple<Args...>;
};
template <class Arg>
struct ArgumentsOf<Arg> {
  using type = Arg;
};

}  // namespace internal

namespace internal {

// Answers as `answer` does, but with the child's pid if its id is taken, and Restarting if that child is down for the
// moment.
AnswerRequest OrExisting(AnswerRequest answer);

}  // namespace internal

template <class Signature>
class PoolRef;
template <class Signature>
class Pool;

template <class A, class... Args>
class Pool<A(Args...)> : public internal::PlanSupervisor {
 public:
  using Ref = PoolRef<A(Args...)>;
  using ChildRef = typename internal::RefOf<A>::type;
  using Arguments = typename internal::ArgumentsOf<std::decay_t<Args>...>::type;
  static_assert(std::is_copy_constructible_v<Arguments>,
                "the arguments of a child that may start again are copied at each start");

  explicit Pool(const PoolOptions& options = {}) : Pool(PoolTree(options)) {}
  // Requires tree.pool != nullptr.
  explicit Pool(const SupervisorSpec& tree) : PlanSupervisor(std::make_shared<const SupervisorSpec>(tree)) {
    static_assert(alignof(internal::ActorCheck<A, const std::decay_t<Args>&...>) > 0);
  }

 protected:
  Mailbox<"start", Call<Arguments, ChildRef>> start{this, kRequests};
  Mailbox<"start_as", Call<Keyed<Arguments>, ChildRef>> start_as{this, kRequests};
  Mailbox<"find_or_start", Call<Keyed<Arguments>, ChildRef>> find_or_start{this, kRequests};

  Behavior Supervising() override {
    return SupervisingAnd(On(start, &Pool::StartOne).When(&Pool::MayStart),
                          On(start_as, &Pool::StartOneAs).When(&Pool::MayStart),
                          On(find_or_start, &Pool::FindOrStartOne).When(&Pool::MayStart));
  }

 private:
  friend class PoolRef<A(Args...)>;

  bool MayStart() const { return IsStarted(); }
  void StartOne(Arguments arguments, Replier<ChildRef> replier) {
    StartMemberOfPool("", StartOf(std::move(arguments)), Answering(std::move(replier)));
  }
  void StartOneAs(Keyed<Arguments> keyed, Replier<ChildRef> replier) {
    StartKeyed(std::move(keyed), Answering(std::move(replier)));
  }
  void FindOrStartOne(Keyed<Arguments> keyed, Replier<ChildRef> replier) {
    StartKeyed(std::move(keyed), internal::OrExisting(Answering(std::move(replier))));
  }
  void StartKeyed(Keyed<Arguments> keyed, internal::AnswerRequest answer) {
    if (keyed.id.empty()) {
      std::move(answer)(absl::InvalidArgumentError("the id is empty; `start` makes one up"));
      return;
    }
    StartMemberOfPool(std::move(keyed.id), StartOf(std::move(keyed.arguments)), std::move(answer));
  }
  static internal::AnswerRequest Answering(Replier<ChildRef> replier) {
    return internal::AnswerWith(std::move(replier), [](Pid pid) { return ChildRef(pid); });
  }
  static std::shared_ptr<const ChildStart> StartOf(Arguments arguments) {
    ChildStart::MakeActor make = [arguments = std::move(arguments)]() -> std::unique_ptr<Actor> {
      if constexpr (sizeof...(Args) == 1) {
        return internal::MakeChecked<A>(arguments);
      } else {
        return std::apply([](const auto&... each) { return internal::MakeChecked<A>(each...); }, arguments);
      }
    };
    return std::make_shared<const ChildStart>(std::move(make), internal::TypeName<A>());
  }
};

template <class A, class... Args>
class PoolRef<A(Args...)> : public SupervisorRef {
 public:
  using PoolType = Pool<A(Args...)>;
  using Arguments = typename PoolType::Arguments;
  using ChildRef = typename PoolType::ChildRef;
  using SupervisorRef::SupervisorRef;

  Channel<Call<Arguments, ChildRef>> start() const { return Ref<PoolType>(pid())[&PoolType::start]; }
  Channel<Call<Keyed<Arguments>, ChildRef>> start_as() const { return Ref<PoolType>(pid())[&PoolType::start_as]; }
  Channel<Call<Keyed<Arguments>, ChildRef>> find_or_start() const {
    return Ref<PoolType>(pid())[&PoolType::find_or_start];
  }

  static std::vector<MailboxSignature> Mailboxes() {
    std::vector<MailboxSignature> mailboxes = SupervisorRef::Mailboxes();
    mailboxes.push_back(SignatureOf(&PoolType::start));
    mailboxes.push_back(SignatureOf(&PoolType::start_as));
    mailboxes.push_back(SignatureOf(&PoolType::find_or_start));
    return mailboxes;
  }
};

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_POOL_H_
