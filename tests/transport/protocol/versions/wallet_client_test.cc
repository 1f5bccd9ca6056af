// A program with one version of wallet.proto is the client of a program with the other one.
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor_system.h"
#include "understudy/supervision/builders.h"
#include "understudy/tests/transport/protocol/versions/wallet_version.h"
#include "understudy/transport/node.h"

namespace wallet {
namespace {

constexpr absl::Duration kDeadline = absl::Minutes(1);

// semantics 8.5
TEST(WalletClientTest, AProgramOfAnotherVersionIsUsedWhereBothReadAlikeAndRefusedWhereTheyDoNot) {
  understudy::ActorSystem system({.name = "house"});
  const absl::StatusOr<std::unique_ptr<understudy::Node>> node = understudy::Node::Start(system);
  ASSERT_TRUE(node.ok()) << node.status();
  system.Spawn(understudy::OneForOne().Child("other", understudy::Process(std::string(kOtherNode))));

  const absl::StatusOr<WalletRef> wallet = system.Lookup<WalletRef>(kName, kDeadline);
  ASSERT_TRUE(wallet.ok()) << wallet.status();
  PayRequest request;
  request.set_cents(250);
  FillWhatIsNew(request);
  const absl::StatusOr<PayReply> reply = system.Ask(wallet->pay(), request, kDeadline);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->balance(), 250);

  EXPECT_EQ(system.Lookup<AuditRef>(kName, kDeadline).status(),
            absl::FailedPreconditionError(
                absl::StrCat("mailbox wallet.Audit/Report differs on the actor's node (was: here, is: there): field "
                             "wallet.ReportRequest.since, number 1, ",
                             kOwnAndOtherType)));
  EXPECT_TRUE(system.Shutdown(kDeadline));
}

}  // namespace
}  // namespace wallet
