// ReadTree (ops_reads.h): the supervision tree, as its supervisors tell it.
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "understudy/actors/actor_info.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/inspection.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/pid.h"
#include "understudy/proto/ops.pb.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/supervisor.h"
#include "understudy/transport/ops/ops_limits.h"
#include "understudy/transport/ops/ops_reads.h"

namespace understudy::internal {
namespace {

// The answers that have come. Shared with the callbacks of the asks, which may come after ReadTree has returned.
class Answers {
 public:
  explicit Answers(size_t count) : answers_(count), missing_(count) {}

  void Set(size_t place, absl::StatusOr<Children> answer) {
    absl::MutexLock lock(&mu_);
    answers_[place] = std::move(answer);
    --missing_;
  }
  bool AreComplete() const {
    absl::MutexLock lock(&mu_);
    return missing_ == 0;
  }
  std::vector<absl::optional<absl::StatusOr<Children>>> Get() const {
    absl::MutexLock lock(&mu_);
    return answers_;
  }

 private:
  mutable absl::Mutex mu_;
  std::vector<absl::optional<absl::StatusOr<Children>>> answers_ ABSL_GUARDED_BY(mu_);
  size_t missing_ ABSL_GUARDED_BY(mu_);
};

// At most limits::kTreeSupervisorsMax and one page more.
std::vector<ActorInfo> Supervisors(ActorSystem& system) {
  std::vector<ActorInfo> found;
  ActorQuery query{.at_most = limits::kActorsPerPageMax,
                   .mailbox = absl::StrCat(Supervisor::kService, "/WhichChildren")};
  do {
    ActorPage page = ListActors(system, query);
    for (ActorInfo& info : page.actors) found.push_back(std::move(info));
    query.after = page.next;
  } while (query.after != 0 && found.size() <= limits::kTreeSupervisorsMax);
  return found;
}

void ToDetails(const Children& children, proto::SupervisorDetails& out) {
  for (const ChildInfo& child : children.children) {
    proto::ChildDetails& details = *out.add_children();
    details.set_id(ShownText(child.id));
    details.set_state(std::string(ChildStateName(child.state)));
    details.set_pid(TextOf(child.pid));
    details.set_kind(std::string(ChildKindName(child.kind)));
    details.set_restart(std::string(RestartTypeName(child.restart)));
    details.set_restarts(child.restarts);
  }
  out.set_has_more(children.next != 0);
}

// Appends the supervisors below `parent` to `order`, each before those below it.
void AddBelow(Pid parent, const std::multimap<Pid, size_t>& by_parent, std::vector<size_t>& order,
              const std::vector<ActorInfo>& supervisors) {
  const auto [begin, end] = by_parent.equal_range(parent);
  for (auto child = begin; child != end; ++child) {
    order.push_back(child->second);
    AddBelow(supervisors[child->second].pid, by_parent, order, supervisors);
  }
}

}  // namespace

proto::GetTreeReply ReadTree(ActorSystem& system, absl::Duration within) {
  std::vector<ActorInfo> supervisors = Supervisors(system);
  const bool has_more = supervisors.size() > limits::kTreeSupervisorsMax;
  if (has_more) supervisors.resize(limits::kTreeSupervisorsMax);
  auto shared = std::make_shared<Answers>(supervisors.size());
  for (size_t i = 0; i < supervisors.size(); ++i) {
    system.Ask(SupervisorRef(supervisors[i].pid).which_children(), WhichChildren(), within,
               [shared, i, &executor = system.executor()](absl::StatusOr<Children> answer) {
                 shared->Set(i, std::move(answer));
                 executor.Notify();
               });
  }
  (void)system.executor().BlockUntil([&] { return shared->AreComplete(); }, system.clock().Now() + within);
  const auto answers = shared->Get();

  // A supervisor that was queued did not tell its parent; the parent's answer does.
  std::map<Pid, size_t> places;
  for (size_t i = 0; i < supervisors.size(); ++i) places[supervisors[i].pid] = i;
  for (size_t i = 0; i < supervisors.size(); ++i) {
    if (!answers[i].has_value() || !answers[i]->ok()) continue;
    for (const ChildInfo& child : (*answers[i])->children) {
      if (const auto below = places.find(child.pid); below != places.end()) {
        supervisors[below->second].parent = supervisors[i].pid;
      }
    }
  }
  std::multimap<Pid, size_t> by_parent;
  for (size_t i = 0; i < supervisors.size(); ++i) {
    const Pid parent = supervisors[i].parent;
    by_parent.emplace(places.contains(parent) ? parent : Pid(), i);
  }
  std::vector<size_t> order;
  AddBelow(Pid(), by_parent, order, supervisors);

  proto::GetTreeReply reply;
  reply.set_has_more(has_more);
  size_t bytes = 0;
  for (const size_t i : order) {
    proto::SupervisorDetails& out = *reply.add_supervisors();
    out.set_pid(TextOf(supervisors[i].pid));
    out.set_parent(TextOf(supervisors[i].parent));
    for (const std::string& name : supervisors[i].names) out.add_names(ShownText(name));
    if (!answers[i].has_value()) {
      out.set_error(absl::StrCat("no answer within ", absl::FormatDuration(within)));
    } else if (!answers[i]->ok()) {
      out.set_error(ShownText(answers[i]->status().message()));
    } else {
      ToDetails(**answers[i], out);
    }
    bytes += out.ByteSizeLong();
    if (bytes <= limits::kOpsReplyBytesMax) continue;
    if (reply.supervisors_size() > 1) reply.mutable_supervisors()->RemoveLast();
    reply.set_has_more(true);
    break;
  }
  return reply;
}

}  // namespace understudy::internal
