#include "understudy/actors/message.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/limits.h"
#include "understudy/tests/actors/letter.h"

namespace understudy {

// A message with bytes of its own.
struct Parcel {
  std::string content;
};
size_t MessageBytes(const Parcel& parcel) { return parcel.content.size(); }

namespace {

using ::testing::HasSubstr;

struct Counted {
  explicit Counted(int* count) : alive(count) { ++*alive; }
  Counted(Counted&& other) noexcept : alive(other.alive) { ++*alive; }
  ~Counted() { --*alive; }
  int* alive;
};

static_assert(WireMessage<Letter>);
static_assert(!WireMessage<Parcel>);
static_assert(!WireMessage<int>);

TEST(PayloadTest, DestroysItsValueOnce) {
  int alive = 0;
  {
    internal::Payload payload = internal::Payload::Of(Counted(&alive));
    EXPECT_EQ(alive, 1);
    internal::Payload moved = std::move(payload);
    EXPECT_FALSE(payload.is_typed());  // NOLINT: a moved-from payload is empty
    EXPECT_EQ(alive, 1);
    moved = internal::Payload::Of(Counted(&alive));
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(PayloadTest, TakesMoveOnlyValues) {
  internal::Payload payload = internal::Payload::Of(std::make_unique<int>(7));
  EXPECT_EQ(*payload.As<std::unique_ptr<int>>(), 7);
}

TEST(PayloadTest, SaysHowManyBytesItHolds) {
  // semantics 2.6
  EXPECT_EQ(internal::Payload::Of(Parcel{"12345"}).bytes(), 5U);
  EXPECT_EQ(internal::Payload::Of(int64_t{1}).bytes(), sizeof(int64_t));
  Letter letter;
  letter.text = "abc";
  EXPECT_EQ(internal::Payload::Of(letter).bytes(), 4U);
  EXPECT_EQ(internal::Payload::OfWireBytes("Labc").bytes(), 4U);
  EXPECT_EQ(internal::Payload().bytes(), 0U);
}

TEST(PayloadTest, ParsesWireBytesAsWhatTheMailboxDeclares) {
  internal::Payload payload = internal::Payload::OfWireBytes("Lhello");
  ASSERT_TRUE(payload.ParseAs(internal::TypeOf<Letter>()).ok());
  EXPECT_EQ(payload.As<Letter>().text, "hello");
  EXPECT_FALSE(payload.is_wire_bytes());
  EXPECT_TRUE(payload.ParseAs(internal::TypeOf<Letter>()).ok());
}

TEST(PayloadTest, BytesThatDoNotParseStayWhatTheyAre) {
  internal::Payload payload = internal::Payload::OfWireBytes("junk");
  const absl::Status parsed = payload.ParseAs(internal::TypeOf<Letter>());
  EXPECT_EQ(parsed.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.message()), HasSubstr("4 bytes do not parse as post.Letter"));
  EXPECT_EQ(payload.wire_bytes(), "junk");
  EXPECT_EQ(internal::Payload::OfWireBytes("L").ParseAs(internal::TypeOf<int>()).code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(PayloadTest, ATypedValueIsNotParsedAsAnother) {
  internal::Payload payload = internal::Payload::Of(5);
  EXPECT_EQ(payload.ParseAs(internal::TypeOf<Letter>()).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(payload.As<int>(), 5);
}

TEST(PayloadDeathTest, ReadingItAsAnotherTypeDies) {
  internal::Payload payload = internal::Payload::Of(5);
  EXPECT_DEATH((void)payload.As<Letter>(), "the payload is a int, not a post.Letter");
}

TEST(MessageTypeTest, IsOnePerTypeWithItsName) {
  EXPECT_EQ(&internal::TypeOf<Letter>(), &internal::TypeOf<Letter>());
  EXPECT_EQ(internal::TypeOf<Letter>().name(), "post.Letter");
  EXPECT_EQ(internal::TypeOf<Parcel>().name(), "understudy::Parcel");
}

TEST(MailboxNamesTest, FindsTheNameBehindAHash) {
  const uint32_t hash = internal::MailboxNames::Intern("auction.Auction/MakeOffer");
  EXPECT_EQ(hash, internal::Fnv1a("auction.Auction/MakeOffer"));
  EXPECT_EQ(internal::MailboxNames::Find(hash), "auction.Auction/MakeOffer");
  EXPECT_EQ(internal::MailboxNames::Find(1), "");
}

// Two names with one hash.
constexpr absl::string_view kOne = "box[client-3635182160082752511]";
constexpr absl::string_view kOther = "box[client-16873194025822651983]";

TEST(MailboxNamesTest, ANameThatASenderMeansGivesWayToADeclaredOne) {
  using internal::MailboxNames;
  const uint32_t hash = MailboxNames::Meant(kOne);
  EXPECT_EQ(hash, internal::Fnv1a(kOther));
  EXPECT_EQ(MailboxNames::Meant(kOne), hash);
  EXPECT_EQ(MailboxNames::Meant(kOther), 0U) << "it is told apart";
  const absl::string_view meant = MailboxNames::Find(hash);
  EXPECT_EQ(meant, kOne);
  EXPECT_EQ(MailboxNames::Intern(kOther), hash);
  EXPECT_EQ(MailboxNames::Find(hash), kOther);
  EXPECT_EQ(meant, kOne) << "valid for ever";
  EXPECT_EQ(MailboxNames::Meant(kOne), 0U);
  EXPECT_EQ(MailboxNames::Meant(kOther), hash);
  EXPECT_DEATH(MailboxNames::Intern(kOne), "have the same hash; rename one");
}

TEST(MailboxNamesTest, NotEachNameThatASenderMeansIsKept) {
  using internal::MailboxNames;
  size_t kept = 0;
  for (size_t i = 0; i < limits::kMailboxNamesMeantMax + 100; ++i) {
    const std::string name = absl::StrCat("stranger ", i);
    const uint32_t hash = MailboxNames::Meant(name);
    if (hash != 0 && MailboxNames::Find(hash) == name) ++kept;
  }
  EXPECT_LE(kept, limits::kMailboxNamesMeantMax);
  EXPECT_GE(kept, limits::kMailboxNamesMeantMax - 100) << "but for those with the hash of another";
  const uint32_t hash = MailboxNames::Intern("the first of its actor");
  EXPECT_EQ(MailboxNames::Find(hash), "the first of its actor") << "declared ones are";
}

}  // namespace
}  // namespace understudy
