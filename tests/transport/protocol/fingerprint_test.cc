// Tests of which changes of a service change its fingerprint. Fingerprints of mailboxes are tested in local_types_test.
#include "understudy/transport/protocol/fingerprint.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "understudy/actors/check.h"
#include "understudy/tests/transport/protocol/proto_pool.h"

namespace understudy::actor_protocol {
namespace {

constexpr absl::string_view kAuction = R"(
  syntax = "proto3";
  package auction;
  import "google/protobuf/empty.proto";
  import "understudy/proto/options.proto";
  service Auction {
    rpc MakeOffer(Offer) returns (Result);
    rpc Watch(Offer) returns (google.protobuf.Empty) { option (understudy.options.cast) = true; }
    rpc Follow(Offer) returns (stream Result);
  }
  service Book { rpc Load(Offer) returns (Result); }
  message Offer { int64 cents = 1; string bidder = 2; Lot lot = 3; }
  message Lot { bytes picture = 1; }
  message Result { bool accepted = 1; }
  message Verdict { bool accepted = 1; }
)";

std::string With(absl::string_view from, absl::string_view to) {
  const size_t at = kAuction.find(from);
  UNDERSTUDY_CHECK(at != absl::string_view::npos, from, " is not in the text");
  return absl::StrCat(kAuction.substr(0, at), to, kAuction.substr(at + from.size()));
}

uint64_t Fingerprint(absl::string_view text, const std::string& service = "auction.Auction") {
  const ProtoPool pool(text);
  const google::protobuf::ServiceDescriptor* const found = pool.get()->FindServiceByName(service);
  UNDERSTUDY_CHECK(found != nullptr, service);
  return ServiceFingerprint(*found);
}

// If the fingerprint of a service changed with Understudy's version, equal services of two builds would seem to differ.
TEST(ServiceFingerprintTest, StaysTheSameOverTime) { EXPECT_EQ(Fingerprint(kAuction), 16932028733099974371U); }

TEST(ServiceFingerprintTest, EqualProtocolsHaveEqualOnes) {
  const uint64_t before = Fingerprint(kAuction);
  EXPECT_NE(before, 0U);
  const auto keeps = [&](absl::string_view from, absl::string_view to) {
    EXPECT_EQ(Fingerprint(With(from, to)), before) << from << " became " << to;
  };
  keeps(
      "rpc MakeOffer(Offer) returns (Result);\n    rpc Watch(Offer) returns (google.protobuf.Empty) { option "
      "(understudy.options.cast) = true; }",
      "rpc Watch(Offer) returns (google.protobuf.Empty) { option (understudy.options.cast) = true; }\n"
      "    rpc MakeOffer(Offer) returns (Result);");
  keeps("int64 cents = 1; string bidder = 2;", "string bidder = 2; int64 cents = 1;");
  keeps("int64 cents", "/* Not euros. */ int64 amount");
  keeps("message Lot { bytes picture = 1; }", "message Lot { bytes picture = 1 [deprecated = true]; reserved 7; }");
  keeps("rpc Load(Offer)", "rpc Store(Offer)");
  keeps("rpc MakeOffer(Offer) returns (Result);",
        "rpc MakeOffer(Offer) returns (Result) { option (understudy.options.capacity_messages) = 7;"
        " option (understudy.options.optional_rpc) = true; }");
}

TEST(ServiceFingerprintTest, EachChangeOfAMailboxGivesAnotherOne) {
  std::vector<uint64_t> seen = {Fingerprint(kAuction), Fingerprint(kAuction, "auction.Book")};
  const auto change = [&](absl::string_view from, absl::string_view to) {
    seen.push_back(Fingerprint(With(from, to)));
    for (size_t i = 0; i + 1 < seen.size(); ++i) EXPECT_NE(seen.back(), seen[i]) << from << " became " << to;
  };
  change("rpc MakeOffer(Offer)", "rpc Bid(Offer)");
  change("rpc MakeOffer(Offer)", "rpc Withdraw(Offer) returns (Result); rpc MakeOffer(Offer)");
  change("rpc MakeOffer(Offer) returns (Result);", "");
  change("{ option (understudy.options.cast) = true; }", ";");
  change("stream Result", "Result");
  change("rpc MakeOffer(Offer)", "rpc MakeOffer(stream Offer)");
  change("rpc MakeOffer(Offer) returns (Result)", "rpc MakeOffer(Offer) returns (stream Result)");
  change("rpc MakeOffer(Offer) returns (Result)", "rpc MakeOffer(stream Offer) returns (stream Result)");
  change("rpc MakeOffer(Offer) returns (Result)", "rpc MakeOffer(Result) returns (Result)");
  change("rpc MakeOffer(Offer) returns (Result)", "rpc MakeOffer(Offer) returns (Verdict)");
  change("string bidder = 2;", "string bidder = 2; string house = 9;");
  change("bytes picture", "string picture");
  change("message Result { bool accepted", "message Result { int32 accepted");
}

}  // namespace
}  // namespace understudy::actor_protocol
