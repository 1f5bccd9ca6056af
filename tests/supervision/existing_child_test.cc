#include "understudy/supervision/internal/existing_child.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/child_spec.h"
#include "understudy/supervision/internal/child_info.h"
#include "understudy/tests/supervision/plan_driver.h"

namespace understudy {
namespace {

// OTP's already_started error contains the pid; its already_present error does not.
TEST(ExistingChild, AStartChildOfATakenIdIsToldWhatThatChildIsDoingAndItsPid) {
  SupervisorSpec spec = Patient(Spec(kOneForOne, {"a", "b"}));
  spec.children[1].backoff = RestartBackoff{};
  PlanDriver plan(spec);
  plan.StartAll();
  const Pid pid = plan.plan().children().WhichChildren()[0].pid;
  const absl::Status running = plan.StatusOf(plan.StartChild({.id = "a"}));
  EXPECT_EQ(running.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(running.message(), "there is a child 'a' already, which is running as " + pid.ToString());
  EXPECT_EQ(ExistingChild(running), pid);

  plan.Terminate("a");
  const absl::Status stopped = plan.StatusOf(plan.StartChild({.id = "a"}));
  EXPECT_EQ(stopped.message(), "there is a child 'a' already, which is stopped: restart it, or delete it first");
  EXPECT_EQ(ExistingChild(stopped), Pid());

  plan.Exit("b");
  plan.Exit("b");
  const absl::Status restarting = plan.StatusOf(plan.StartChild({.id = "b"}));
  EXPECT_EQ(restarting.message(), "there is a child 'b' already, which is restarting");
  EXPECT_EQ(ExistingChild(restarting), Pid());
}

TEST(ExistingChild, NoOtherStatusHasTheChildThatExists) {
  EXPECT_EQ(ExistingChild(absl::OkStatus()), absl::nullopt);
  absl::Status status = ExistingChildError({.id = "a", .state = ChildState::kRunning, .pid = Pid(1, 1, 7)});
  status.ForEachPayload([](absl::string_view url, const absl::Cord& payload) {
    const std::string text(payload);
    for (const std::string& bad : {std::string(), text.substr(1), "x" + text, text + "x", std::string("1 2")}) {
      absl::Status changed = absl::AlreadyExistsError("");
      changed.SetPayload(url, absl::Cord(bad));
      EXPECT_EQ(ExistingChild(changed), absl::nullopt) << bad;
    }
  });
}

}  // namespace
}  // namespace understudy
