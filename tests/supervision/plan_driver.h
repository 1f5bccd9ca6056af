// PlanDriver: carries out the actions of a RestartPlan in virtual time, on children that exist only as names, and
// records each action:
//
//   PlanDriver plan(Spec(RestartStrategy::kOneForOne, {"a", "b"}));
//   plan.StartAll();
//   EXPECT_EQ(plan.Log(), "start a, start b, done");
//
// Children start and stop at once unless the test says otherwise.
#ifndef UNDERSTUDY_TESTS_SUPERVISION_PLAN_DRIVER_H_
#define UNDERSTUDY_TESTS_SUPERVISION_PLAN_DRIVER_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/random.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/supervision/internal/restart_plan.h"
#include "understudy/supervision/supervision_event.h"
#include "understudy/tests/supervision/startable.h"

namespace understudy {

// Returns a spec with permanent children of these ids and an intensity of 3 restarts in 10 s.
inline SupervisorSpec Spec(RestartStrategy strategy, const std::vector<std::string>& ids) {
  SupervisorSpec spec{.strategy = strategy, .intensity = 3, .period = absl::Seconds(10)};
  for (const std::string& id : ids) spec.children.push_back({.id = id});
  return spec;
}

inline constexpr RestartStrategy kOneForOne = RestartStrategy::kOneForOne;
inline constexpr RestartStrategy kOneForAll = RestartStrategy::kOneForAll;
inline constexpr RestartStrategy kRestForOne = RestartStrategy::kRestForOne;
inline constexpr RestartStrategy kStrategies[] = {kOneForOne, kOneForAll, kRestForOne};

// Returns `spec` with infinite shutdown times, so that no shutdown timers are in the log.
inline SupervisorSpec Patient(SupervisorSpec spec) {
  for (ChildSpec& child : spec.children) child.shutdown = ChildShutdown::Infinity();
  return spec;
}

class PlanDriver {
 public:
  using Action = RestartPlan::Action;

  explicit PlanDriver(const SupervisorSpec& spec, uint64_t seed = 1) : plan_(spec, Random(seed)) {}

  enum class StartResult { kStarts, kSlow, kFails, kIgnores };

  // The ids of children that behave in a special way. A slow start lasts until the test reports its outcome (Started or
  // Failed), and a slow stop lasts until the test reports the exit (Exit).
  std::set<std::string> slow_start, slow_stop, fail_start, ignore_start;
  // If set, decides how a child starts instead of the sets above.
  std::function<StartResult(const std::string& id)> on_start;

  RestartPlan& plan() { return plan_; }
  MonotonicTime now() const { return now_; }

  void StartAll() {
    plan_.StartAll(now_);
    Apply();
  }
  void Shutdown() {
    plan_.Shutdown(ExitReason::Shutdown(), now_);
    Apply();
  }
  // Reports that the slow start of the child has succeeded.
  void Started(const std::string& id) {
    plan_.Started(life_.at(id), now_);
    Apply();
  }
  void Failed(const std::string& id, const ExitReason& reason = ExitReason::StartTimeout()) {
    plan_.Down(life_.at(id), reason, now_);
    life_.erase(id);
    Apply();
  }
  void Exit(const std::string& id, const ExitReason& reason = ExitReason::Exception("std::logic_error", "oops")) {
    const RestartPlan::LifeId life = life_.at(id);
    life_.erase(id);
    if (reason.handler_running()) plan_.Lingers(life);
    plan_.Down(life, reason, now_);
    Apply();
  }
  RestartPlan::RequestId StartChild(ChildSpec spec) {
    plan_.StartChild(Startable(std::move(spec)), ++requests_, now_);
    return Apply();
  }
  RestartPlan::RequestId Terminate(const std::string& id) {
    plan_.TerminateChild(id, ++requests_, now_);
    return Apply();
  }
  RestartPlan::RequestId Restart(const std::string& id) {
    plan_.RestartChild(id, ++requests_, now_);
    return Apply();
  }
  RestartPlan::RequestId Delete(const std::string& id) {
    plan_.DeleteChild(id, ++requests_, now_);
    return Apply();
  }
  RestartPlan::RequestId StartMember(const std::string& id) {
    plan_.StartMember(id, nullptr, ++requests_, now_);
    return Apply();
  }
  RestartPlan::RequestId TerminatePid(Pid pid) {
    plan_.TerminateChild(pid, ++requests_, now_);
    return Apply();
  }
  // Call before StartAll. Records that an instance of the child, left by a previous supervisor, is still running.
  void Inherit(const std::string& id) { stuck_[id] = {plan_.AddPredecessor(id), PlaceOf(id)}; }
  // Reports that the child was killed and that its handler is still running, until the test calls Gone.
  void KillStuck(const std::string& id) { Exit(id, ExitReason::KilledHandlerRunning()); }
  void Gone(const std::string& id) {
    const RestartPlan::LifeId life = stuck_.at(id).life;
    stuck_.erase(id);
    plan_.Gone(life, now_);
    Apply();
  }
  bool IsStuck(const std::string& id) const { return stuck_.contains(id); }
  void TakeName(const std::string& name) {
    plan_.NameTaken(name);
    Apply();
  }
  void FreeName(const std::string& name) {
    plan_.NameFreed(name, now_);
    Apply();
  }
  // Lets time pass; due timers fire in order.
  void Pass(absl::Duration duration) {
    const MonotonicTime end = now_ + duration;
    while (!timers_.empty()) {
      auto first = timers_.begin();
      for (auto it = timers_.begin(); it != timers_.end(); ++it) {
        if (it->second < first->second) first = it;
      }
      if (first->second > end) break;
      now_ = first->second;
      const RestartPlan::TimerId timer = first->first;
      timers_.erase(first);
      plan_.TimerElapsed(timer, now_);
      Apply();
    }
    now_ = end;
  }

  // Returns the children whose names are kept, such as "a b".
  std::string Kept() const { return absl::StrJoin(kept_, " "); }
  bool IsUp(const std::string& id) const { return life_.contains(id); }
  RestartPlan::LifeId LifeOf(const std::string& id) const { return life_.at(id); }
  // Returns the id of the child of which `life` is or was an instance.
  const std::string& IdOf(RestartPlan::LifeId life) const { return id_of_.at(life); }

  // Returns the actions since the last call, as text.
  std::string Log() { return absl::StrJoin(std::exchange(log_, {}), ", "); }
  std::vector<SupervisionEvent> Events() { return std::exchange(events_, {}); }
  const absl::Status& StatusOf(RestartPlan::RequestId request) const { return replies_.at(request); }
  bool IsAnswered(RestartPlan::RequestId request) const { return replies_.contains(request); }
  int AnswersTo(RestartPlan::RequestId request) { return answers_[request]; }
  RestartPlan::RequestId requests() const { return requests_; }
  bool WasAskedToStop(const std::string& id) const { return IsUp(id) && asked_.contains(life_.at(id)); }
  const ExitReason& finish_reason() const { return finish_reason_; }
  size_t timers() const { return timers_.size(); }
  // Returns the states of the children as text, such as "a running, b stopped".
  std::string States() const {
    std::vector<std::string> states;
    for (const ChildInfo& child : plan_.children().WhichChildren()) {
      states.push_back(absl::StrCat(child.id, " ", ChildStateName(child.state)));
    }
    return absl::StrJoin(states, ", ");
  }

 private:
  RestartPlan::RequestId Apply() {
    const RestartPlan::RequestId request = requests_;
    for (Action& action : plan_.TakeActions()) actions_.push_back(std::move(action));
    while (!actions_.empty()) {
      const Action action = std::move(actions_.front());
      actions_.pop_front();
      std::visit([this](const auto& what) { this->Apply(what); }, action);
      for (Action& more : plan_.TakeActions()) actions_.push_back(std::move(more));
    }
    return request;
  }

  void Apply(const RestartPlan::StartLife& start) {
    if (plan_.KeepsNames(start.life)) kept_.insert(start.child->id);
    Start(start.life, start.child->id);
  }
  void Apply(const RestartPlan::StopLife& stop) { Stop(stop.life, Asks::kToStop); }
  void Apply(const RestartPlan::KillLife& kill) { Stop(kill.life, Asks::kNobody); }
  void Apply(const RestartPlan::ArmTimer& timer) {
    log_.push_back(absl::StrCat("timer ", absl::FormatDuration(timer.wait)));
    timers_[timer.timer] = now_ + timer.wait;
  }
  void Apply(const RestartPlan::CancelTimer& timer) {
    log_.push_back("cancel timer");
    timers_.erase(timer.timer);
  }
  void Apply(const RestartPlan::Reply& reply) {
    log_.push_back(absl::StrCat("reply ", reply.request, " ", absl::StatusCodeToString(reply.status.code())));
    replies_[reply.request] = reply.status;
    ++answers_[reply.request];
  }
  void Apply(const RestartPlan::WatchName& watch) { log_.push_back(absl::StrCat("watch ", watch.name)); }
  void Apply(const RestartPlan::AwaitGone& await) {
    const std::string& id = id_of_.at(await.life);
    log_.push_back(absl::StrCat("await gone ", id));
    stuck_[id] = {await.life, place_of_.at(await.life)};
  }
  void Apply(const RestartPlan::FreeNames& free) { kept_.erase(free.child->id); }
  void Apply(const RestartPlan::ForgetChild&) {}
  void Apply(const RestartPlan::Report& report) { events_.push_back(report.event); }
  void Apply(const RestartPlan::StartDone&) { log_.push_back("done"); }
  void Apply(const RestartPlan::Finish& finish) {
    log_.push_back(absl::StrCat("finish ", ExitKindName(finish.reason.kind())));
    finish_reason_ = finish.reason;
  }

  void Start(RestartPlan::LifeId life, const std::string& id) {
    log_.push_back(absl::StrCat("start ", id));
    id_of_[life] = id;
    place_of_[life] = PlaceOf(id);
    if (life_.contains(id)) log_.push_back(absl::StrCat("BUG: ", id, " runs already"));
    if (const auto stuck = stuck_.find(id); stuck != stuck_.end() && stuck->second.place == PlaceOf(id)) {
      log_.push_back(absl::StrCat("BUG: the handler of the last ", id, " runs still"));
    }
    plan_.Spawned(life, Pid(1, 1, life));
    const StartResult result = ResultFor(id);
    if (result == StartResult::kFails) {
      plan_.Down(life, ExitReason::Failed(absl::NotFoundError(absl::StrCat("no file for ", id))), now_);
    } else if (result == StartResult::kIgnores) {
      plan_.Ignored(life, now_);
    } else {
      life_[id] = life;
      if (result == StartResult::kStarts) plan_.Started(life, now_);
    }
  }

  // Returns 0 if there is no such child.
  uint64_t PlaceOf(const std::string& id) const {
    for (const ChildInfo& child : plan_.children().WhichChildren()) {
      if (child.id == id) return child.place;
    }
    return 0;
  }

  StartResult ResultFor(const std::string& id) const {
    if (on_start) return on_start(id);
    if (fail_start.contains(id)) return StartResult::kFails;
    if (ignore_start.contains(id)) return StartResult::kIgnores;
    return slow_start.contains(id) ? StartResult::kSlow : StartResult::kStarts;
  }

  enum class Asks { kToStop, kNobody };
  void Stop(RestartPlan::LifeId life, Asks asks) {
    const std::string id = id_of_.at(life);
    const bool is_kill = asks == Asks::kNobody;
    log_.push_back(absl::StrCat(is_kill ? "kill " : "stop ", id));
    if (!life_.contains(id) || life_.at(id) != life) log_.push_back(absl::StrCat("BUG: ", id, " does not run"));
    if (!is_kill && !asked_.insert(life).second) log_.push_back(absl::StrCat("BUG: ", id, " was asked already"));
    if (!is_kill && slow_stop.contains(id)) return;
    life_.erase(id);
    plan_.Down(life, is_kill ? ExitReason::Killed() : ExitReason::Shutdown(), now_);
  }

  RestartPlan plan_;
  MonotonicTime now_ = MonotonicTime::FromNanos(1000000000);
  RestartPlan::RequestId requests_ = 0;
  std::map<std::string, RestartPlan::LifeId> life_;
  std::map<RestartPlan::LifeId, std::string> id_of_;
  std::map<RestartPlan::TimerId, MonotonicTime> timers_;
  std::set<std::string> kept_;
  std::map<RestartPlan::RequestId, absl::Status> replies_;
  std::map<RestartPlan::RequestId, int> answers_;
  std::set<RestartPlan::LifeId> asked_;
  std::map<RestartPlan::LifeId, uint64_t> place_of_;
  struct Stuck {
    RestartPlan::LifeId life = 0;
    uint64_t place = 0;
  };
  std::map<std::string, Stuck> stuck_;
  std::deque<Action> actions_;
  std::vector<std::string> log_;
  std::vector<SupervisionEvent> events_;
  ExitReason finish_reason_;
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_SUPERVISION_PLAN_DRIVER_H_
