#include "understudy/transport/protocol/local_types.h"

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "understudy/actors/check.h"
#include "understudy/proto/names.pb.h"
#include "understudy/tests/transport/protocol/proto_pool.h"
#include "understudy/transport/protocol/fingerprint.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr absl::string_view kOffer = R"(
  syntax = "proto3";
  package auction;
  message Offer {
    int64 cents = 1;
    string bidder = 2;
    Kind kind = 3;
    oneof when {
      int64 at = 4;
      bool now = 5;
    }
    repeated Lot lots = 6;
    map<string, Lot> by_name = 7;
    optional bool firm = 8;
  }
  message Lot { Offer best = 1; bytes picture = 2; }
  enum Kind { OPEN = 0; SEALED = 1; }
  message Result { bool accepted = 1; }
)";

// The text with `from` replaced, which must be there.
std::string With(absl::string_view text, absl::string_view from, absl::string_view to) {
  const size_t at = text.find(from);
  UNDERSTUDY_CHECK(at != absl::string_view::npos, from, " is not in the text");
  return absl::StrCat(text.substr(0, at), to, text.substr(at + from.size()));
}

proto::MailboxSignature MakeOffer() {
  proto::MailboxSignature mailbox;
  mailbox.set_name("auction.Auction/MakeOffer");
  mailbox.set_is_call(true);
  mailbox.set_request("auction.Offer");
  mailbox.set_reply("auction.Result");
  return mailbox;
}

proto::SignatureSet SetOf(const proto::MailboxSignature& mailbox) {
  proto::SignatureSet set;
  *set.add_mailboxes() = mailbox;
  return set;
}

uint64_t Fingerprint(absl::string_view text, const proto::MailboxSignature& mailbox = MakeOffer()) {
  const ProtoPool pool(text);
  return LocalTypes(pool.get()).FingerprintOf(mailbox);
}

std::string Describe(const ProtoPool& pool, const proto::SignatureSet& set, uint64_t mailboxes) {
  int64_t steps = 100'000;
  return LocalTypes(pool.get()).Describe(set, mailboxes, steps);
}

// Returns the misreadings that a node with the messages `client` finds when it meets an actor with the messages
// `server`.
std::string Misread(absl::string_view client, absl::string_view server) {
  const ProtoPool ours(client);
  const ProtoPool theirs(server);
  const proto::SignatureSet set = SetOf(MakeOffer());
  int64_t steps = 100'000;
  const absl::StatusOr<std::vector<std::string>> misread =
      LocalTypes(ours.get()).Compare(set, 1, Describe(theirs, set, 1), steps);
  EXPECT_GE(steps, 0);
  return misread.ok() ? misread->at(0) : std::string(misread.status().message());
}

// ---- Fingerprints ----

TEST(FingerprintTest, TheCanonicalFormHasNumbersTypesLabelsOneofsAndTheNumbersOfEnums) {
  const ProtoPool pool(kOffer);
  EXPECT_EQ(actor_protocol::CanonicalForm(*pool.get()->FindMessageTypeByName("auction.Offer")),
            "message 0\n"
            "0: 1=SINGULAR int64; 2=SINGULAR string; 3=SINGULAR enum 1; 4=SINGULAR int64 oneof 4; "
            "5=SINGULAR bool oneof 4; 6=REPEATED message 2; 7=MAP message 2 by string; 8=OPTIONAL bool;\n"
            "1: open 0 1\n"
            "2: 1=SINGULAR message 0; 2=SINGULAR bytes;\n");
}

// If the fingerprint of the same messages changed with Understudy's version, nodes of different versions would have to
// describe all their messages to each other.
TEST(FingerprintTest, AFingerprintStaysTheSameOverTime) {
  EXPECT_EQ(Fingerprint("syntax = 'proto3'; package auction; message Offer { int64 cents = 1; } "
                        "message Result { bool accepted = 1; }"),
            16633610629642893481U);
}

TEST(FingerprintTest, NamesCommentsOptionsAndOrderAreNoPartOfIt) {
  const uint64_t before = Fingerprint(kOffer);
  EXPECT_NE(before, 0U);
  EXPECT_EQ(Fingerprint(With(kOffer, "int64 cents", "/* Not euros. */ int64 amount")), before);
  EXPECT_EQ(Fingerprint(With(kOffer, "bytes picture = 2;", "bytes picture = 2 [deprecated = true];")), before);
  EXPECT_EQ(
      Fingerprint(With(kOffer, "int64 cents = 1;\n    string bidder = 2;", "string bidder = 2; int64 cents = 1;")),
      before);
  EXPECT_EQ(Fingerprint(With(kOffer, "oneof when", "oneof moment")), before);
  EXPECT_EQ(Fingerprint(With(kOffer, "OPEN = 0", "PUBLIC = 0")), before);
  EXPECT_EQ(Fingerprint(With(kOffer, "Result {", "Result { reserved 7;")), before);
  EXPECT_EQ(Fingerprint(With(With(With(kOffer, "repeated Lot", "repeated Thing"), "string, Lot", "string, Thing"),
                             "message Lot", "message Thing")),
            before);
}

TEST(FingerprintTest, EachChangeOnTheWireIsAnotherFingerprint) {
  std::vector<uint64_t> seen = {Fingerprint(kOffer)};
  const auto change = [&](absl::string_view from, absl::string_view to) {
    seen.push_back(Fingerprint(With(kOffer, from, to)));
    for (size_t i = 0; i + 1 < seen.size(); ++i) EXPECT_NE(seen.back(), seen[i]) << from << " became " << to;
  };
  change("int64 cents = 1", "int64 cents = 9");
  change("int64 cents", "sint64 cents");
  change("int64 cents", "repeated int64 cents");
  change("int64 cents", "optional int64 cents");
  change("string bidder = 2;", "");
  change("string bidder = 2;", "string bidder = 2; string house = 9;");
  change("SEALED = 1;", "SEALED = 1; DUTCH = 2;");
  change("      bool now = 5;\n    }", "    } bool now = 5;");
  change("map<string, Lot>", "map<int32, Lot>");
  change("bytes picture", "string picture");
  change("Offer best = 1", "Result best = 1");
  change("bool accepted", "int32 accepted");
  change("Result { bool accepted = 1; }", "Result {}");
}

TEST(FingerprintTest, ATellHasAnotherOneThanACallAndAnUnknownMessageHasNone) {
  proto::MailboxSignature tell = MakeOffer();
  tell.set_is_call(false);
  tell.clear_reply();
  EXPECT_NE(Fingerprint(kOffer, tell), Fingerprint(kOffer));
  proto::MailboxSignature unknown = MakeOffer();
  unknown.set_reply("auction.Bill");
  EXPECT_EQ(Fingerprint(kOffer, unknown), 0U);
  unknown = tell;
  unknown.set_request("int");
  EXPECT_EQ(Fingerprint(kOffer, unknown), 0U);
}

TEST(FingerprintTest, DefaultsAndClosedEnumsOfProto2CountAndProtobufsOwnTypesCountByName) {
  const auto of = [](absl::string_view fields) {
    return Fingerprint(absl::StrCat("syntax = 'proto2'; package auction; import 'google/protobuf/wrappers.proto'; ",
                                    "enum Kind { OPEN = 0; SEALED = 1; } message Result {} message Offer { ", fields,
                                    " }"));
  };
  EXPECT_NE(of("optional int32 n = 1;"), of("optional int32 n = 1 [default = 7];"));
  EXPECT_NE(of("optional int32 n = 1;"), of("required int32 n = 1;"));
  EXPECT_NE(of("optional google.protobuf.StringValue n = 1;"), of("optional google.protobuf.BytesValue n = 1;"));
  EXPECT_NE(of("optional Kind n = 1; extensions 100 to 200;"), of("optional int32 n = 1; extensions 100 to 200;"));
}

// ---- Comparison ----

TEST(LocalTypesTest, OnlyWhatOneOfTheTwoNodesMisreadsIsTold) {
  EXPECT_EQ(Misread(kOffer, kOffer), "");
  EXPECT_EQ(Misread(kOffer, With(kOffer, "string bidder = 2;", "string bidder = 2; string house = 9;")), "");
  EXPECT_EQ(Misread(With(kOffer, "string bidder = 2;", "string bidder = 2; string house = 9;"), kOffer), "");
  EXPECT_EQ(Misread(kOffer, With(kOffer, "SEALED = 1;", "SEALED = 1; DUTCH = 2;")), "");
  EXPECT_EQ(Misread(kOffer, With(kOffer, "string bidder = 2;", "")), "") << "it need not be reserved";
  EXPECT_EQ(Misread(kOffer, With(kOffer, "int64 cents = 1", "string cents = 1")),
            "field auction.Offer.cents, number 1, was int64 and is string");
  EXPECT_EQ(Misread(kOffer, With(kOffer, "int64 cents = 1", "int64 cents = 9")),
            "field auction.Offer.cents was renumbered from 1 to 9");
}

TEST(LocalTypesTest, WhatIsMisreadDependsOnWhoReads) {
  const std::string narrow = With(kOffer, "bool accepted", "int32 accepted");
  const std::string wide = With(kOffer, "bool accepted", "int64 accepted");
  EXPECT_EQ(Misread(wide, narrow), "") << "a client with int64 reads an int32 in a reply";
  EXPECT_EQ(Misread(narrow, wide), "field auction.Result.accepted, number 1, was int32 and is int64");
  const std::string small = With(kOffer, "int64 cents", "int32 cents");
  EXPECT_EQ(Misread(small, kOffer), "") << "a server with int64 reads an int32 in a request";
  EXPECT_EQ(Misread(kOffer, small), "field auction.Offer.cents, number 1, was int64 and is int32");
}

TEST(LocalTypesTest, AMessageInAFieldMayHaveAnotherNameButNotOtherFields) {
  const std::string renamed = With(With(With(kOffer, "repeated Lot", "repeated Thing"), "string, Lot", "string, Thing"),
                                   "message Lot", "message Thing");
  EXPECT_EQ(Misread(kOffer, With(renamed, "bytes picture = 2;", "bytes picture = 2; int32 year = 3;")), "");
  EXPECT_EQ(Misread(kOffer, With(renamed, "bytes picture", "int32 picture")),
            "field auction.Lot.picture, number 2, was bytes and is int32");
}

TEST(LocalTypesTest, ATextSaysWhatIsMisreadInBoundedLength) {
  std::string many = "syntax = 'proto3'; package auction; message Result {} message Offer {";
  for (int i = 1; i <= 100; ++i) absl::StrAppend(&many, " int32 f", i, " = ", i, ";");
  many += " }";
  std::string other = many;
  for (size_t at = 0; (at = other.find("int32", at)) != std::string::npos; at += 6) other.replace(at, 5, "string");
  EXPECT_THAT(Misread(many, other), HasSubstr("field auction.Offer.f1, number 1, was int32 and is string; field "));
  EXPECT_THAT(Misread(many, other), HasSubstr("cut: it had"));
  EXPECT_LE(Misread(many, other).size(), 512U);
}

TEST(LocalTypesTest, AnUnreadableDescriptionIsAnErrorAndOneWithoutTheMessagesMisreadsNothing) {
  const ProtoPool pool(kOffer);
  LocalTypes types(pool.get());
  int64_t steps = 100'000;
  EXPECT_EQ(types.Compare(SetOf(MakeOffer()), 1, "\xff", steps).status(),
            absl::InvalidArgumentError("a description of message types that cannot be parsed"));
  EXPECT_THAT(*types.Compare(SetOf(MakeOffer()), 1, "", steps), ElementsAre(""));
}

TEST(LocalTypesTest, AMailboxThatIsNotAskedForIsNotDescribedOrCompared) {
  const ProtoPool ours(kOffer);
  const ProtoPool theirs(With(kOffer, "int64 cents", "string cents"));
  proto::SignatureSet set = SetOf(MakeOffer());
  *set.add_mailboxes() = MakeOffer();
  EXPECT_THAT(Describe(theirs, set, 0), IsEmpty());
  int64_t steps = 100'000;
  const std::string description = Describe(theirs, set, 2);
  EXPECT_THAT(*LocalTypes(ours.get()).Compare(set, 2, description, steps), ElementsAre("", HasSubstr("cents")));
}

TEST(LocalTypesTest, ADescriptionCostsStepsForItsSizeAndIsEmptyWithoutAny) {
  const ProtoPool ours(kOffer);
  const proto::SignatureSet set = SetOf(MakeOffer());
  int64_t steps = 0;
  const std::string description = LocalTypes(ours.get()).Describe(set, 1, steps);
  EXPECT_THAT(description, Not(IsEmpty()));
  EXPECT_LT(steps, -static_cast<int64_t>(description.size()));
  EXPECT_THAT(LocalTypes(ours.get()).Describe(set, 1, steps), IsEmpty());
}

// The comparison of two messages with n fields each takes n * n steps.
TEST(LocalTypesTest, AComparisonThatCostsMoreThanItMayIsGivenUp) {
  const ProtoPool ours(kOffer);
  const ProtoPool theirs(With(kOffer, "int64 cents", "string cents"));
  const proto::SignatureSet set = SetOf(MakeOffer());
  const std::string description = Describe(theirs, set, 1);
  int64_t steps = 10;
  EXPECT_THAT(*LocalTypes(ours.get()).Compare(set, 1, description, steps), ElementsAre(""));
  EXPECT_LT(steps, 0);
}

// Our own messages are read from their descriptors at the first comparison only.
TEST(LocalTypesTest, OurMessagesCostStepsHoweverShortThePeersDescriptionIsAndMoreAtTheFirstComparison) {
  std::string many = "syntax = 'proto3'; package auction; message Result {} message Offer { ";
  for (int i = 1; i <= 100; ++i) absl::StrAppend(&many, "Lot", i, " lot", i, " = ", i, "; ");
  many += "}";
  for (int i = 1; i <= 100; ++i) absl::StrAppend(&many, " message Lot", i, " { int64 cents = 1; string who = 2; }");
  const ProtoPool pool(many);
  LocalTypes types(pool.get());
  const auto cost = [&] {
    int64_t steps = 1'000'000;
    EXPECT_THAT(*types.Compare(SetOf(MakeOffer()), 1, "", steps), ElementsAre(""));
    return 1'000'000 - steps;
  };
  const int64_t first = cost();
  const int64_t second = cost();
  EXPECT_GE(second, 300) << "the fields of 101 messages are looked at";
  EXPECT_GE(first, second + 300) << "and were read before";
  EXPECT_EQ(cost(), second);
}

}  // namespace
}  // namespace understudy
