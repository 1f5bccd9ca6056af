// Supervisor: an actor that starts its children in order, restarts those that
// end, and stops them in reverse. Made by the builders (builders.h) or from
// data (MakeSupervisor):
//
//   SupervisorRef house = system.Spawn(OneForOne().Intensity(3, absl::Seconds(10))
//                                          .Child("book", Of<Book>("bids.db"))
//                                          .Child("lot-1", Of<Lot>(closes).Transient()));
//   auto asked = house.which_children().Ask({}, absl::Seconds(1));
//
// The rules are OTP's, with the differences that docs/for_erlang_users.md lists.
// RestartPlan decides what a supervisor does next. Children are linked with
// the supervisor as their parent. It is *started* when all its children are;
// a child that cannot start is the reason why it could not. It ends when its
// parent's exit or a RequestStop tells it to, after all its children, with
// that reason; or with RestartsExhausted when it gives up.
//
// A supervisor never blocks: queries are answered at once while children start and stop,
// also during its own start. It ignores exits of linked actors that are not
// its parent.
//
// Threads: a ref is a value for any thread.
#ifndef UNDERSTUDY_SUPERVISION_SUPERVISOR_H_
#define UNDERSTUDY_SUPERVISION_SUPERVISOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_spec.h"
#include "understudy/actors/channel.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/mailbox_options.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/ref.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/limits.h"
#include "understudy/supervision/supervision_event.h"

namespace understudy {

// Queries.
//
// Asks for the children in start order. To page, set `after` to the `next` of the previous answer.
// An answer has at most `at_most` children, and never more than limits::kChildrenPerAnswerMax.
struct WhichChildren {
  uint64_t after = 0;
  size_t at_most = limits::kChildrenPerAnswerMax;
};
struct Children {
  std::vector<ChildInfo> children;
  uint64_t next = 0;  // 0: these are the last
};
struct CountChildren {};
struct GetChildSpec {
  std::string id;
};

// Requests. Their errors are those of RestartPlan's requests.
struct StartChild {
  ChildSpec spec;  // see ChildBuilder::Spec
};
// Starts another child of a pool from the pool's template. If `id` is empty the pool makes one up.
struct StartMember {
  std::string id;
};
// Stops the child with this id or, if `id` is empty, with this pid. By pid, returns OK if the actor
// has already ended, and NotFound if it is alive but not a child. An actor on another node counts
// as alive if its node is not connected or does not answer within limits::kUnknownPidAnswersWithin.
struct TerminateChild {
  std::string id;
  Pid pid;
};
struct RestartChild {
  std::string id;
};
struct DeleteChild {
  std::string id;
};
struct ChildStarted {
  Pid pid;  // null when it declined to start
};
struct ChildDone {};

// Sends each later SupervisionEvent to `subscriber`, until the subscribing actor or the supervisor ends. A second
// subscription by an actor replaces its first. A subscriber that is a child of this supervisor gets no event after the
// supervisor has told it to stop. An event that the subscriber's full mailbox refuses is a dead letter. Returns
// ResourceExhausted if there are limits::kSupervisionSubscribersMax other subscribers already.
struct Subscribe {
  Channel<SupervisionEvent> subscriber;
};
struct Subscribed {};

class SupervisorRef;

class Supervisor : public Actor {
 public:
  using Ref = SupervisorRef;
  static constexpr absl::string_view kService = "understudy.Supervisor";

 protected:
  static constexpr MailboxOptions kRequests = {.capacity_messages = limits::kSupervisorRequestsMax};
  Mailbox<"WhichChildren", Call<WhichChildren, Children>> which_children{this};
  Mailbox<"CountChildren", Call<CountChildren, ChildCounts>> count_children{this};
  Mailbox<"GetChildSpec", Call<GetChildSpec, ChildSpec>> get_child_spec{this};
  Mailbox<"StartChild", Call<StartChild, ChildStarted>> start_child{this, kRequests};
  Mailbox<"TerminateChild", Call<TerminateChild, ChildDone>> terminate_child{this, kRequests};
  Mailbox<"RestartChild", Call<RestartChild, ChildStarted>> restart_child{this};
  Mailbox<"DeleteChild", Call<DeleteChild, ChildDone>> delete_child{this};
  Mailbox<"Subscribe", Call<Subscribe, Subscribed>> subscribe{this};
  Mailbox<"StartMember", Call<StartMember, ChildStarted>> start_member{this, kRequests};
  friend class SupervisorRef;
};

class SupervisorRef : public Ref<Supervisor> {
 public:
  using Ref<Supervisor>::Ref;
  SupervisorRef(const Ref<Supervisor>& ref) : Ref<Supervisor>(ref) {}  // NOLINT: the same ref

  Channel<Call<WhichChildren, Children>> which_children() const { return (*this)[&Supervisor::which_children]; }
  Channel<Call<CountChildren, ChildCounts>> count_children() const { return (*this)[&Supervisor::count_children]; }
  Channel<Call<GetChildSpec, ChildSpec>> get_child_spec() const { return (*this)[&Supervisor::get_child_spec]; }
  Channel<Call<StartChild, ChildStarted>> start_child() const { return (*this)[&Supervisor::start_child]; }
  Channel<Call<TerminateChild, ChildDone>> terminate_child() const { return (*this)[&Supervisor::terminate_child]; }
  Channel<Call<RestartChild, ChildStarted>> restart_child() const { return (*this)[&Supervisor::restart_child]; }
  Channel<Call<DeleteChild, ChildDone>> delete_child() const { return (*this)[&Supervisor::delete_child]; }
  Channel<Call<StartMember, ChildStarted>> start_member() const { return (*this)[&Supervisor::start_member]; }
  Channel<Call<Subscribe, Subscribed>> subscribe() const { return (*this)[&Supervisor::subscribe]; }

  static std::vector<MailboxSignature> Mailboxes();
};

// Makes a supervisor of the tree `spec`. If the tree has errors, the supervisor's start fails with the InvalidArgument
// of ValidateSpec, which lists all of them.
ActorSpec<SupervisorRef> MakeSupervisor(SupervisorSpec spec);

}  // namespace understudy

#endif  // UNDERSTUDY_SUPERVISION_SUPERVISOR_H_
