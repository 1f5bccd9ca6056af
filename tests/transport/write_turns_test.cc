// Tests of the turns in which a session's frames and heartbeats are written to a stream.
#include "understudy/transport/session/write_turns.h"

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"

namespace understudy::internal {
namespace {

constexpr absl::Duration kInterval = absl::Seconds(1);

MonotonicTime At(double seconds) { return MonotonicTime() + absl::Seconds(seconds); }

class WriteTurnsTest : public ::testing::Test {
 protected:
  // A stream that carries a session since 0.
  WriteTurnsTest() {
    turns_.Begin("beat", kInterval, At(0));
    EXPECT_EQ(turns_.Write("first", At(0)), "first");
    EXPECT_TRUE(turns_.OnWritten(At(0)).is_frame);
  }
  void ExpectBeat(double at, const absl::optional<std::string>& heartbeat, double again) {
    const WriteTurns::Beat beat = turns_.OnTime(At(at));
    EXPECT_EQ(beat.heartbeat, heartbeat) << "at " << at;
    EXPECT_EQ(beat.again, At(again)) << "at " << at;
  }

  WriteTurns turns_;
};

TEST_F(WriteTurnsTest, AHeartbeatIsWrittenWhenNothingWasForAnInterval) {
  ExpectBeat(1, "beat", 2);
  const WriteTurns::Written written = turns_.OnWritten(At(1));
  EXPECT_FALSE(written.is_frame) << "the session wrote nothing";
  EXPECT_FALSE(written.next.has_value());
  EXPECT_EQ(turns_.Write("frame", At(1.5)), "frame");
  EXPECT_TRUE(turns_.OnWritten(At(1.5)).is_frame);
  ExpectBeat(2, absl::nullopt, 2.5);
  ExpectBeat(2.5, "beat", 3.5);
}

TEST_F(WriteTurnsTest, AFrameThatComesWhileAHeartbeatIsWrittenFollowsIt) {
  ExpectBeat(1, "beat", 2);
  EXPECT_EQ(turns_.Write("frame", At(1.1)), absl::nullopt);
  const WriteTurns::Written heartbeat = turns_.OnWritten(At(1.2));
  EXPECT_FALSE(heartbeat.is_frame);
  EXPECT_EQ(heartbeat.next, "frame");
  const WriteTurns::Written frame = turns_.OnWritten(At(1.3));
  EXPECT_TRUE(frame.is_frame);
  EXPECT_FALSE(frame.next.has_value());
}

TEST_F(WriteTurnsTest, AHeartbeatThatIsDueWhileAFrameIsWrittenFollowsItOnce) {
  EXPECT_EQ(turns_.Write("frame", At(0)), "frame");
  ExpectBeat(1, absl::nullopt, 2);
  ExpectBeat(2, absl::nullopt, 3);
  const WriteTurns::Written frame = turns_.OnWritten(At(2.5));
  EXPECT_TRUE(frame.is_frame);
  EXPECT_EQ(frame.next, "beat");
  EXPECT_EQ(turns_.Write("next", At(2.5)), absl::nullopt);
  EXPECT_EQ(turns_.OnWritten(At(2.6)).next, "next");
  EXPECT_FALSE(turns_.OnWritten(At(2.7)).next.has_value());
}

TEST_F(WriteTurnsTest, AStreamThatCarriesNoSessionAnyMoreBeatsNoMore) {
  EXPECT_EQ(turns_.Write("frame", At(0)), "frame");
  ExpectBeat(1, absl::nullopt, 2);
  turns_.End();
  EXPECT_FALSE(turns_.OnWritten(At(1.5)).next.has_value());
  EXPECT_TRUE(turns_.OnTime(At(2)).again.is_infinite());
  EXPECT_EQ(turns_.Write("goodbye", At(2)), "goodbye") << "the session may still write";
}

}  // namespace
}  // namespace understudy::internal
