// The bound of a mailbox in bytes: the sizes of messages, the default bound, and a message that is larger than the
// bound.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/message_bytes.h"
#include "understudy/actors/node_places.h"
#include "understudy/actors/room.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/letter.h"

namespace understudy {

// Says its size with the library's sizes of its parts.
struct Order {
  std::string text;
  std::vector<int> items;
};
size_t MessageBytes(const Order& order) { return MessageBytes(order.text) + MessageBytes(order.items); }

// Has the functions of a wire message, and a MessageBytes of the program's own.
struct Telegram {
  struct Descriptor {
    static std::string full_name() { return "Telegram"; }
  };
  static const Descriptor* descriptor() { return nullptr; }
  static bool SerializeToString(std::string* /*out*/) { return true; }
  static bool ParseFromArray(const void* /*bytes*/, int /*size*/) { return true; }
  static size_t ByteSizeLong() { return 7; }
};
size_t MessageBytes(const Telegram&) { return 100; }

namespace {

using ::testing::HasSubstr;

constexpr size_t kMiB = size_t{1} << 20;

static_assert(SizedMessage<std::string> && SizedMessage<std::vector<int>> && SizedMessage<absl::Cord>);
static_assert(SizedMessage<Letter> && SizedMessage<Order>);
static_assert(!SizedMessage<int> && !SizedMessage<const char*> && !SizedMessage<std::pair<int, std::string>>);

TEST(MessageBytesTest, CountsWhatAStringAVectorOrACordHolds) {
  EXPECT_EQ(MessageBytes(std::string(100, 'x')), sizeof(std::string) + 100);
  EXPECT_EQ(MessageBytes(std::u16string(100, u'x')), sizeof(std::string) + 200);
  EXPECT_EQ(MessageBytes(std::vector<int64_t>(100)), sizeof(std::vector<int64_t>) + 800);
  EXPECT_EQ(MessageBytes(absl::Cord(std::string(100, 'x'))), sizeof(absl::Cord) + 100);
  EXPECT_EQ(MessageBytes(std::vector<std::string>{std::string(100, 'x'), ""}),
            sizeof(std::vector<std::string>) + 2 * sizeof(std::string) + 100);
  EXPECT_EQ(MessageBytes(std::vector<Order>{{.text = "abc", .items = {1}}}),
            2 * sizeof(std::vector<int>) + sizeof(std::string) + 3 + sizeof(int));
}

TEST(MessageBytesTest, AWireMessageHasItsWireSizeWhateverTheProgramSays) {
  static_assert(WireMessage<Telegram>);
  EXPECT_EQ(internal::BytesOf(Telegram()), 7U);
}

// Takes nothing until it is told to open.
template <class M>
class Closed final : public Actor {
 public:
  Mailbox<"in", M> in;
  Mailbox<"open", int> open{this};
  explicit Closed(MailboxOptions options = {}) : in(this, options) {}
  StartResult Start() override { return closed_; }

 private:
  Behavior closed_{"closed", On(open, [this](int) { return open_; })};
  Behavior open_{"open", On(in, [](const M&) {})};
};

class MailboxBytesTest : public ActorTest {
 protected:
  template <class M>
  Ref<Closed<M>> Spawn(MailboxOptions options = {}) {
    Ref<Closed<M>> closed = system().Spawn<Closed<M>>(options);
    system().RunUntilIdle();
    return closed;
  }
  template <class M>
  void Open(Ref<Closed<M>> closed) {
    closed[&Closed<M>::open].Tell(1);
    system().RunUntilIdle();
  }
  // The mailbox takes 8 MiB, and 4 MiB, and no 8 MiB more.
  template <class M>
  void ExpectBounded(M (*of_bytes)(size_t)) {
    const Ref<Closed<M>> closed = Spawn<M>();
    EXPECT_TRUE(closed[&Closed<M>::in].Send(of_bytes(8 * kMiB)).ok());
    EXPECT_TRUE(closed[&Closed<M>::in].Send(of_bytes(4 * kMiB)).ok());
    const absl::Status full = closed[&Closed<M>::in].Send(of_bytes(8 * kMiB));
    EXPECT_TRUE(IsFull(full)) << full;
    EXPECT_THAT(std::string(full.message()), HasSubstr("exceed its capacity of 16777216"));
    Open(closed);
    EXPECT_TRUE(closed[&Closed<M>::in].Send(of_bytes(8 * kMiB)).ok());
  }
};

TEST_F(MailboxBytesTest, MessagesOfDifferentSizesAreBoundedTo16MiBByDefault) {
  ExpectBounded<std::string>([](size_t bytes) { return std::string(bytes, 'x'); });
  ExpectBounded<std::vector<char>>([](size_t bytes) { return std::vector<char>(bytes); });
  ExpectBounded<absl::Cord>([](size_t bytes) { return absl::Cord(std::string(bytes, 'x')); });
  ExpectBounded<Order>([](size_t bytes) { return Order{.text = std::string(bytes, 'x')}; });
  ExpectBounded<Letter>([](size_t bytes) {
    Letter letter;
    letter.text = std::string(bytes, 'x');
    return letter;
  });
}

TEST_F(MailboxBytesTest, TheDeclarationMaySayAnotherBoundOrNone) {
  const Ref<Closed<std::string>> none = Spawn<std::string>({.capacity_bytes = SIZE_MAX});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(none[&Closed<std::string>::in].Send(std::string(8 * kMiB, 'x')).ok());
  const Ref<Closed<std::string>> small = Spawn<std::string>({.capacity_bytes = 100});
  EXPECT_TRUE(small[&Closed<std::string>::in].Send("one").ok());
  EXPECT_TRUE(IsFull(small[&Closed<std::string>::in].Send(std::string(100, 'x'))));
}

// Large, and of one size.
struct Page {
  char content[kMiB];
};

TEST_F(MailboxBytesTest, MessagesOfOneSizeAreBoundedByTheirNumberAlone) {
  const Ref<Closed<Page>> closed = Spawn<Page>();
  auto page = std::make_unique<Page>();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(closed[&Closed<Page>::in].Send(*page).ok());
}

TEST_F(MailboxBytesTest, AnEmptyMailboxAcceptsOneMessageOfAnySize) {
  for (const Overflow overflow : {Overflow::kRefuse, Overflow::kDropOldest, Overflow::kFailActor}) {
    const Ref<Closed<std::string>> closed = Spawn<std::string>({.capacity_bytes = 100, .overflow = overflow});
    const Channel<std::string> in = closed[&Closed<std::string>::in];
    EXPECT_TRUE(in.Send(std::string(1000, 'x')).ok());
    system().RunUntilIdle();
    if (overflow != Overflow::kFailActor) {
      EXPECT_TRUE(IsFull(in.Send("")));
    }
    Open(closed);
    EXPECT_TRUE(in.Send(std::string(1000, 'x')).ok());
    system().RunUntilIdle();
    EXPECT_TRUE(in.Send("one").ok());
    EXPECT_TRUE(IsFull(in.Send(std::string(1000, 'x')))) << "one waits, and the receiver has had no turn";
    system().RunUntilIdle();
  }
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 0);
}

TEST_F(MailboxBytesTest, AMessageThatIsLargerThanTheCapacityIsDroppedForNewerOnesLikeAnyOther) {
  const Ref<Closed<std::string>> closed =
      Spawn<std::string>({.capacity_bytes = 1000, .overflow = Overflow::kDropOldest});
  const Channel<std::string> in = closed[&Closed<std::string>::in];
  EXPECT_TRUE(in.Send(std::string(1500, 'x')).ok());
  EXPECT_TRUE(in.Send("newer").ok()) << "below twice the capacity";
  system().RunUntilIdle();
  EXPECT_EQ(Ledger().of(Disposition::kDropped), 1);
  EXPECT_EQ(Ledger().waiting, 1);
}

TEST_F(MailboxBytesTest, EarlyMailMayBeOneMessageOfAnySizeToo) {
  for (const Overflow overflow : {Overflow::kRefuse, Overflow::kDropOldest}) {
    const Ref<Closed<std::string>> closed =
        system().Spawn<Closed<std::string>>(MailboxOptions{.capacity_bytes = 100, .overflow = overflow});
    EXPECT_TRUE(closed[&Closed<std::string>::in].Send(std::string(1000, 'x')).ok());
    system().RunUntilIdle();
    EXPECT_EQ(Ledger().waiting, 1);
    Open(closed);
  }
  EXPECT_TRUE(dead_letters().empty());
}

// 1,000 bytes of another node for a mailbox of 100.
TEST_F(MailboxBytesTest, ANodeMayReserveRoomForOneMessageOfAnySizeInAnEmptyMailbox) {
  const NodePlace node = *system().InternPeer("peer", NodeIncarnation{7});
  const Ref<Closed<Letter>> closed = Spawn<Letter>({.capacity_bytes = 100});
  const Channel<Letter> in = closed[&Closed<Letter>::in];
  const RoomRequest room{
      .node = node, .to = in.pid(), .mailbox = in.mailbox(), .amount = {.messages = 1, .bytes = 1000}};
  EXPECT_TRUE(in.Send(Letter()).ok());
  EXPECT_EQ(system().Reserve(room).amount, RoomAmount());
  Open(closed);
  EXPECT_EQ(system().Reserve(room).amount, room.amount);
  EXPECT_TRUE(IsFull(in.Send(Letter()))) << "the room is taken";
  system().GiveBack(room);
  EXPECT_TRUE(in.Send(Letter()).ok());
  system().RunUntilIdle();
}

}  // namespace
}  // namespace understudy
