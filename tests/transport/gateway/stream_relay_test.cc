// Relays in virtual time: calls whose actor is silent for long.
#include "understudy/transport/gateway/stream_relay.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/error.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/ref.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/tests/transport/gateway/desk.pb.h"
#include "understudy/transport/gateway/exported_service.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;

// Does nothing with its call until it is told to end it with a status. Then it reads all items, and answers their
// number.
class Sleeper final : public Actor {
 public:
  Mailbox<"ask", Call<desk::Text, Stream<desk::Text>>> ask{this};
  Mailbox<"converse", Call<Stream<desk::Parcel>, Stream<desk::Text>>> converse{this};
  Mailbox<"end", absl::Status> end{this};

 private:
  StartResult Start() override { return asleep_; }
  void Keep(const desk::Text&, StreamWriter<desk::Text> writer) { writer_.emplace(std::move(writer)); }
  void KeepItems(Stream<desk::Parcel> items, StreamWriter<desk::Text> writer) {
    items_.emplace(std::move(items));
    writer_.emplace(std::move(writer));
  }
  Task<> End(absl::Status status) {
    int count = 0;
    while (items_.has_value()) {
      auto next = items_->Next(absl::Minutes(1));
      const absl::StatusOr<absl::optional<desk::Parcel>> item = co_await next;
      if (!item.ok()) co_return writer_->Finish(item.status());
      if (!item->has_value()) break;
      ++count;
    }
    desk::Text answer;
    answer.set_text(absl::StrCat(count));
    auto writing = writer_->Write(std::move(answer), absl::Minutes(1));
    (void)co_await writing;
    writer_->Finish(std::move(status));
  }

  absl::optional<Stream<desk::Parcel>> items_;
  absl::optional<StreamWriter<desk::Text>> writer_;
  Behavior asleep_{"asleep", On(ask, &Sleeper::Keep), On(converse, &Sleeper::KeepItems), On(end, &Sleeper::End)};
};

// Takes each answer at once, and sends so many items.
class Client final : public ClientStream {
 public:
  explicit Client(int items = 0) : items_(items) {}

  void Read(const Channel<Received>& received) override {
    EXPECT_TRUE(received.Send({.item = items_-- > 0 ? absl::make_optional(std::string()) : absl::nullopt}).ok());
  }
  void Write(std::string answer, const Channel<Written>& written) override {
    desk::Text text;
    EXPECT_TRUE(text.ParseFromString(answer));
    answers.push_back(text.text());
    EXPECT_TRUE(written.Send(Written()).ok());
  }
  void End(absl::Status status) override { end = std::move(status); }

  std::vector<std::string> answers;
  absl::optional<absl::Status> end;

 private:
  int items_;
};

class StreamRelayTest : public ActorTest {
 protected:
  void Ask(Client& client, absl::Duration timeout) {
    ClientRequest asked{.timeout = timeout};
    SpawnRelay<AskRelay<desk::Text, desk::Text>>(system(), asked, &client, sleeper_[&Sleeper::ask], desk::Text());
    system().RunUntilIdle();
  }
  void Converse(Client& client, absl::Duration timeout) {
    ClientRequest asked{.timeout = timeout};
    SpawnRelay<UploadRelay<desk::Parcel, Stream<desk::Text>>>(system(), asked, &client, sleeper_[&Sleeper::converse]);
    system().RunUntilIdle();
  }
  void LetEnd(const absl::Status& status) {
    sleeper_[&Sleeper::end].Tell(status);
    system().RunUntilIdle();
  }

  const Ref<Sleeper> sleeper_ = system().Spawn<Sleeper>();
};

TEST_F(StreamRelayTest, AStreamWithoutADeadlineWaitsForItsItemsForDays) {
  Client client;
  Ask(client, absl::InfiniteDuration());
  system().Advance(2 * limits::kAskTimeoutMax + absl::Hours(1));
  LetEnd(absl::OkStatus());
  EXPECT_THAT(client.answers, ElementsAre("0"));
  EXPECT_EQ(client.end, absl::OkStatus());
}

TEST_F(StreamRelayTest, AConversationWithoutADeadlineWaitsForItsActorToReadForDays) {
  constexpr int kItems = 2 * static_cast<int>(limits::kStreamItemsMax);  // more than the actor's credit
  Client client(kItems);
  Converse(client, absl::InfiniteDuration());
  system().Advance(2 * limits::kAskTimeoutMax + absl::Hours(1));
  LetEnd(absl::OkStatus());
  EXPECT_THAT(client.answers, ElementsAre(absl::StrCat(kItems)));
  EXPECT_EQ(client.end, absl::OkStatus());
}

TEST_F(StreamRelayTest, ADeadlineOfDaysEndsAStreamThen) {
  Client client;
  Ask(client, absl::Hours(60));
  system().Advance(absl::Hours(59));
  EXPECT_FALSE(client.end.has_value());
  system().Advance(absl::Hours(2));
  ASSERT_TRUE(client.end.has_value());
  EXPECT_TRUE(IsExpired(*client.end)) << *client.end;
}

// The relay does not take the actor's error for the end of its own wait.
TEST_F(StreamRelayTest, AStreamThatItsActorEndsWithExpiredEnds) {
  Client client;
  Ask(client, absl::InfiniteDuration());
  system().Advance(limits::kAskTimeoutMax + absl::Hours(1));
  LetEnd(MakeError(ErrorKind::kExpired, "the actor's own"));
  ASSERT_TRUE(client.end.has_value());
  EXPECT_TRUE(IsExpired(*client.end)) << *client.end;
}

}  // namespace
}  // namespace understudy::internal
