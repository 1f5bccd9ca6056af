// ReadTree (ops_reads.h): the supervision tree, as its supervisors have noted it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/supervision/supervisor_looks.h"
#include "understudy/transport/ops/ops_limits.h"
#include "understudy/transport/ops/ops_reads.h"

namespace understudy::internal {
namespace {

// 0 stands for a time without end.
int64_t NanosOf(absl::Duration time) { return time == absl::InfiniteDuration() ? 0 : absl::ToInt64Nanoseconds(time); }

void AddSpec(const ChildLook& child, proto::ChildDetails& out) {
  out.set_significant(child.significant);
  out.set_is_killed(child.shutdown.kind == ChildShutdown::Kind::kBrutalKill);
  out.set_shutdown_nanos(NanosOf(child.shutdown.LongestStop()));
  if (child.backoff.has_value()) {
    proto::BackoffDetails& backoff = *out.mutable_backoff();
    backoff.set_min_nanos(NanosOf(child.backoff->min));
    backoff.set_max_nanos(NanosOf(child.backoff->max));
    backoff.set_factor(child.backoff->factor);
    backoff.set_jitter(child.backoff->jitter);
    backoff.set_reset_after_nanos(NanosOf(child.backoff->reset_after));
    backoff.set_give_up_after_attempts(child.backoff->give_up_after_attempts);
    backoff.set_give_up_after_nanos(NanosOf(child.backoff->give_up_after));
  }
  if (child.budget.has_value()) {
    proto::BudgetDetails& budget = *out.mutable_budget();
    budget.set_intensity(child.budget->intensity);
    budget.set_period_nanos(NanosOf(child.budget->period));
  }
}

proto::ChildDetails DetailsOf(const ChildLook& child) {
  proto::ChildDetails out;
  out.set_id(ShownText(child.info.id));
  out.set_state(std::string(ChildStateName(child.info.state)));
  out.set_pid(TextOf(child.info.pid));
  out.set_kind(std::string(ChildKindName(child.info.kind)));
  out.set_restart(std::string(RestartTypeName(child.info.restart)));
  out.set_restarts(child.info.restarts);
  if (child.next_start.has_value()) out.set_starts_at_nanos(child.next_start->nanos());
  if (!child.last_exit.empty()) {
    out.set_last_exit(ShownText(child.last_exit));
    out.set_exited_at_nanos(child.exited.nanos());
  }
  AddSpec(child, out);
  return out;
}

// Without the children.
proto::SupervisorDetails DetailsOf(const SupervisorLook& supervisor, ActorSystem& system) {
  proto::SupervisorDetails out;
  out.set_pid(TextOf(supervisor.pid));
  out.set_parent(TextOf(supervisor.parent));
  for (const std::string& name : system.registry().NamesOf(supervisor.pid)) {
    if (static_cast<size_t>(out.names_size()) == limits::kOpsNamesPerActorMax) break;
    out.add_names(ShownText(name));
  }
  out.set_strategy(std::string(RestartStrategyName(supervisor.strategy)));
  out.set_is_pool(supervisor.is_pool);
  out.set_intensity(supervisor.intensity);
  out.set_period_nanos(NanosOf(supervisor.period));
  out.set_restarts_in_period(supervisor.restarts_in_period);
  return out;
}

void SetNext(TreePlace place, proto::GetTreeReply& reply) {
  reply.mutable_next()->set_supervisor(place.supervisor);
  reply.mutable_next()->set_child(place.child);
}

}  // namespace

proto::GetTreeReply ReadTree(ActorSystem& system, const proto::GetTreeRequest& request) {
  const TreePlace from{request.from().supervisor(), request.from().child()};
  const MonotonicTime now = system.clock().Now();
  const TreePage page = LookAtSupervisors(system.node(), from,
                                          request.at_most() == 0 ? limits::kTreeEntriesUsual : request.at_most(), now);
  proto::GetTreeReply reply;
  reply.set_clock_nanos(now.nanos());
  if (page.next.supervisor != 0) SetNext(page.next, reply);
  ReplyRoom room;
  for (const SupervisorLook& supervisor : page.supervisors) {
    if (!HasActor(system, supervisor.pid)) continue;  // killed, while its handler runs on
    TreePlace place{supervisor.number, supervisor.number == from.supervisor ? from.child : 0};
    proto::SupervisorDetails own = DetailsOf(supervisor, system);
    // One supervisor and a child always have room (limits::kOpsNamesPerActorMax, kOpsTextBytesMax).
    if (!room.Takes(own)) {
      SetNext(place, reply);
      return reply;
    }
    proto::SupervisorDetails& out = *reply.add_supervisors();
    out = std::move(own);
    for (const ChildLook& child : supervisor.children) {
      proto::ChildDetails details = DetailsOf(child);
      if (!room.Takes(details)) {
        SetNext(place, reply);
        return reply;
      }
      *out.add_children() = std::move(details);
      place.child = child.info.place;
    }
  }
  return reply;
}

}  // namespace understudy::internal
