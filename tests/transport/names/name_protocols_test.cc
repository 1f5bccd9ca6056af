// Claims of mailboxes whose messages are others on the two nodes.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/registry.h"
#include "understudy/proto/names.pb.h"
#include "understudy/tests/transport/names/name_net.h"
#include "understudy/tests/transport/protocol/proto_pool.h"
#include "understudy/transport/names/name_feed.h"
#include "understudy/transport/names/name_limits.h"
#include "understudy/transport/names/name_table.h"
#include "understudy/transport/protocol/local_types.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::string_view kHead = "syntax = 'proto3'; package lot; ";
constexpr absl::string_view kBefore = "message Bid { int64 cents = 1; } message View { string who = 1; }";
constexpr absl::string_view kAdded = "message Bid { int64 cents = 1; } message View { string who = 1; bool all = 2; }";
constexpr absl::string_view kOther = "message Bid { string cents = 1; } message View { string who = 1; bool all = 2; }";

proto::MailboxSignature Mailbox(absl::string_view name, absl::string_view message) {
  proto::MailboxSignature mailbox;
  mailbox.set_name(std::string(name));
  mailbox.set_request(std::string(message));
  return mailbox;
}

// Node a, and its peer b that has the other messages.
class NameProtocolsTest : public ::testing::Test {
 protected:
  void Meet(absl::string_view at_a, absl::string_view at_b, Fingerprints fingerprints = Fingerprints::kTold) {
    pool_a_.emplace(absl::StrCat(kHead, at_a));
    pool_b_.emplace(absl::StrCat(kHead, at_b));
    a_.emplace("a", MayPublish, LocalTypes(pool_a_->get()));
    b_.emplace("b", MayPublish, LocalTypes(pool_b_->get()));
    a_->OnSessionBegun("b", 2, NameNet::At(200), fingerprints);
    b_->OnSessionBegun("a", 1, NameNet::At(200), fingerprints);
  }
  static bool MayPublish(absl::string_view, absl::string_view) { return true; }

  // Publishes at b an actor with the two mailboxes.
  void Publish(absl::string_view name, uint64_t serial = 1) {
    ASSERT_TRUE(
        b_->Claim(name, Pid(2, 1, serial), NameNet::At(100), {Mailbox("bid", "lot.Bid"), Mailbox("view", "lot.View")})
            .ok());
  }
  // Delivers the changes that a node has to tell to the other one, and returns them.
  std::vector<proto::NameChanges> Tell(NameTable& from, absl::string_view name, NameTable& to) {
    std::vector<proto::NameChanges> told;
    while (absl::optional<NameFeed::Part> part = from.TakePart(&from == &*a_ ? "b" : "a")) {
      EXPECT_TRUE(to.OnChanges(name, part->changes.SerializeAsString()).ok());
      to.OnChangesEntered(name);
      told.push_back(std::move(part->changes));
    }
    return told;
  }
  std::vector<proto::NameChanges> TellA() { return Tell(*b_, "b", *a_); }
  std::vector<proto::NameChanges> TellB() { return Tell(*a_, "a", *b_); }
  static int Requests(const std::vector<proto::NameChanges>& told) {
    int requests = 0;
    for (const proto::NameChanges& changes : told) requests += changes.description_requests_size();
    return requests;
  }
  std::vector<std::string> Changes() {
    std::vector<std::string> changes;
    for (const NameTable::Change& change : a_->TakeChanges()) changes.push_back(NameNet::TextOf(change));
    return changes;
  }
  // What is misread of each mailbox of the name's owner at a.
  std::vector<std::string> Misread(absl::string_view name) {
    std::vector<std::string> misread;
    for (const MailboxSignature& mailbox : *a_->Find(name)->mailboxes) misread.push_back(mailbox.misread);
    return misread;
  }
  // The part that b sends, which a must refuse.
  std::string Refused(const proto::NameChanges& part) {
    const absl::Status status = a_->OnChanges("b", part.SerializeAsString());
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  }
  static proto::NameChanges Described(uint32_t set, absl::string_view protocol) {
    proto::NameChanges part;
    part.add_descriptions()->set_number(set);
    part.mutable_descriptions(0)->set_protocol(std::string(protocol));
    return part;
  }

  absl::optional<ProtoPool> pool_a_;
  absl::optional<ProtoPool> pool_b_;
  absl::optional<NameTable> a_;
  absl::optional<NameTable> b_;
};

TEST_F(NameProtocolsTest, EqualMessagesAreShownAtOnceAndNotDescribed) {
  Meet(kBefore, "message View { string seer = 1; } message Bid { int64 amount = 1; }");
  Publish("lot/1");
  TellA();
  EXPECT_THAT(Changes(), ElementsAre("show lot/1 b"));
  EXPECT_THAT(Misread("lot/1"), ElementsAre("", ""));
  EXPECT_EQ(Requests(TellB()), 0);
}

TEST_F(NameProtocolsTest, AnotherMessageIsDescribedOnceASessionAndSetAndShownWithWhatIsMisread) {
  Meet(kBefore, kOther);
  Publish("lot/1", 1);
  Publish("lot/2", 2);
  TellA();
  EXPECT_THAT(Changes(), IsEmpty());
  EXPECT_EQ(a_->Find("lot/1"), absl::nullopt);
  EXPECT_EQ(Requests(TellB()), 1);
  const std::vector<proto::NameChanges> described = TellA();
  ASSERT_THAT(described, SizeIs(1));
  EXPECT_EQ(described[0].descriptions_size(), 1);
  EXPECT_THAT(Changes(), ElementsAre("show lot/1 b", "show lot/2 b"));
  EXPECT_THAT(Misread("lot/1"), ElementsAre("field lot.Bid.cents, number 1, was int64 and is string", ""))
      << "a new field in View is misread by nobody";
  Publish("lot/3", 3);
  TellA();
  EXPECT_EQ(Requests(TellB()), 0);
  EXPECT_THAT(Changes(), ElementsAre("show lot/3 b"));
  EXPECT_EQ(a_->Find("lot/3")->mailboxes, a_->Find("lot/1")->mailboxes) << "they share one object";
}

TEST_F(NameProtocolsTest, AnOldReaderAndANewWriterMisreadNothingIfAFieldWasAddedNorTheReverse) {
  for (const auto& [old_node, new_node] : {std::pair(kBefore, kAdded), std::pair(kAdded, kBefore)}) {
    Meet(old_node, new_node);
    Publish("lot/1");
    TellA();
    EXPECT_EQ(Requests(TellB()), 1);
    TellA();
    EXPECT_THAT(Changes(), ElementsAre("show lot/1 b"));
    EXPECT_THAT(Misread("lot/1"), ElementsAre("", ""));
  }
}

TEST_F(NameProtocolsTest, MessagesThatThisNodeDoesNotHaveAreNotCompared) {
  Meet("message Other {}", kOther);
  Publish("lot/1");
  TellA();
  EXPECT_THAT(Changes(), ElementsAre("show lot/1 b"));
  EXPECT_EQ(Requests(TellB()), 0);
}

TEST_F(NameProtocolsTest, APeerWithoutTheFeatureIsToldNoFingerprintsAndIsNotAsked) {
  Meet(kBefore, kOther, Fingerprints::kNotTold);
  Publish("lot/1");
  for (const proto::NameChanges& part : TellA()) {
    for (const proto::SignatureSet& set : part.definitions()) {
      for (const proto::MailboxSignature& mailbox : set.mailboxes()) EXPECT_EQ(mailbox.fingerprint(), 0U);
    }
  }
  EXPECT_THAT(Changes(), ElementsAre("show lot/1 b"));
  EXPECT_THAT(Misread("lot/1"), ElementsAre("", ""));
  // Nor if it sends a fingerprint nevertheless.
  proto::NameChanges part;
  part.add_definitions()->set_number(7);
  *part.mutable_definitions(0)->add_mailboxes() = Mailbox("bid", "lot.Bid");
  part.mutable_definitions(0)->mutable_mailboxes(0)->set_fingerprint(1);
  EXPECT_TRUE(a_->OnChanges("b", part.SerializeAsString()).ok());
  EXPECT_EQ(Requests(TellB()), 0);
}

// Bytes that a node sent before there were fingerprints: one claim of an actor with the mailbox `bid`.
TEST_F(NameProtocolsTest, TheRecordedClaimOfANodeWithoutFingerprintsIsShown) {
  for (const Fingerprints fingerprints : {Fingerprints::kNotTold, Fingerprints::kTold}) {
    Meet(kBefore, kOther, fingerprints);
    const std::string recorded = absl::HexStringToBytes(
        "0a120801120e0a036269641a076c6f742e426964"
        "12140a120a056c6f742f3110011801200128c8013001");
    ASSERT_TRUE(a_->OnChanges("b", recorded).ok());
    EXPECT_THAT(Changes(), ElementsAre("show lot/1 b"));
    EXPECT_EQ(Requests(TellB()), 0);
  }
}

// ---- Claims that wait ----

TEST_F(NameProtocolsTest, AClaimThatEndsBeforeItIsComparedIsNeverShown) {
  Meet(kBefore, kOther);
  Publish("lot/1");
  TellA();
  ASSERT_TRUE(b_->Release("lot/1", Pid(2, 1, 1)));
  TellA();
  TellB();
  TellA();
  EXPECT_THAT(Changes(), IsEmpty());
  EXPECT_EQ(a_->Find("lot/1"), absl::nullopt);
}

TEST_F(NameProtocolsTest, TheLastOfTwoClaimsThatWaitIsShown) {
  Meet(kBefore, kOther);
  Publish("lot/1", 1);
  TellA();
  ASSERT_TRUE(b_->Release("lot/1", Pid(2, 1, 1)));
  Publish("lot/1", 2);
  TellA();
  TellB();
  TellA();
  EXPECT_THAT(Changes(), ElementsAre("show lot/1 b"));
  EXPECT_EQ(a_->Find("lot/1")->pid, Pid(2, 1, 2));
}

TEST_F(NameProtocolsTest, AClaimThatWaitsIsAnOwnerForOthersWhoClaimTheName) {
  Meet(kBefore, kOther);
  Publish("lot/1");
  TellA();
  EXPECT_TRUE(absl::IsAlreadyExists(a_->Claim("lot/1", Pid(1, 1, 1), NameNet::At(300), {})));
}

TEST_F(NameProtocolsTest, ASessionThatEndsTakesItsWaitingClaimsAlong) {
  Meet(kBefore, kOther);
  Publish("lot/1");
  TellA();
  a_->OnSessionEnded("b");
  EXPECT_THAT(Changes(), IsEmpty());
  EXPECT_EQ(a_->names_of("b"), 0U);
}

TEST_F(NameProtocolsTest, AClaimIsShownUncomparedIfItsMessagesAreTooLargeToBeDescribed) {
  std::string large = "message View {} message Bid {";
  for (int i = 1; i <= 6000; ++i) absl::StrAppend(&large, " int64 a_field_of_this_message_", i, " = ", i, ";");
  Meet(kBefore, absl::StrCat(large, " }"));
  Publish("lot/1");
  TellA();
  TellB();
  const std::vector<proto::NameChanges> described = TellA();
  ASSERT_THAT(described, SizeIs(1));
  EXPECT_THAT(described[0].descriptions(0).protocol(), IsEmpty());
  EXPECT_THAT(Changes(), ElementsAre("show lot/1 b"));
  EXPECT_THAT(Misread("lot/1"), ElementsAre("", ""));
}

// ---- Peers that break the rules ----

TEST_F(NameProtocolsTest, ADescriptionThatWasNotAskedForIsABadFrame) {
  Meet(kBefore, kOther);
  EXPECT_EQ(Refused(Described(1, "")), "a description of the set of mailboxes 1, which was not asked for");
  Publish("lot/1");
  TellA();
  TellB();
  TellA();
  EXPECT_EQ(Refused(Described(1, "")), "a description of the set of mailboxes 1, which was not asked for")
      << "it came before";
}

TEST_F(NameProtocolsTest, AMalformedOrTooLargeDescriptionIsABadFrame) {
  Meet(kBefore, kOther);
  Publish("lot/1");
  TellA();
  EXPECT_EQ(Refused(Described(1, "\xff")), "a description of message types that cannot be parsed");
  EXPECT_EQ(Refused(Described(1, std::string(limits::kDescriptionBytesMax + 1, '\0'))),
            absl::StrCat("a description of messages of ", limits::kDescriptionBytesMax + 1, " bytes; at most ",
                         limits::kDescriptionBytesMax, " are allowed"));
}

TEST_F(NameProtocolsTest, ARequestForASetThatWasNotToldOrForTheSecondTimeIsABadFrame) {
  Meet(kBefore, kOther);
  proto::NameChanges part;
  part.add_description_requests()->set_number(1);
  part.mutable_description_requests(0)->set_mailboxes(~uint64_t{0});
  EXPECT_THAT(Refused(part), HasSubstr("set of mailboxes 1, which it was not told, or for the second time"));
  ASSERT_TRUE(a_->Claim("lot/1", Pid(1, 1, 1), NameNet::At(100), {Mailbox("bid", "lot.Bid")}).ok());
  TellB();
  EXPECT_TRUE(a_->OnChanges("b", part.SerializeAsString()).ok());
  EXPECT_THAT(Refused(part), HasSubstr("set of mailboxes 1, which it was not told, or for the second time"));
}

// Descriptions are parts that the peer acknowledges, so one that does not gets few of them.
TEST_F(NameProtocolsTest, APeerThatTakesNothingIsDescribedAFewSets) {
  Meet(kBefore, kOther);
  proto::NameChanges asks;
  constexpr uint32_t kSets = 20;
  for (uint32_t set = 1; set <= kSets; ++set) {
    ASSERT_TRUE(a_->Claim(absl::StrCat("lot/", set), Pid(1, 1, set), NameNet::At(100),
                          {Mailbox(absl::StrCat("bid ", set), "lot.Bid")})
                    .ok());
    asks.add_description_requests()->set_number(set);
    asks.mutable_description_requests(static_cast<int>(set) - 1)->set_mailboxes(1);
  }
  TellB();
  ASSERT_TRUE(a_->OnChanges("b", asks.SerializeAsString()).ok());
  uint32_t described = 0;
  while (const absl::optional<NameFeed::Part> part = a_->TakePart("b")) described += part->changes.descriptions_size();
  EXPECT_GT(described, 0U);
  EXPECT_LE(described, limits::kNamePartsUntakenMax);
}

TEST_F(NameProtocolsTest, SetsAreNotComparedAnyMoreWhenThePeersDescriptionsHaveCostTooMuch) {
  std::string ours = "message View {} message Bid {";
  for (int i = 1; i <= 3000; ++i) absl::StrAppend(&ours, " int64 f", i, " = ", i, ";");
  Meet(absl::StrCat(ours, " }"), absl::StrCat(ours, " string other = 9000; }"));
  const auto asked = [&](uint64_t i) {
    EXPECT_TRUE(b_->Claim(absl::StrCat("lot/", i), Pid(2, 1, i), NameNet::At(100),
                          {Mailbox(absl::StrCat("bid ", i), "lot.Bid")})
                    .ok());
    TellA();
    const bool is_asked = Requests(TellB()) > 0;
    TellA();
    EXPECT_EQ(Changes(), std::vector<std::string>{absl::StrCat("show lot/", i, " b")});
    return is_asked;
  };
  EXPECT_TRUE(asked(1)) << "costs 9 of the 16 million steps";
  EXPECT_TRUE(asked(2)) << "is given up";
  EXPECT_FALSE(asked(3));
}

// Descriptions of two bytes of messages that are large here. A further session begins with what is left.
TEST_F(NameProtocolsTest, OurOwnMessagesCostThePeerStepsAlsoInItsNextSessions) {
  std::string ours = "message View {} message Bid {";
  for (int i = 1; i <= 3000; ++i) absl::StrAppend(&ours, " int64 f", i, " = ", i, ";");
  Meet(absl::StrCat(ours, " }"), kOther);
  int asked = 0;
  const auto session = [&](int64_t at) {
    const int before = asked;
    a_->OnSessionBegun("b", 2, NameNet::At(at), Fingerprints::kTold);
    for (uint32_t set = 1; set <= 1000; ++set) {
      proto::NameChanges part;
      part.add_definitions()->set_number(set);
      *part.mutable_definitions(0)->add_mailboxes() = Mailbox("bid", "lot.Bid");
      part.mutable_definitions(0)->mutable_mailboxes(0)->set_fingerprint(1);
      EXPECT_TRUE(a_->OnChanges("b", part.SerializeAsString()).ok());
      a_->OnChangesEntered("b");
      const absl::optional<NameFeed::Part> told = a_->TakePart("b");
      if (!told.has_value() || told->changes.description_requests_size() == 0) continue;
      ++asked;
      EXPECT_TRUE(a_->OnChanges("b", Described(set, absl::string_view("\x22\0", 2)).SerializeAsString()).ok());
      a_->OnChangesEntered("b");
    }
    return asked - before;
  };
  const int first = session(200);
  EXPECT_GT(first, 100);
  EXPECT_LT(first, 400) << "each looks at 3000 fields";
  EXPECT_LT(session(300), 5);
  EXPECT_LT(session(400), 5);
  const int64_t later = absl::ToInt64Nanoseconds(limits::kComparisonStepsWithin) + 500;
  EXPECT_GT(session(later), 100);
}

TEST_F(NameProtocolsTest, DescribingOurMessagesCostsThePeerThatAsksStepsAlsoInItsNextSessions) {
  constexpr uint32_t kSets = 300;
  std::string ours = "message View {} message Bid {";
  for (int i = 1; i <= 3000; ++i) absl::StrAppend(&ours, " int64 f", i, " = ", i, ";");
  Meet(absl::StrCat(ours, " }"), kOther);
  for (uint32_t set = 1; set <= kSets; ++set) {
    const std::string text = absl::StrCat(set);
    ASSERT_TRUE(a_->Claim(text, Pid(1, 1, set), NameNet::At(100), {Mailbox(text, "lot.Bid")}).ok());
  }
  // The number of descriptions that say something, when the peer asks for one of each set.
  const auto session = [&](int64_t at) {
    uint32_t answers = 0;
    int descriptions = 0;
    a_->OnSessionBegun("b", 2, NameNet::At(at), Fingerprints::kTold);
    const auto take = [&] {
      while (const absl::optional<NameFeed::Part> told = a_->TakePart("b")) {
        for (const proto::Description& description : told->changes.descriptions()) {
          ++answers;
          if (!description.protocol().empty()) ++descriptions;
        }
        proto::NameChanges taken;
        taken.set_taken(1);
        EXPECT_TRUE(a_->OnChanges("b", taken.SerializeAsString()).ok());
      }
    };
    take();
    for (uint32_t set = 1; set <= kSets; ++set) {
      proto::NameChanges asking;
      asking.add_description_requests()->set_number(set);
      asking.mutable_description_requests(0)->set_mailboxes(1);
      EXPECT_TRUE(a_->OnChanges("b", asking.SerializeAsString()).ok());
      take();
    }
    EXPECT_EQ(answers, kSets);
    return descriptions;
  };
  const int first = session(200);
  EXPECT_GT(first, 50);
  EXPECT_LT(first, 200) << "each has 3000 fields";
  EXPECT_LT(session(300), 5);
  const int64_t later = absl::ToInt64Nanoseconds(limits::kComparisonStepsWithin) + 500;
  EXPECT_GT(session(later), 50);
}

}  // namespace
}  // namespace understudy
