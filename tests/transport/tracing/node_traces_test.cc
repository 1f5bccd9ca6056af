// Traces between nodes: what travels, to whom, and what of a peer counts.
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/address_key.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/message.h"
#include "understudy/actors/testing/kept_spans.h"
#include "understudy/actors/trace.h"
#include "understudy/proto/envelope.pb.h"
#include "understudy/tests/transport/cluster_test.h"
#include "understudy/tests/transport/stranger.h"
#include "understudy/transport/codec/frame_codec.h"
#include "understudy/transport/session/handshake.h"

namespace understudy {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kForeignPerSecond = 20;
constexpr TraceContext kContext{.trace = {.high = 0x0102030405060708, .low = 9}, .span = 10, .hops = 3};

class NodeTracesTest : public ClusterTest {
 protected:
  // Nodes a and b; those named have traces.
  void JoinWith(std::vector<std::string> traced) {
    SimulatedCluster::Options options;
    options.nodes = {"a", "b"};
    options.tracing = [this, traced = std::move(traced)](absl::string_view node) -> TracingOptions {
      if (std::find(traced.begin(), traced.end(), node) == traced.end()) return {};
      return {.spans = &spans_[std::string(node)], .sampled_ratio = 1, .foreign_per_second = kForeignPerSecond};
    };
    Join(std::move(options));
  }
  // A puppet of a begins a trace and tells one of b a note.
  void SendTraced() {
    const Puppeteer there = Make("b");
    const Puppeteer here = Make("a");
    const Ref<Puppet> to(Seen("a", there, "b"));
    Do(here, [to](Puppet& self) {
      (void)self.context().StartTrace("work");
      to[&Puppet::note].Tell(NoteOf(1));
    });
    EXPECT_EQ(*there.diary, Diary{"note 1"});
  }
  static Span Only(const KeptSpans& spans, SpanKind kind) {
    std::vector<Span> found;
    for (const Span& span : spans.all()) {
      if (span.kind == kind) found.push_back(span);
    }
    EXPECT_THAT(found, SizeIs(1));
    return found.empty() ? Span() : found[0];
  }

  std::map<std::string, KeptSpans> spans_;  // by node
};

TEST_F(NodeTracesTest, ATraceGoesOnAtTheOtherNode) {
  JoinWith({"a", "b"});
  SendTraced();
  const Span sent = Only(spans_["a"], SpanKind::kSend);
  for (const SpanKind kind : {SpanKind::kWait, SpanKind::kHandle}) {
    EXPECT_EQ(Only(spans_["b"], kind).trace, sent.trace);
    EXPECT_EQ(Only(spans_["b"], kind).parent, sent.id);
  }
}

TEST_F(NodeTracesTest, TheSpanOfACallLastsUntilItsAnswerIsBack) {
  JoinWith({"a", "b"});
  const Puppeteer there = Make("b");
  const Puppeteer here = Make("a");
  const Ref<Puppet> to(Seen("a", there, "b"));
  Do(here, [&, to](Puppet& self) {
    (void)self.context().StartTrace("work");
    here.ref[&Puppet::go_ask].Tell({.callee = to.pid(), .number = 5});
  });
  EXPECT_EQ(*here.diary, Diary{"answer 6"});
  const Span call = Only(spans_["a"], SpanKind::kCall);
  const Span handled = Only(spans_["b"], SpanKind::kHandle);
  EXPECT_EQ(handled.parent, call.id);
  EXPECT_TRUE(handled.is_call);
  EXPECT_LE(call.begin, handled.begin);
  EXPECT_GE(call.end, handled.end);
}

TEST_F(NodeTracesTest, ANodeWithoutTracesGetsNone) {
  JoinWith({"a"});
  SendTraced();
  EXPECT_THAT(spans_["a"].all(), SizeIs(2));
  EXPECT_THAT(spans_["b"].all(), IsEmpty());
}

TEST_F(NodeTracesTest, ANodeWithoutTracesBeginsNone) {
  JoinWith({"b"});
  SendTraced();
  EXPECT_THAT(spans_["b"].all(), IsEmpty());
}

// A visitor that begins a session with node a, which has traces.
class TraceVisitorTest : public NodeTracesTest {
 protected:
  void Visit(uint64_t features) {
    JoinWith({"a"});
    puppet_ = Make("a");
    stream_ = BeginStrangersSession(cluster(), visitor_, features);
  }
  // The envelope of a note for the puppet.
  proto::Envelope NoteEnvelope() {
    const NodePair nodes{.local = {kStrangersIncarnation}, .peer = cluster().system("a").incarnation()};
    proto::Envelope envelope;
    const absl::StatusOr<std::string> bytes =
        EncodeMessage(nodes, Pid(1, 1, 1), puppet_.ref.pid(), kNote.hash, /*ask=*/0, NoteOf(1).SerializeAsString(),
                      Admission::kAllowance, /*memory=*/"", &kContext);
    EXPECT_TRUE(bytes.ok() && envelope.ParseFromString(*bytes));
    return envelope;
  }
  void Say(const proto::Envelope& envelope) { Say(envelope.SerializeAsString()); }
  void Say(const std::string& body) {
    FramePacker packer(1, 0);
    const bool is_first = last_slot_ == 0;
    ASSERT_TRUE(packer.Add(++last_slot_, {.body = body}, is_first ? &kNote : nullptr));
    stream_->Write(packer.Encode());
    Run();
  }
  // The envelopes that the visitor was sent.
  std::vector<proto::Envelope> Heard() {
    std::vector<proto::Envelope> envelopes;
    for (const std::string& frame : visitor_.frames) {
      const absl::StatusOr<FrameView> view = DecodeSessionFrame(frame);
      if (!view.ok()) continue;
      for (const SlotView& slot : view->slots) {
        EXPECT_TRUE(envelopes.emplace_back().ParseFromArray(slot.body.data(), static_cast<int>(slot.body.size())));
      }
    }
    return envelopes;
  }
  // Node a sends the visitor a note of a trace; returns its envelope.
  proto::Message TracedNoteToVisitor() {
    const Ref<Puppet> there(StrangersActor(cluster()));
    Do(puppet_, [there](Puppet& self) {
      (void)self.context().StartTrace("work");
      there[&Puppet::note].Tell(NoteOf(2));
    });
    for (const proto::Envelope& envelope : Heard()) {
      if (envelope.has_message()) return envelope.message();
    }
    ADD_FAILURE() << "the visitor got no message";
    return proto::Message();
  }

  const MailboxDefinition kNote{.hash = internal::Fnv1a("puppet/note"), .name = "puppet/note"};
  Puppeteer puppet_{Ref<Puppet>(Pid()), nullptr};
  std::unique_ptr<FrameStream> stream_;
  uint64_t last_slot_ = 0;
};

TEST_F(TraceVisitorTest, APeerWithTheFeatureIsSentTheTrace) {
  Visit(kFeatureTraces);
  const proto::Message message = TracedNoteToVisitor();
  ASSERT_TRUE(message.has_trace());
  const Span sent = Only(spans_["a"], SpanKind::kSend);
  EXPECT_EQ(message.trace().trace_high(), sent.trace.high);
  EXPECT_EQ(message.trace().trace_low(), sent.trace.low);
  EXPECT_EQ(message.trace().span(), sent.id);
  EXPECT_EQ(message.trace().flags(), 1U);
  EXPECT_EQ(message.trace().hops(), 1U);
}

TEST_F(TraceVisitorTest, AnOldPeerIsSentNoByteMore) {
  Visit(kFeatureFingerprints | kFeatureStreams);
  EXPECT_FALSE(TracedNoteToVisitor().has_trace());
}

TEST_F(TraceVisitorTest, APeerWithEveryFeatureButTracesIsSentNoTrace) {
  Visit(WireVersions().features);
  EXPECT_FALSE(TracedNoteToVisitor().has_trace());
}

TEST_F(TraceVisitorTest, AnUntracedMessageHasNoTrace) {
  Visit(kFeatureTraces);
  const Ref<Puppet> there(StrangersActor(cluster()));
  Do(puppet_, [there](Puppet&) { there[&Puppet::note].Tell(NoteOf(2)); });
  ASSERT_FALSE(Heard().empty());
  for (const proto::Envelope& envelope : Heard()) EXPECT_FALSE(envelope.message().has_trace());
}

TEST_F(TraceVisitorTest, APeersTraceIsContinued) {
  Visit(kFeatureTraces);
  Say(NoteEnvelope());
  EXPECT_EQ(*puppet_.diary, Diary{"note 1"});
  EXPECT_EQ(Only(spans_["a"], SpanKind::kHandle).trace, kContext.trace);
  EXPECT_EQ(Only(spans_["a"], SpanKind::kHandle).parent, kContext.span);
}

TEST_F(TraceVisitorTest, OddContextsCostTheMessageItsTraceAndNothingElse) {
  Visit(kFeatureTraces);
  std::vector<proto::Envelope> odd(6, NoteEnvelope());
  odd[0].mutable_message()->mutable_trace()->set_flags(0);
  odd[1].mutable_message()->mutable_trace()->set_span(0);
  odd[2].mutable_message()->mutable_trace()->set_trace_high(0);
  odd[2].mutable_message()->mutable_trace()->set_trace_low(0);
  odd[3].mutable_message()->mutable_trace()->set_hops(limits::kTraceHopsMax + 1);
  odd[4].mutable_message()->mutable_trace()->set_hops(UINT32_MAX);
  odd[5].mutable_message()->mutable_trace()->Clear();
  for (const proto::Envelope& envelope : odd) Say(envelope);
  EXPECT_THAT(*puppet_.diary, SizeIs(odd.size()));
  EXPECT_THAT(spans_["a"].all(), IsEmpty());
  // With all flags, and with the last hop, it counts; but the trace is carried no further.
  proto::Envelope last = NoteEnvelope();
  last.mutable_message()->mutable_trace()->set_flags(UINT32_MAX);
  last.mutable_message()->mutable_trace()->set_hops(limits::kTraceHopsMax);
  Say(last);
  EXPECT_THAT(spans_["a"].all(), SizeIs(2));
}

TEST_F(TraceVisitorTest, BytesThatAreNoTraceEndTheSessionLikeAnyBadFrame) {
  Visit(kFeatureTraces);
  std::string body = NoteEnvelope().SerializeAsString();
  body[body.size() - 31] = '\xff';  // the first tag of the trace, which is last
  Say(body);
  EXPECT_THAT(cluster().peer_events("a"), Contains(HasSubstr("do not parse")));
}

TEST_F(TraceVisitorTest, BeyondTheRateAPeersTracesDoNotCount) {
  constexpr int kMessages = 30;
  Visit(kFeatureTraces);
  FramePacker packer(1, 0);
  const std::string body = NoteEnvelope().SerializeAsString();
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_TRUE(packer.Add(++last_slot_, {.body = body}, i == 0 ? &kNote : nullptr));
  }
  stream_->Write(packer.Encode());
  Run();
  EXPECT_THAT(*puppet_.diary, SizeIs(kMessages));
  EXPECT_THAT(spans_["a"].all(), SizeIs(2 * kForeignPerSecond));
  EXPECT_EQ(cluster().system("a").foreign_traces_refused(), kMessages - kForeignPerSecond);
}

}  // namespace
}  // namespace understudy
