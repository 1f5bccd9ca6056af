#include "understudy/actors/message.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
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

TEST(PayloadDeathTest, AsAnotherTypeIsACheck) {
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

}  // namespace
}  // namespace understudy
