// The recorded bytes of a session of the first nodes that spoke wire version 2: one envelope of each kind, which every
// later node must read. A later version that writes them otherwise adds bytes of its own, and leaves these unchanged.
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/clock.h"
#include "understudy/actors/error.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"
#include "understudy/actors/room.h"
#include "understudy/proto/names.pb.h"
#include "understudy/tests/transport/hello.h"
#include "understudy/transport/codec/credit.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/peer_session.h"
#include "understudy/transport/session/session_proof.h"
#include "understudy/transport/session/stream_identity.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Frames of node b, incarnation 0x0202020202020202, to node a, incarnation 0x0101010101010101, in a session of epoch 1.
// The slots are numbered from 1 on, through all frames.

// A tell, by allowance, whose mailbox is defined; and an ask with 1.5 s left.
constexpr absl::string_view kMessages =
    "0801180122130d232b8eca120c7265636f726465642f626f7822140d5a10a333120d7265636f726465642f63616c6c2a430a410a3f0a1709"
    "02020202020202021501000b001901000000000b000012170901010101010101011501000a001901000000000a00001d232b8eca2a04746f"
    "6c6430012a4a0a420a400a170902020202020202021502000b001902000000000b000012170901010101010101011501000a001901000000"
    "000a00001d5a10a33320072a0561736b65641880dea0cb05";
// A reply that is OK; and one that is not, with a status payload.
constexpr absl::string_view kReplies =
    "080118032a420a40123e080b12170902020202020202021501000b001901000000000b00001a170901010101010101011501000a00190100"
    "0000000a000020074206616e737765722a630a61125f080b12170902020202020202021501000b001901000000000b00001a170901010101"
    "010101011501000a001901000000000a000020083a270805120b6e6f2073756368206c6f741a160a107265636f726465642e6465762f6c6f"
    "7412023137";
// A frame with one signal of each other kind.
constexpr absl::string_view kSignals =
    "080118052a8c010a8901128601080112170902020202020202021502000b001902000000000b00001a170901010101010101011502000a00"
    "1902000000000a000020652801324c0a0f0809220b6368696c6420276c6f74270a2b080312270805120b6e6f2073756368206c6f741a160a"
    "107265636f726465642e6465762f6c6f74120231370a0c081022066b696c6c656428092a3a0a381236080212170902020202020202021502"
    "000b001902000000000b00001a170901010101010101011502000a001902000000000a000020662a3a0a3812360803121709020202020202"
    "02021502000b001902000000000b00001a170901010101010101011502000a001902000000000a000020672a3a0a38123608041217090202"
    "0202020202021502000b001902000000000b00001a170901010101010101011502000a001902000000000a000020682a3a0a381236080512"
    "170902020202020202021502000b001902000000000b00001a170901010101010101011502000a001902000000000a000020692a3a0a3812"
    "36080612170902020202020202021502000b001902000000000b00001a170901010101010101011502000a001902000000000a0000206a2a"
    "3a0a381236080712170902020202020202021502000b001902000000000b00001a170901010101010101011502000a001902000000000a00"
    "00206b2a8a010a8701128401080812170902020202020202021502000b001902000000000b00001a170901010101010101011502000a0019"
    "02000000000a0000206c324c0a0f0809220b6368696c6420276c6f74270a2b080312270805120b6e6f2073756368206c6f741a160a107265"
    "636f726465642e6465762f6c6f74120231370a0c081022066b696c6c656428092a8a010a8701128401080912170902020202020202021502"
    "000b001902000000000b00001a170901010101010101011502000a001902000000000a0000206d324c0a0f0809220b6368696c6420276c6f"
    "74270a2b080312270805120b6e6f2073756368206c6f741a160a107265636f726465642e6465762f6c6f74120231370a0c081022066b696c"
    "6c656428092a3a0a381236080a12170902020202020202021502000b001902000000000b00001a170901010101010101011502000a001902"
    "000000000a0000206e";
constexpr absl::string_view kRefused =
    "0801180f2a88010a85011a82010a170901010101010101011501000a001901000000000a000012170902020202020202021501000b001901"
    "000000000b00001d5a10a33320092a45080512214e6f50726f636573733a207468657265206973206e6f2073756368206163746f721a1e0a"
    "19756e64657273747564792e6465762f6572726f722d6b696e641201333005";
constexpr absl::string_view kCredits =
    "080118102a81020afe0122fb010a2a080112170902020202020202021501000b001901000000000b00001d232b8eca200128e807300338cd"
    "020a25080212170901010101010101011501000a001901000000000a00001d232b8eca200228d00f0a250803121709020202020202020215"
    "01000b001901000000000b00001d232b8eca200328b8170a25080412170901010101010101011501000a001901000000000a00001d232b8e"
    "ca200428a01f0a32080512170902020202020202021501000b001901000000000b00001d232b8eca400c4a0e0801120a6974206761766520"
    "75700a24080212170901010101010101011501000a001901000000000a00001d232b8eca284d4005";
constexpr absl::string_view kNames =
    "080118112a97010a94012a91010a36080112320a0d7265636f726465642f63616c6c10011a0e7265636f726465642e41736b6564220f7265"
    "636f726465642e416e7377657212110a0f0a036c6f74100b180c200d281b3001120912070a036c6f74101412091a070a036c6f7410151209"
    "22070a036c6f74101612092a070a036c6f741017120932070a036c6f74101812093a070a036c6f74101918022001";
// A tell in two parts, and between them a tell of another sender.
constexpr absl::string_view kParts =
    "080118122a380a320a610a170902020202020202021501000b001901000000000b000012170901010101010101011501000a001901000000"
    "000a100120032a420a400a3e0a170902020202020202021502000b001902000000000b000012170901010101010101011501000a00190100"
    "0000000a00001d232b8eca2a05736d616c6c2a350a3100001d232b8eca2a286c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c"
    "6c6c6c6c6c6c6c6c6c6c6c6c6c6c6c2003";
constexpr absl::string_view kLeave = "080118152a140a1232100a0e746865206e6f64652073746f7073";

constexpr uint64_t kOfA = 0x0101010101010101;
constexpr uint64_t kOfB = 0x0202020202020202;

std::string TextOf(Pid pid) { return absl::StrCat(pid.node(), ".", pid.cell(), ".", pid.serial()); }
std::string TextOf(const absl::Status& status) {
  std::string text = status.ToString();
  return status.ok() ? "" : absl::StrCat(" status ", text);
}
std::string TextOf(const internal::Message& message) {
  const absl::Duration left =
      message.deadline.is_infinite() ? absl::InfiniteDuration() : message.deadline - MonotonicTime();
  return absl::StrCat("message ", TextOf(message.from), " to ", TextOf(message.to), " mailbox ", message.mailbox,
                      " ask ", message.ask, " left ", absl::FormatDuration(left), " '", message.payload.wire_bytes(),
                      "'", message.admission == Admission::kAllowance ? " by allowance" : "");
}
std::string TextOf(const Signal& signal) {
  const bool has_reason =
      signal.kind == SignalKind::kExit || signal.kind == SignalKind::kDown || signal.kind == SignalKind::kRequestStop;
  const bool has_payload = signal.kind == SignalKind::kReply && signal.status.ok();
  return absl::StrCat(SignalKindName(signal.kind), " ", TextOf(signal.from), " to ", TextOf(signal.to), " id ",
                      signal.id, signal.is_link ? " link" : "",
                      has_reason ? absl::StrCat(" reason ", signal.reason.ToString()) : "", TextOf(signal.status),
                      has_payload ? absl::StrCat(" '", signal.payload.wire_bytes(), "'") : "");
}
std::string TextOf(const RefusedMessage& message) {
  return absl::StrCat("refused ", TextOf(message.from), " to ", TextOf(message.to), " mailbox ", message.mailbox,
                      " ask ", message.ask, " bytes ", message.bytes, TextOf(message.status));
}
std::string TextOf(const CreditChanges& changes) {
  std::string text = "credit";
  for (const CreditChange& change : changes) {
    absl::StrAppend(&text, " [", static_cast<int>(change.kind), " ", TextOf(change.to), " mailbox ", change.mailbox,
                    " ", change.granted.messages, "/", change.granted.bytes, " allowance ", change.allowance.messages,
                    "/", change.allowance.bytes, " want ", change.want, TextOf(change.status), "]");
  }
  return text;
}
std::string TextOf(const NamesPart& part) {
  proto::NameChanges changes;
  EXPECT_TRUE(changes.ParseFromString(part.bytes));
  return absl::StrCat("names ", changes.ShortDebugString());
}
std::string TextOf(const LeaveNotice& notice) { return absl::StrCat("leave ", notice.why); }

// Node a, which b has joined.
class RecordedSessionTest : public ::testing::Test {
 protected:
  RecordedSessionTest() : session_(Config()) {
    stream_ = session_.OnAccepted(HelloFrom("b", kOfB, "a"), StreamIdentity::Unproved(), MonotonicTime());
    session_.OnStreamFrame(stream_, HeartbeatFrame(1), MonotonicTime());
    session_.OnStreamWritten(stream_, MonotonicTime());
    session_.TakeActions();
  }
  // Node a sends an envelope, and b acknowledges it.
  void SendOne() {
    ASSERT_TRUE(session_.Append({.bytes = "sent"}, [] { return MonotonicTime(); }).ok());
    FramePacker packer(1, /*acknowledged=*/1);
    packer.frame().mutable_heartbeat();
    session_.OnStreamFrame(stream_, packer.Encode(), MonotonicTime());
    session_.TakeActions();
  }
  // Returns the envelopes that arrive with a frame, each as a text.
  std::vector<std::string> Read(absl::string_view frame) {
    session_.OnStreamFrame(stream_, absl::HexStringToBytes(frame), MonotonicTime());
    std::vector<std::string> arrived;
    for (const SessionAction& action : session_.TakeActions()) {
      if (const auto* messages = std::get_if<MessagesArrived>(&action)) {
        for (const internal::Message& message : messages->messages) arrived.push_back(TextOf(message));
      } else if (const auto* envelope = std::get_if<EnvelopeArrived>(&action)) {
        arrived.push_back(std::visit([](const auto& value) { return TextOf(value); }, envelope->envelope));
      } else if (const auto* ended = std::get_if<SessionEnded>(&action)) {
        arrived.push_back(absl::StrCat("ended ", ended->detail));
      }
    }
    return arrived;
  }

 private:
  static SessionConfig Config() {
    SessionConfig config{.node = "a", .incarnation = {kOfA}, .peer = "b"};
    config.peer_place = [](NodeIncarnation) { return 2; };
    config.new_key = [] { return std::string(kSessionKeyBytes, 'w'); };
    return config;
  }
  PeerSession session_;
  uint64_t stream_ = 0;
};

constexpr absl::string_view kB1 = "2.720897.12094627905537";
constexpr absl::string_view kB2 = "2.720898.12094627905538";
constexpr absl::string_view kA1 = "0.655361.10995116277761";
constexpr absl::string_view kA2 = "0.655362.10995116277762";

std::string Text(absl::string_view kind, absl::string_view from, absl::string_view to, absl::string_view rest) {
  return absl::StrCat(kind, " ", from, " to ", to, " ", rest);
}

// All frames are read in one session, because the numbers of their slots continue.
TEST_F(RecordedSessionTest, EachKindOfEnvelopeOfWireVersion2IsRead) {
  EXPECT_THAT(Read(kMessages),
              ElementsAre(Text("message", kB1, kA1, "mailbox 3398314787 ask 0 left inf 'told' by allowance"),
                          Text("message", kB2, kA1, "mailbox 866324570 ask 7 left 1.5s 'asked'")));

  absl::Status not_found = absl::NotFoundError("no such lot");
  not_found.SetPayload("recorded.dev/lot", absl::Cord("17"));
  EXPECT_THAT(Read(kReplies), ElementsAre(Text("reply", kB1, kA1, "id 7 'answer'"),
                                          Text("reply", kB1, kA1, absl::StrCat("id 8", TextOf(not_found)))));

  const ExitReason reason = ExitReason::RestartsExhausted("child 'lot'")
                                .CausedBy(ExitReason::Failed(not_found))
                                .CausedBy(ExitReason::OsSignal(9, "killed"));
  const std::string why = absl::StrCat(" reason ", reason.ToString());
  EXPECT_THAT(
      Read(kSignals),
      ElementsAre(Text("exit", kB2, kA2, absl::StrCat("id 101 link", why)), Text("kill", kB2, kA2, "id 102"),
                  Text("link", kB2, kA2, "id 103"), Text("unlink", kB2, kA2, "id 104"),
                  Text("unlink_ack", kB2, kA2, "id 105"), Text("monitor", kB2, kA2, "id 106"),
                  Text("demonitor", kB2, kA2, "id 107"), Text("down", kB2, kA2, absl::StrCat("id 108", why)),
                  Text("request_stop", kB2, kA2, absl::StrCat("id 109", why)), Text("cancel", kB2, kA2, "id 110")));

  SendOne();
  const std::string no_process = TextOf(MakeError(ErrorKind::kNoProcess, "there is no such actor"));
  EXPECT_THAT(Read(kRefused),
              ElementsAre(Text("refused", kA1, kB1, absl::StrCat("mailbox 866324570 ask 9 bytes 5", no_process))));

  EXPECT_THAT(
      Read(kCredits),
      ElementsAre(absl::StrCat(
          "credit [1 ", kB1, " mailbox 3398314787 1/1000 allowance 3/333 want 0] [2 ", kA1,
          " mailbox 3398314787 2/2000 allowance 0/0 want 0] [3 ", kB1,
          " mailbox 3398314787 3/3000 allowance 0/0 want 0] [4 ", kA1,
          " mailbox 3398314787 4/4000 allowance 0/0 want 0] [5 ", kB1, " mailbox 3398314787 0/0 allowance 0/0 want 12",
          TextOf(absl::CancelledError("it gave up")), "] [2 ", kA1, " mailbox 3398314787 0/77 allowance 0/0 want 5]")));

  EXPECT_THAT(
      Read(kNames),
      ElementsAre(
          "names definitions { number: 1 mailboxes { name: \"recorded/call\" is_call: true request: "
          "\"recorded.Asked\" reply: \"recorded.Answer\" } } changes { claim { name: \"lot\" cell: 11 serial: 12 "
          "number: 13 age_nanos: -14 signatures: 1 } } changes { release { name: \"lot\" number: 20 } } changes { "
          "refusal { name: \"lot\" number: 21 } } changes { offer { name: \"lot\" number: 22 } } changes { confirm "
          "{ name: \"lot\" number: 23 } } changes { cancel { name: \"lot\" number: 24 } } changes { cancelled { "
          "name: \"lot\" number: 25 } } taken: 2 tell_again: true"));

  EXPECT_THAT(Read(kParts),
              ElementsAre(Text("message", kB2, kA1, "mailbox 3398314787 ask 0 left inf 'small'"),
                          Text("message", kB1, kA1,
                               absl::StrCat("mailbox 3398314787 ask 0 left inf '", std::string(40, 'l'), "'"))));

  EXPECT_THAT(Read(kLeave), ElementsAre(HasSubstr("the node stops")));
}

}  // namespace
}  // namespace understudy
