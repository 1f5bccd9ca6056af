// A peer that uses the number of one call again while an end of that call's stream is still there (semantics 10.7): the
// second end is cancelled, and the first one goes on.
#include <cstddef>
#include <cstdint>
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
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/node_table.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/stream.h"
#include "understudy/actors/stream_writer.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/null_router.h"
#include "understudy/tests/actors/letter.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;

// Notes, for each call, how its first Next ended or the Write that no credit is left for.
class Depot final : public Actor {
 public:
  Mailbox<"fetch", Call<Letter, Stream<Letter>>> fetch{this};
  Mailbox<"store", Call<Stream<Letter>, Letter>> store{this};
  explicit Depot(std::vector<std::string>* notes) : notes_(*notes) {}
  StartResult Start() override { return open_; }

 private:
  void Note(const std::string& who, const absl::Status& status) {
    notes_.push_back(absl::StrCat(who, " ", absl::StatusCodeToString(status.code())));
  }
  Task<absl::Status> Fetch(const Letter& request, StreamWriter<Letter> writer) {
    for (size_t i = 0; i < limits::kStreamItemsMax; ++i) (void)writer.Write(Letter(), absl::Hours(1));
    absl::Status written = co_await writer.Write(Letter(), absl::Hours(1));
    Note(request.text, written);
    co_return written;
  }
  Task<absl::StatusOr<Letter>> Store(Stream<Letter> letters) {
    const std::string who = absl::StrCat(++stores_);
    absl::StatusOr<absl::optional<Letter>> letter = co_await letters.Next(absl::Hours(1));
    Note(who, letter.status());
    co_return Letter();
  }

  std::vector<std::string>& notes_;
  int stores_ = 0;
  Behavior open_{"open", On(fetch, &Depot::Fetch).Interleaved(), On(store, &Depot::Store).Interleaved()};
};

class StreamSameAskTest : public ActorTest {
 protected:
  StreamSameAskTest() {
    system().InstallRouter(&router_);
    system().RunUntilIdle();
  }
  void TearDown() override {
    ActorTest::TearDown();
    system().InstallRouter(nullptr);
  }
  template <class M>
  void Deliver(const Channel<M>& channel, std::string bytes, uint64_t ask) {
    internal::Message message{.from = stranger_, .to = channel.pid(), .mailbox = channel.mailbox(), .ask = ask};
    message.payload = internal::Payload::OfWireBytes(std::move(bytes));
    EXPECT_TRUE(system().Deliver(std::move(message)).ok());
    system().RunUntilIdle();
  }
  void Deliver(SignalKind kind, uint64_t ask, internal::Payload payload) {
    system().Deliver(
        Signal{.kind = kind, .from = stranger_, .to = depot_.pid(), .id = ask, .payload = std::move(payload)});
    system().RunUntilIdle();
  }

  NullRouter router_;
  const Pid stranger_{*system().InternPeer("far", NodeIncarnation{7}), 3, 5};
  std::vector<std::string> notes_;
  Ref<Depot> depot_ = system().Spawn<Depot>(&notes_);
};

TEST_F(StreamSameAskTest, TheSecondWriterIsCancelledAndTheFirstGoesOn) {
  constexpr uint64_t kAsk = internal::kStreamAsk | 8;
  Deliver(depot_[&Depot::fetch], "L1", kAsk);
  Deliver(depot_[&Depot::fetch], "L2", kAsk);
  EXPECT_THAT(notes_, ElementsAre("2 CANCELLED"));
  Deliver(SignalKind::kStreamCredit, kAsk, internal::Payload::Of(internal::StreamCredit{.items = 1}));
  EXPECT_THAT(notes_, ElementsAre("2 CANCELLED", "1 OK"));
}

TEST_F(StreamSameAskTest, TheSecondReaderIsCancelledAndTheFirstGoesOn) {
  constexpr uint64_t kAsk = internal::kUploadAsk | 8;
  Deliver(depot_[&Depot::store], "", kAsk);
  Deliver(depot_[&Depot::store], "", kAsk);
  EXPECT_THAT(notes_, ElementsAre("2 CANCELLED"));
  Deliver(SignalKind::kUploadItem, kAsk, internal::Payload::OfWireBytes("La"));
  EXPECT_THAT(notes_, ElementsAre("2 CANCELLED", "1 OK"));
}

}  // namespace
}  // namespace understudy
