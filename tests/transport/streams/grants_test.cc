#include "understudy/transport/grants.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/limits.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {
namespace {

using ::testing::HasSubstr;

constexpr Operation kOperations[] = {Operation::kExit, Operation::kLink, Operation::kKill, Operation::kStart};

Grants Made(const GrantTable& table) {
  absl::StatusOr<Grants> grants = Grants::Make(table);
  EXPECT_TRUE(grants.ok()) << grants.status();
  return grants.ok() ? *std::move(grants) : Grants();
}

StreamIdentity Certificate() { return StreamIdentity::Certificate({"ledger"}); }

bool MayPublish(const Grants& grants, const StreamIdentity& identity, absl::string_view name) {
  return grants.Allows(identity, "ledger", Operation::kPublish, name);
}

TEST(Grants, AParentMayDoEverything) {
  const Grants grants;
  EXPECT_TRUE(grants.Allows(StreamIdentity::Parent("house"), "house", Operation::kPublish, "auction/lot-1"));
  for (const Operation operation : kOperations) {
    EXPECT_TRUE(grants.Allows(StreamIdentity::Parent("house"), "house", operation)) << OperationName(operation);
    EXPECT_FALSE(grants.Allows(StreamIdentity::Parent("house"), "garden", operation)) << OperationName(operation);
  }
}

TEST(Grants, AProcessOfTheSameUserMayPublishAnyNameAndNothingElse) {
  const Grants grants;
  for (const StreamIdentity& identity : {StreamIdentity::SameUser(), StreamIdentity::ProcessChild("ledger")}) {
    EXPECT_TRUE(MayPublish(grants, identity, "auction/lot-1"));
    for (const Operation operation : kOperations) {
      EXPECT_FALSE(grants.Allows(identity, "ledger", operation)) << OperationName(operation);
    }
  }
}

TEST(Grants, AnyOtherPeerMayPublishBelowItsOwnNameAndNothingElse) {
  const Grants grants;
  for (const StreamIdentity& identity : {Certificate(), StreamIdentity::Unproved()}) {
    EXPECT_TRUE(MayPublish(grants, identity, "ledger/book"));
    EXPECT_FALSE(MayPublish(grants, identity, "ledger"));
    EXPECT_FALSE(MayPublish(grants, identity, "ledgers/book"));
    EXPECT_FALSE(MayPublish(grants, identity, "auction/lot-1"));
    EXPECT_FALSE(MayPublish(grants, identity, ""));
    for (const Operation operation : kOperations) {
      EXPECT_FALSE(grants.Allows(identity, "ledger", operation)) << OperationName(operation);
    }
  }
}

TEST(Grants, AnEntryGrantsItsNodeWhatItNames) {
  const Grants grants = Made(
      {.entries = {
           {.node = "ledger", .publish = {"auction/", "book"}, .operations = {Operation::kLink, Operation::kStart}}}});
  EXPECT_TRUE(MayPublish(grants, Certificate(), "auction/lot-1"));
  EXPECT_TRUE(MayPublish(grants, Certificate(), "book"));
  EXPECT_FALSE(MayPublish(grants, Certificate(), "book/2"));
  EXPECT_FALSE(MayPublish(grants, Certificate(), "auctions"));
  EXPECT_TRUE(grants.Allows(Certificate(), "ledger", Operation::kLink));
  EXPECT_TRUE(grants.Allows(StreamIdentity::ProcessChild("ledger"), "ledger", Operation::kStart));
  EXPECT_FALSE(grants.Allows(Certificate(), "ledger", Operation::kKill));
  EXPECT_FALSE(grants.Allows(StreamIdentity::Certificate({"other"}), "other", Operation::kLink));
  EXPECT_TRUE(MayPublish(Made({.entries = {{.node = "ledger", .publish = {"*"}}}}), Certificate(), "anything"));
}

TEST(Grants, AnEntryDoesNotCountForAPeerWhoseNameIsNotProved) {
  const Grants grants =
      Made({.entries = {{.node = "ledger", .publish = {"*"}, .operations = {Operation::kKill, Operation::kStart}}}});
  EXPECT_FALSE(MayPublish(grants, StreamIdentity::Unproved(), "auction/lot-1"));
  for (const StreamIdentity& identity : {StreamIdentity::Unproved(), StreamIdentity::SameUser()}) {
    EXPECT_FALSE(grants.Allows(identity, "ledger", Operation::kKill));
    EXPECT_FALSE(grants.Allows(identity, "ledger", Operation::kStart));
  }
  // The certificate is another node's.
  EXPECT_FALSE(grants.Allows(StreamIdentity::Certificate({"garden"}), "ledger", Operation::kKill));
}

TEST(Grants, InsecureLoopbackGrantsHoldForEveryPeerWithoutACertificate) {
  const Grants grants = Made({.insecure_loopback_grants = true});
  for (const StreamIdentity& identity :
       {StreamIdentity::Unproved(), StreamIdentity::SameUser(), StreamIdentity::ProcessChild("ledger")}) {
    EXPECT_TRUE(MayPublish(grants, identity, "auction/lot-1"));
    for (const Operation operation : kOperations) EXPECT_TRUE(grants.Allows(identity, "ledger", operation));
  }
  EXPECT_FALSE(MayPublish(grants, Certificate(), "auction/lot-1"));
  EXPECT_FALSE(grants.Allows(Certificate(), "ledger", Operation::kKill));
}

TEST(Grants, AReservedNameBelongsToItsNodeWhateverIsGranted) {
  const Grants grants =
      Made({.entries = {{.node = "ledger", .publish = {"*", "understudy/"}}}, .insecure_loopback_grants = true});
  for (const StreamIdentity& identity :
       {StreamIdentity::Unproved(), StreamIdentity::SameUser(), Certificate(), StreamIdentity::Parent("ledger")}) {
    EXPECT_TRUE(MayPublish(grants, identity, "understudy/children/ledger"));
    EXPECT_TRUE(MayPublish(grants, identity, "understudy/children/ledger/worker"));
    EXPECT_FALSE(MayPublish(grants, identity, "understudy/children/garden"));
    EXPECT_FALSE(MayPublish(grants, identity, "understudy/children/ledger-2"));
    EXPECT_FALSE(MayPublish(grants, identity, "understudy/ledger"));
  }
}

TEST(Grants, AnOperatorMayDoWhatTheEntriesOfTheirNamesSay) {
  using Actions = std::set<OpsAction>;
  const absl::StatusOr<Grants> grants = Grants::Make(
      {.entries = {{.node = "alice", .ops = {OpsAction::kRead}}, {.node = "night", .ops = {OpsAction::kStop}}},
       .insecure_loopback_grants = true,
       .insecure_loopback_ops = {OpsAction::kTrace}});
  ASSERT_TRUE(grants.ok()) << grants.status();
  EXPECT_EQ(grants->OpsOf(StreamIdentity::Certificate({"alice"})), Actions({OpsAction::kRead}));
  EXPECT_EQ(grants->OpsOf(StreamIdentity::Certificate({"alice", "night"})),
            Actions({OpsAction::kRead, OpsAction::kStop}));
  EXPECT_EQ(grants->OpsOf(StreamIdentity::Certificate({"mallory"})), Actions());
  EXPECT_EQ(grants->OpsOf(StreamIdentity::Certificate({})), Actions());
  EXPECT_EQ(grants->OpsOf(StreamIdentity::Unproved()), Actions({OpsAction::kTrace}));
  EXPECT_EQ(Grants().OpsOf(StreamIdentity::Unproved()), Actions());
}

TEST(Grants, ABadTableIsRefusedWithItsEntry) {
  const auto error = [](std::vector<GrantEntry> entries) {
    const absl::StatusOr<Grants> grants = Grants::Make({.entries = std::move(entries)});
    EXPECT_EQ(grants.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(grants.status().message());
  };
  EXPECT_THAT(error({{.node = "No Label"}}), HasSubstr("'No Label' is not a DNS label"));
  EXPECT_THAT(error({{.node = "a"}, {.node = "b"}, {.node = "a"}}), HasSubstr("grants of node 'a' are there twice"));
  EXPECT_EQ(error({{.node = "a", .operations = {static_cast<Operation>(5)}}}),
            "grants of node 'a': 5 is not an Operation: expected kExit, kLink, kKill or kStart");
  EXPECT_EQ(error({{.node = "a", .operations = {Operation::kExit, static_cast<Operation>(-1)}}}),
            "grants of node 'a': -1 is not an Operation: expected kExit, kLink, kKill or kStart");
  EXPECT_EQ(error({{.node = "a", .publish = {"*"}, .operations = {Operation::kPublish}}}),
            "grants of node 'a': operations has kPublish, which grants no name: expected the names in publish, such as "
            "auction/, auction/lot-1 or *");
  EXPECT_EQ(error({{.node = "a", .ops = {OpsAction::kRead, static_cast<OpsAction>(99)}}}),
            "grants of node 'a': 99 is not an OpsAction: expected kRead, kStop or another one");
  EXPECT_THAT(error({{.node = "a", .publish = {""}}}), HasSubstr("grants of node 'a': a name to publish has 0 bytes"));
  EXPECT_THAT(error({{.node = "a", .publish = {std::string(limits::kNameBytesMax + 1, 'x')}}}), HasSubstr("256 bytes"));
  EXPECT_THAT(error({{.node = "a", .publish = std::vector<std::string>(1001, "x")}}), HasSubstr("at most 1000"));
  EXPECT_THAT(error(std::vector<GrantEntry>(limits::kPeersMax + 1)), HasSubstr("at most 1024 peers"));
}

}  // namespace
}  // namespace understudy
