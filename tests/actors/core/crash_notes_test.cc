// Occupation and CrashNotes alone.
#include "understudy/actors/internal/turn/crash_notes.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"
#include "understudy/actors/crash_report.h"
#include "understudy/actors/exit_reason.h"
#include "understudy/actors/internal/send/envelope.h"
#include "understudy/actors/internal/send/mailbox_layout.h"
#include "understudy/actors/internal/system/fixed_text.h"
#include "understudy/actors/message.h"
#include "understudy/actors/pid.h"

namespace understudy::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using Kind = Occupation::Kind;

const Pid kSelf(1, 2, 3);
const Pid kSender(1, 4, 5);

struct DeleteEnvelope {
  void operator()(Envelope* envelope) const { Envelope::Delete(envelope); }
};
using OwnedEnvelope = std::unique_ptr<Envelope, DeleteEnvelope>;

template <class M>
MailboxDeclaration Mailbox() {
  return {.wire_name = "offer", .request = &TypeOf<M>()};
}
template <class M>
OwnedEnvelope MessageOf(const M& value) {
  OwnedEnvelope made(Envelope::Make(EnvelopeKind::kMessage, TypeOf<M>(), /*has_call_part=*/false));
  new (made->value()) M(value);
  made->SetMade();
  made->set_sender(kSender);
  return made;
}

std::string ForSignal(const Occupation& occupation) {
  FixedText text;
  occupation.AddTo(text);
  return std::string(text.text());
}

TEST(OccupationTest, EachReportNamesEachOccupation) {
  constexpr absl::string_view kNoHandler = "its constructor, a guard, a destructor or its end";
  constexpr absl::string_view kNone = "a guard, a predicate, a hook, a destructor or its end";
  struct Case {
    Kind kind;
    absl::string_view handler_name;
    absl::string_view in_crash_report;
    absl::string_view for_signal;
  };
  for (const Case& expected : std::vector<Case>{
           {Kind::kConstructor, kNoHandler, "its constructor", "an actor's constructor"},
           {Kind::kStarting, kNoHandler, "Start", kNone},
           {Kind::kNoHandler, kNoHandler, "a guard, a predicate or a hook", kNone},
           {Kind::kStart, "Start", "Start", "Start"},
           {Kind::kProcess, "its process", "its process", "its process"},
           {Kind::kEvent, "an event", "the handler of an event", "the handler of an event"},
       }) {
    const Occupation occupation{.kind = expected.kind};
    EXPECT_EQ(occupation.HandlerName(), expected.handler_name);
    EXPECT_EQ(occupation.ForCrashReport(nullptr), expected.in_crash_report);
    EXPECT_EQ(ForSignal(occupation), expected.for_signal);
  }
}

TEST(OccupationTest, AMessageIsNamedByItsMailboxTypeAndSender) {
  const MailboxDeclaration mailbox = Mailbox<int>();
  const Occupation occupation{.kind = Kind::kMessage, .mailbox = &mailbox};
  EXPECT_EQ(occupation.HandlerName(), "offer");
  EXPECT_EQ(ForSignal(occupation), "mailbox offer handling a int");
  EXPECT_EQ(occupation.ForCrashReport(MessageOf(7).get()), "mailbox offer handling a int from " + kSender.ToString());
  EXPECT_EQ(occupation.ForCrashReport(nullptr), "mailbox offer") << "its block has the answer already";
}

TEST(CrashNotesTest, ANoteSaysWhereTheMessageWasAndWhoSentIt) {
  const MessageNote note = NoteOf(*MessageOf(7), Mailbox<int>());
  EXPECT_EQ(note.mailbox, "offer");
  EXPECT_EQ(note.type, "int");
  EXPECT_EQ(note.from, kSender);
  EXPECT_EQ(note.bytes, 0U);
  EXPECT_EQ(note.contents, "");
}

TEST(CrashNotesTest, AMessageThatMayHaveBeenMovedFromIsMeasuredIfItIsProtobuf) {
  google::protobuf::StringValue value;
  value.set_value("a letter");
  const OwnedEnvelope message = MessageOf(value);
  const MailboxDeclaration mailbox = Mailbox<google::protobuf::StringValue>();
  EXPECT_EQ(NoteWithBytesLeft(*message, mailbox).bytes, value.ByteSizeLong());
  message->DropValue();
  EXPECT_EQ(NoteWithBytesLeft(*message, mailbox).bytes, sizeof(value));
  EXPECT_EQ(NoteWithBytesLeft(*MessageOf(std::string("a letter")), Mailbox<std::string>()).bytes, sizeof(std::string));
}

TEST(CrashNotesTest, KeepsTheLastMessagesTheNewestFirst) {
  CrashNotes notes;
  EXPECT_THAT(notes.NewestFirst(), IsEmpty());
  for (const char* type : {"a", "b", "c", "d"}) {
    MessageNote note;
    note.type = type;
    notes.Keep(note, /*kept_max=*/3);
  }
  EXPECT_THAT(notes.NewestFirst(), ElementsAre(Field(&MessageNote::type, "d"), Field(&MessageNote::type, "c"),
                                               Field(&MessageNote::type, "b")));
}

CrashReport Crash() {
  CrashReport crash;
  crash.pid = kSelf;
  crash.doing = "Start";
  return crash;
}
const ExitReason kReason = ExitReason::Failed(absl::DataLossError("torn"));

TEST(CrashNotesTest, ALineHasOnlyWhatIsThere) {
  EXPECT_EQ(LineOf(Crash(), kReason, {}, NamesMessages::kYes),
            kSelf.ToString() + " ended in Start: " + kReason.ToString());
}

TEST(CrashNotesTest, ALineHasLabelParentPeersAndMessages) {
  CrashReport crash = Crash();
  crash.label = "clerk";
  crash.parent = Pid(1, 7, 8);
  crash.messages.resize(2);
  const std::vector<Pid> peers(2, kSender);
  const std::string told = kSelf.ToString() + " (clerk) ended in Start: " + kReason.ToString() + "; a child of " +
                           crash.parent.ToString() + "; linked to " + kSender.ToString() + ", " + kSender.ToString();
  const std::string message = crash.messages[0].ToString();
  EXPECT_EQ(LineOf(crash, kReason, peers, NamesMessages::kYes),
            told + "; its last messages: " + message + ", " + message);
  EXPECT_EQ(LineOf(crash, kReason, peers, NamesMessages::kNo), told);
}

TEST(CrashNotesTest, ALineNamesUpToEightPeers) {
  std::string eight;
  for (int i = 0; i < 8; ++i) eight += (i == 0 ? "; linked to " : ", ") + kSender.ToString();
  const std::string ended = kSelf.ToString() + " ended in Start: " + kReason.ToString();
  EXPECT_EQ(LineOf(Crash(), kReason, std::vector<Pid>(8, kSender), NamesMessages::kNo), ended + eight);
  EXPECT_EQ(LineOf(Crash(), kReason, std::vector<Pid>(10, kSender), NamesMessages::kNo), ended + eight + " and 2 more");
}

}  // namespace
}  // namespace understudy::internal
