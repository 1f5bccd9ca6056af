#include "understudy/transport/gateway/call_parts.h"

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/actor_system.h"
#include "understudy/actors/error.h"
#include "understudy/actors/mailbox.h"
#include "understudy/actors/pid.h"
#include "understudy/supervision/builders.h"
#include "understudy/tests/transport/gateway/desk.actor.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/tests/transport/gateway/front.h"
#include "understudy/transport/gateway/exported_service.h"
#include "understudy/transport/gateway/service_host.h"

namespace understudy::internal {
namespace {

class Keeper final : public Actor {
 public:
  Mailbox<"text", desk::Text> text{this};

 private:
  StartResult Start() override { return keeping_; }
  Behavior keeping_{"keeping", On(text, [](const desk::Text&) {})};
};

// The actor that was asked has ended before the request reached it.
TEST(CallPartsTest, AnAskOfAnActorThatIsNoLongerThereEndsAsItsNameSays) {
  ActorSystem system;
  const SupervisorRef tree = system.Spawn(OneForOne().Child("desk", Of<Keeper>().RegisteredAs("desk")));
  ASSERT_TRUE(system.AwaitStart(tree.pid(), kWithin).ok());
  ServiceHost host;
  host.system = &system;
  const ExportedService desk = Export<desk::DeskRef>("desk");
  const ExportedService nobody = Export<desk::DeskRef>("nobody");
  const Pid owner = system.registry().Find("desk")->pid;
  const absl::Status no_process = MakeError(ErrorKind::kNoProcess, "the actor has ended");
  EXPECT_TRUE(IsNoProcess(EndOfAsk(host, desk, owner, no_process))) << "the actor itself has said so";
  EXPECT_TRUE(IsRestarting(EndOfAsk(host, desk, tree.pid(), no_process))) << "another actor has the name now";
  EXPECT_TRUE(IsNoName(EndOfAsk(host, nobody, owner, no_process)));
  EXPECT_TRUE(EndOfAsk(host, nobody, owner, absl::OkStatus()).ok());
  EXPECT_TRUE(IsFull(EndOfAsk(host, nobody, owner, MakeError(ErrorKind::kFull, "full"))));
}

}  // namespace
}  // namespace understudy::internal
