#include "understudy/transport/testing/simulated_network.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/seeded_executor.h"
#include "understudy/transport/session/frame_stream.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Writes down what one end of a stream hears.
struct Hearer : FrameStream::Events {
  void OnFrame(std::string frame) override { heard.push_back(std::move(frame)); }
  void OnWritten() override { ++written; }
  void OnClosed(absl::Status) override { heard.push_back("closed"); }

  std::vector<std::string> heard;
  int written = 0;
};

class SimulatedNetworkTest : public ::testing::Test {
 protected:
  SimulatedNetworkTest() {
    network_.Listen("b", [this](std::unique_ptr<FrameStream> stream, const StreamIdentity&) {
      accepted_ = std::move(stream);
      return &b_;
    });
  }
  std::unique_ptr<FrameStream> Dial(const std::string& to) { return network_.DialerFor("a")->Dial(to, to, &a_); }
  void Run() { executor_.Advance(absl::Seconds(1)); }

  Hearer a_;
  Hearer b_;
  SeededExecutor executor_{3};
  SimulatedNetwork network_{{.seed = 3,
                             .clock = &executor_.clock(),
                             .run_at = [this](MonotonicTime time, absl::AnyInvocable<void()> callback) {
                               executor_.RunAt(time, std::move(callback));
                             }}};
  std::unique_ptr<FrameStream> accepted_;
};

TEST(SimulatedNetworkDeathTest, ALatencyMustBeFiniteAndNotNegative) {
  EXPECT_DEATH(SimulatedNetwork({.latency_min = absl::Milliseconds(-1)}),
               "a latency of the network is -1ms: expected 0 or more, and finite");
  EXPECT_DEATH(SimulatedNetwork({.latency_max = absl::InfiniteDuration()}), "is inf: expected 0 or more, and finite");
}

TEST_F(SimulatedNetworkTest, FramesArriveInOrderAtBothEnds) {
  const auto stream = Dial("b");
  std::vector<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    expected.push_back(absl::StrCat(i));
    stream->Write(expected.back());
  }
  Run();
  EXPECT_EQ(b_.heard, expected);
  EXPECT_EQ(a_.written, 50);
  accepted_->Write("back");
  Run();
  EXPECT_THAT(a_.heard, ElementsAre("back"));
}

TEST_F(SimulatedNetworkTest, ADialToNobodyIsClosed) {
  const auto stream = Dial("nobody");
  Run();
  EXPECT_THAT(a_.heard, ElementsAre("closed"));
}

TEST_F(SimulatedNetworkTest, ClosingTellsBothEndsOnce) {
  const auto stream = Dial("b");
  Run();
  stream->Close();
  stream->Close();
  stream->Write("late");
  Run();
  EXPECT_THAT(a_.heard, ElementsAre("closed"));
  EXPECT_THAT(b_.heard, ElementsAre("closed"));
}

TEST_F(SimulatedNetworkTest, ACutLosesWhatIsUnderWayAndTellsBothEnds) {
  const auto stream = Dial("b");
  Run();
  stream->Write("lost");
  network_.Cut("b", "a");
  Run();
  EXPECT_THAT(a_.heard, ElementsAre("closed"));
  EXPECT_THAT(b_.heard, ElementsAre("closed"));
  EXPECT_EQ(network_.streams("a", "b"), 0);
}

TEST_F(SimulatedNetworkTest, AStalledStreamLosesEverythingAndTellsNobody) {
  const auto stream = Dial("b");
  Run();
  network_.Stall("a", "b");
  stream->Write("lost");
  Run();
  EXPECT_THAT(a_.heard, IsEmpty());
  EXPECT_THAT(b_.heard, IsEmpty());
  EXPECT_EQ(network_.streams("a", "b"), 1);
}

TEST_F(SimulatedNetworkTest, APartitionLosesDialsUntilItHeals) {
  network_.Partition("a", "b");
  const auto lost = Dial("b");
  Run();
  EXPECT_EQ(accepted_, nullptr);
  network_.Heal("a", "b");
  const auto stream = Dial("b");
  stream->Write("through");
  Run();
  EXPECT_THAT(b_.heard, ElementsAre("through"));
}

TEST_F(SimulatedNetworkTest, APartitionInOneDirectionLosesThatOneAndCarriesTheOther) {
  const auto stream = Dial("b");
  Run();
  network_.PartitionOneWay("a", "b");
  stream->Write("lost");
  accepted_->Write("through");
  Run();
  EXPECT_THAT(a_.heard, ElementsAre("through"));
  EXPECT_THAT(b_.heard, IsEmpty());
  accepted_ = nullptr;
  const auto lost = Dial("b");
  Run();
  EXPECT_EQ(accepted_, nullptr);
  network_.Heal("b", "a");
  const auto again = Dial("b");
  again->Write("healed");
  Run();
  EXPECT_THAT(b_.heard, ElementsAre("closed", "healed"));
}

TEST_F(SimulatedNetworkTest, AnEndHearsOfTheOthersCloseUnlessItsDirectionIsStalled) {
  const auto stream = Dial("b");
  Run();
  network_.PartitionOneWay("a", "b");
  stream->Close();
  Run();
  EXPECT_THAT(a_.heard, ElementsAre("closed"));
  EXPECT_THAT(b_.heard, IsEmpty());
  EXPECT_EQ(network_.streams("a", "b"), 1);
  accepted_->Close();
  Run();
  EXPECT_THAT(a_.heard, ElementsAre("closed"));
  EXPECT_THAT(b_.heard, ElementsAre("closed"));
  EXPECT_EQ(network_.streams("a", "b"), 0);
}

TEST_F(SimulatedNetworkTest, ASlowDirectionCarriesLateAndKeepsItsWriterWaiting) {
  const auto stream = Dial("b");
  Run();
  network_.SetDelay("a", "b", absl::Seconds(5));
  stream->Write("late");
  accepted_->Write("as usual");
  executor_.Advance(absl::Seconds(4));
  EXPECT_THAT(a_.heard, ElementsAre("as usual"));
  EXPECT_EQ(a_.written, 0);
  EXPECT_THAT(b_.heard, IsEmpty());
  executor_.Advance(absl::Seconds(2));
  EXPECT_THAT(b_.heard, ElementsAre("late"));
  EXPECT_EQ(a_.written, 1);
  stream->Write("first");
  network_.SetDelay("a", "b", absl::ZeroDuration());
  stream->Write("second");
  executor_.Advance(absl::Seconds(6));
  EXPECT_THAT(b_.heard, ElementsAre("late", "first", "second"));
}

TEST_F(SimulatedNetworkTest, WhatWouldReachAPausedNodeWaits) {
  const auto stream = Dial("b");
  Run();
  network_.Pause("b");
  stream->Write("one");
  stream->Write("two");
  stream->Close();
  Run();
  EXPECT_THAT(a_.heard, ElementsAre("closed"));
  EXPECT_THAT(b_.heard, IsEmpty());
  network_.Resume("b");
  Run();
  EXPECT_THAT(b_.heard, ElementsAre("closed"));
  const auto again = Dial("b");
  network_.Pause("b");
  again->Write("three");
  again->Write("four");
  Run();
  network_.Resume("b");
  Run();
  EXPECT_THAT(b_.heard, ElementsAre("closed", "three", "four"));
}

TEST_F(SimulatedNetworkTest, ASilencedNodesStreamsCloseAndItsAddressRefuses) {
  const auto stream = Dial("b");
  Run();
  network_.Silence("b");
  Run();
  EXPECT_THAT(a_.heard, ElementsAre("closed"));
  const auto again = Dial("b");
  Run();
  EXPECT_THAT(a_.heard, ElementsAre("closed", "closed"));
}

}  // namespace
}  // namespace understudy
