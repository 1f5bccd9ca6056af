// PeerSession: how many frames it writes, how many mailboxes a stream defines, when it acknowledges, what a frame
// costs, and how it cuts a long goodbye.
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/cut_text.h"
#include "understudy/actors/internal/send/wire_name.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/tests/transport/session_pair.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/reliable_sequence.h"
#include "understudy/transport/session_times.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class SessionFramesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Run(absl::Milliseconds(100));
    ASSERT_TRUE(pair_.a().session->is_up());
    ASSERT_TRUE(pair_.b().session->is_up());
  }
  void Send(SessionPair::Node& node, const std::string& text) { ASSERT_TRUE(pair_.Send(node, text).ok()); }
  void Run(absl::Duration duration) { pair_.RunFor(duration); }
  int FramesWritten() { return pair_.a().frames_written + pair_.b().frames_written; }

  SessionPair pair_{{}};
};

TEST_F(SessionFramesTest, AnExchangeOfOneMessageAtATimeTakesOneFrameForEach) {
  const int before = FramesWritten();
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds; ++round) {
    Send(pair_.a(), "ping");
    Run(absl::Milliseconds(10));
    Send(pair_.b(), "pong");
    Run(absl::Milliseconds(10));
  }
  EXPECT_EQ(pair_.a().received.size(), size_t{kRounds});
  EXPECT_EQ(FramesWritten() - before, 2 * kRounds) << "each acknowledges the one before";
}

TEST_F(SessionFramesTest, LittleIsAcknowledgedAfterAWhileAndMuchAtOnce) {
  const std::string large(size_t{64} << 10, 'x');
  Send(pair_.a(), large);
  Run(absl::Milliseconds(10));
  EXPECT_EQ(pair_.a().session->ledger().acknowledged, 0);
  Run(SessionTimes().acknowledge_delay);
  EXPECT_EQ(pair_.a().session->ledger().acknowledged, 1);
  for (int i = 0; i < 16; ++i) Send(pair_.a(), large);
  Run(absl::Milliseconds(10));
  EXPECT_GE(pair_.a().session->ledger().acknowledged, 10);
}

TEST_F(SessionFramesTest, AFrameReservesMemoryForItsMessagesOnce) {
  constexpr absl::string_view kMailbox = "session_frames/mailbox";
  const MailboxDefinition definition{.hash = internal::Fnv1a(kMailbox), .name = kMailbox};
  const NodePair& nodes = pair_.a().session->nodes();
  const Pid from(nodes.local_node, 1, 1);
  const Pid to(nodes.peer_node, 1, 1);
  const std::string message = *EncodeMessage(nodes, from, to, definition.hash, 0, "");
  const std::string signal = EncodeSignal(nodes, {.kind = SignalKind::kUnlink, .from = from, .to = to});
  FramePacker packer(1, 0);
  constexpr size_t kPairs = 400;
  for (size_t i = 0; i < kPairs; ++i) {
    ASSERT_TRUE(packer.Add(2 * i + 1, {.body = message}, i == 0 ? &definition : nullptr));
    ASSERT_TRUE(packer.Add(2 * i + 2, {.body = signal}, nullptr));
  }
  pair_.Inject(pair_.a(), packer.Encode());
  EXPECT_EQ(pair_.b().received.size(), kPairs);
  EXPECT_LE(pair_.b().messages_reserved, 4 * kPairs);
}

// Sends a message from a to b to a mailbox that no earlier call named.
absl::Status SendToNewMailbox(SessionPair& pair, int number) {
  SessionPair::Node& a = pair.a();
  if (!a.session->is_live()) return absl::UnavailableError("no session");
  const uint32_t mailbox = internal::MailboxNames::Intern(absl::StrCat("definitions/", number));
  const NodePair& nodes = a.session->nodes();
  OutboundEnvelope envelope{.bytes = *EncodeMessage(nodes, Pid(nodes.local_node, 1, 1), Pid(nodes.peer_node, 1, 1),
                                                    mailbox, 0, absl::StrCat(number)),
                            .sender = 1,
                            .mailbox = mailbox};
  const absl::Status accepted = a.session->Append(std::move(envelope), [&] { return pair.now(); });
  pair.Act(a);
  return accepted;
}

TEST_F(SessionFramesTest, MoreMailboxesThanAStreamMayDefineTravelOnTheNextStream) {
  constexpr int kMailboxes = (2 * int{limits::kMailboxesPerStreamMax}) + 10;
  std::vector<std::string> sent;
  for (int i = 0; i < kMailboxes; ++i) {
    ASSERT_TRUE(SendToNewMailbox(pair_, i).ok()) << i;
    sent.push_back(absl::StrCat(i));
    if (i % 100 == 0) Run(absl::Milliseconds(1));
  }
  Run(absl::Seconds(2));
  EXPECT_EQ(pair_.b().received, sent);
  EXPECT_THAT(pair_.a().events, ElementsAre("begun 1", "suspect", "resumed", "suspect", "resumed"));
  EXPECT_TRUE(pair_.a().session->is_up());
  EXPECT_EQ(pair_.a().session->ledger().waiting, 0);
}

TEST(SessionWithoutGraceTest, AMessageToOneMailboxTooManyIsRefusedAndTheSessionGoesOn) {
  SessionPair pair({.times = {.grace_period = absl::ZeroDuration()}});
  pair.RunFor(absl::Milliseconds(100));
  constexpr int kMailboxes = int{limits::kMailboxesPerStreamMax};
  for (int i = 0; i < kMailboxes; ++i) {
    ASSERT_TRUE(SendToNewMailbox(pair, i).ok()) << i;
    if (i % 100 == 0) pair.RunFor(absl::Milliseconds(1));
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(SendToNewMailbox(pair, kMailboxes)));
  EXPECT_TRUE(SendToNewMailbox(pair, 0).ok()) << "the stream has defined it";
  pair.RunFor(absl::Seconds(1));
  EXPECT_THAT(pair.b().received, SizeIs(kMailboxes + 1));
  EXPECT_THAT(pair.a().events, ElementsAre("begun 1"));
}

TEST_F(SessionFramesTest, ALongReasonOfAnEndIsCutWithAMark) {
  const std::string why(5000, 'x');
  pair_.a().session->EndForBadFrame(why, pair_.now());
  std::vector<std::string> told;
  for (const SessionAction& action : pair_.a().session->TakeActions()) {
    if (const auto* end = std::get_if<SessionEnded>(&action)) told.push_back(end->detail);
    if (const auto* write = std::get_if<WriteFrame>(&action)) {
      told.push_back(DecodeFrame(write->bytes)->goodbye().why());
    }
  }
  EXPECT_THAT(told, UnorderedElementsAre(CutText(why, limits::kNameBytesMax),
                                         "bad frame: " + CutText(why, limits::kNameBytesMax)));
}

}  // namespace
}  // namespace understudy
