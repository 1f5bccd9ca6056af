// The direct hand-off: a message to an idle actor skips the inbound list of its mailbox, if nothing has come since
// (actors/internal/send/plain_send.h). Users must see no difference from any other message.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/ledger.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/actors/script.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

struct Word {
  int64_t value = 0;
};
struct Pair {
  int64_t first = 0;
  int64_t second = 0;
};
struct Odd {
  std::array<char, 13> bytes{};
};
struct Wide {
  std::array<int64_t, 5> values{};
};

// Notes its messages; postpones words until `go`.
class Receiver final : public Actor {
 public:
  Mailbox<"word", Word> word{this};
  Mailbox<"pair", Pair> pair{this};
  Mailbox<"odd", Odd> odd{this};
  Mailbox<"wide", Wide> wide{this};
  Mailbox<"text", std::string> text{this};
  Mailbox<"go", int> go{this};
  explicit Receiver(std::vector<std::string>* notes) : notes_(notes) {}
  StartResult Start() override { return waiting_; }

 private:
  void Later(const Word&) { context().Postpone(); }
  void NoteWord(const Word& got) { notes_->push_back(absl::StrCat(got.value)); }
  void NotePair(const Pair& got) { notes_->push_back(absl::StrCat(got.first, " ", got.second)); }
  void NoteOdd(const Odd& got) { notes_->emplace_back(got.bytes.data(), got.bytes.size()); }
  void NoteWide(const Wide& got) { notes_->push_back(absl::StrCat(got.values.front(), " ", got.values.back())); }
  void NoteText(const std::string& got) { notes_->push_back(got); }

  std::vector<std::string>* const notes_;
  Behavior taking_{"taking", On(word, &Receiver::NoteWord)};
  Behavior waiting_{"waiting",
                    On(word, &Receiver::Later),
                    On(pair, &Receiver::NotePair),
                    On(odd, &Receiver::NoteOdd),
                    On(wide, &Receiver::NoteWide),
                    On(text, &Receiver::NoteText),
                    On(go, [this](int) { Become(taking_); })};
};

class HandedTest : public ActorTest {
 protected:
  HandedTest() : sender_(system().Spawn<Script>()), receiver_(system().Spawn<Receiver>(&notes_)) {
    system().RunUntilIdle();
  }
  // In a turn of the sender, while the receiver is idle.
  template <class F>
  void InSender(F send) {
    Do(sender_, [send](Script&) { send(); });
    system().RunUntilIdle();
  }
  MessageLedger WordsOfReceiver() {
    for (const MailboxLedger& ledger : system().MailboxLedgers()) {
      if (ledger.actor == receiver_.pid() && ledger.mailbox == "word") return ledger.messages;
    }
    return {};
  }

  std::vector<std::string> notes_;
  const Ref<Script> sender_;
  const Ref<Receiver> receiver_;
};

TEST_F(HandedTest, ItHasTheValueThatWasSentWhateverItsSize) {
  InSender([&] { receiver_[&Receiver::pair].Tell({.first = 1, .second = 2}); });
  InSender([&] {
    receiver_[&Receiver::odd].Tell({.bytes = {'t', 'h', 'i', 'r', 't', 'e', 'e', 'n', ' ', 'b', 'y', 't', 'e'}});
  });
  InSender([&] { receiver_[&Receiver::wide].Tell({.values = {3, 0, 0, 0, 4}}); });
  InSender([&] { receiver_[&Receiver::text].Tell("a text that is too long to lie in its string"); });
  EXPECT_THAT(notes_, ElementsAre("1 2", "thirteen byte", "3 4", "a text that is too long to lie in its string"));
}

// Plain data of `kSize` bytes. Up to 32 bytes are copied in a different way than larger data.
template <size_t kSize>
struct Bytes {
  std::array<unsigned char, kSize> bytes{};
};
template <size_t kSize>
class Sink final : public Actor {
 public:
  Mailbox<"in", Bytes<kSize>> in{this};
  explicit Sink(std::vector<unsigned char>* got) : got_(got) {}
  StartResult Start() override { return taking_; }

 private:
  void Take(const Bytes<kSize>& message) { got_->assign(message.bytes.begin(), message.bytes.end()); }

  std::vector<unsigned char>* const got_;
  Behavior taking_{"taking", On(in, &Sink::Take)};
};

class SizesTest : public HandedTest {
 protected:
  template <size_t kSize>
  void SendOf() {
    std::vector<unsigned char> got;
    const auto sink = system().template Spawn<Sink<kSize>>(&got);
    system().RunUntilIdle();
    Bytes<kSize> message;
    for (size_t i = 0; i < kSize; ++i) message.bytes[i] = static_cast<unsigned char>(i + 1);
    InSender([&] { sink[&Sink<kSize>::in].Tell(message); });
    EXPECT_THAT(got, ElementsAreArray(message.bytes)) << kSize;
  }
  template <size_t... kSizes>
  void SendOfEach(std::index_sequence<kSizes...> /*from 0*/) {
    (SendOf<kSizes + 1>(), ...);
  }
};

TEST_F(SizesTest, EachByteOfPlainDataOfAnySizeComes) { SendOfEach(std::make_index_sequence<72>()); }

TEST_F(HandedTest, ItWaitsInTheLedgerUntilItIsHandled) {
  MessageLedger before;
  InSender([&] {
    receiver_[&Receiver::word].Tell({.value = 1});
    before = WordsOfReceiver();
  });
  EXPECT_EQ(before.accepted, 1);
  EXPECT_EQ(before.waiting, 1);
  InSender([&] { receiver_[&Receiver::go].Tell(0); });
  EXPECT_EQ(WordsOfReceiver().accepted, 1);
  EXPECT_EQ(WordsOfReceiver().waiting, 0);
}

TEST_F(HandedTest, PostponedItComesBackBeforeWhatCameAfterIt) {
  for (int64_t value = 1; value <= 3; ++value) {
    InSender([&] { receiver_[&Receiver::word].Tell({.value = value}); });
  }
  EXPECT_THAT(notes_, IsEmpty());
  InSender([&] {
    receiver_[&Receiver::go].Tell(0);
    receiver_[&Receiver::word].Tell({.value = 4});
  });
  EXPECT_THAT(notes_, ElementsAre("1", "2", "3", "4"));
}

TEST_F(HandedTest, AnExitThatCameAfterItActsBeforeIt) {
  InSender([&] {
    receiver_[&Receiver::pair].Tell({.first = 1, .second = 2});
    system().Kill(receiver_.pid());
  });
  EXPECT_THAT(notes_, IsEmpty());
}

// Has the channel that it is sent by.
struct Round {
  Channel<Round> to;
  int64_t number = 0;
};
class Taker final : public Actor {
 public:
  Mailbox<"round", Round> round{this, {.capacity_messages = 1}};
  Mailbox<"open", int> open{this};
  explicit Taker(std::vector<std::string>* notes) : notes_(notes) {}
  StartResult Start() override { return closed_; }

 private:
  void Note(const Round& got) { notes_->push_back(absl::StrCat(got.number)); }

  std::vector<std::string>* const notes_;
  Behavior open_{"open", On(round, &Taker::Note)};
  Behavior closed_{"closed", On(open, [this](int) { Become(open_); })};
};

TEST_F(HandedTest, AMessageMayHaveTheChannelThatItIsSentBy) {
  const Ref<Taker> taker = system().Spawn<Taker>(&notes_);
  system().RunUntilIdle();
  InSender([&] {
    Round first{.to = taker[&Taker::round], .number = 1};
    EXPECT_TRUE(first.to.Send(std::move(first)).ok());
    Round second{.to = taker[&Taker::round], .number = 2};
    EXPECT_TRUE(IsFull(second.to.Send(std::move(second))));
    EXPECT_EQ(second.number, 2);
    second.to.Tell(std::move(second));
    taker[&Taker::open].Tell(0);
  });
  EXPECT_THAT(notes_, ElementsAre("1"));
  InSender([&] {
    Round third{.to = taker[&Taker::round], .number = 3};
    third.to.Tell(std::move(third));
  });
  EXPECT_THAT(notes_, ElementsAre("1", "3"));
}

// An actor with the largest permitted number of mailboxes, so that some collide in the table in which senders look
// mailboxes up.
class Many final : public Actor {
 public:
  MailboxArray<"in", int64_t> in;
  Many(const std::vector<std::string>& labels, std::vector<int64_t>* sums) : in(this, labels), sums_(sums) {}
  StartResult Start() override { return summing_; }

 private:
  void Add(const int64_t& value, size_t place) { (*sums_)[place] += value; }

  std::vector<int64_t>* const sums_;
  Behavior summing_{"summing", On(in, &Many::Add)};
};

TEST_F(HandedTest, EachOfAsManyMailboxesAsThereMayBeGetsItsOwn) {
  std::vector<std::string> labels;
  for (int i = 0; i < limits::kMailboxesPerActorMax; ++i) labels.push_back(absl::StrCat("source-", i));
  std::vector<int64_t> sums(labels.size());
  const Ref<Many> many = system().Spawn<Many>(labels, &sums);
  system().RunUntilIdle();
  for (size_t i = 0; i < labels.size(); ++i) {
    InSender([&] { many.At(&Many::in, labels[i]).Tell(static_cast<int64_t>(i) + 1); });
  }
  for (size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(sums[i], static_cast<int64_t>(i) + 1);
}

}  // namespace
}  // namespace understudy
