// Traces through actors: which messages belong to one, and which spans it has (docs/spec/actors/traces.md).
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/limits.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/kept_spans.h"
#include "understudy/actors/trace.h"
#include "understudy/actors/trace_scope.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Oracle = Call<int, int>;

// Runs functions of a test: in a plain handler, in a coroutine, or as the answer to a call.
class Performer final : public Actor {
 public:
  using Act = std::function<void(Performer&)>;
  using Play = std::function<Task<>(Performer&)>;
  Mailbox<"act", Act> act{this};
  Mailbox<"play", Play> play{this};
  Mailbox<"note", int> note{this};
  Mailbox<"second", int> second{this};
  Mailbox<"small", std::string> small{this, {.capacity_messages = 1}};
  Mailbox<"ask", Oracle> ask{this};

  using Actor::context;
  using Actor::Fail;
  void Change() { Become(changed_); }
  StartResult Start() override { return performing_; }

  std::function<void(Performer&, int)> on_note;
  std::vector<int> notes;

 private:
  void DoAct(const Act& what) { what(*this); }
  Task<> DoPlay(const Play& what) {
    auto done = what(*this);
    co_await done;
  }
  void DoNote(const int& value) {
    notes.push_back(value);
    if (on_note) on_note(*this, value);
  }
  void DoSecond(int value) { notes.push_back(-value); }
  void DoSmall(const std::string&) {}
  Task<absl::StatusOr<int>> DoAsk(int question) {
    auto pause = context().Sleep(absl::Seconds(question));
    (void)co_await pause;
    if (question > 10) co_return absl::DataLossError("too large");
    co_return question + 1;
  }
  Behavior performing_{"performing",
                       On(act, &Performer::DoAct),
                       On(play, &Performer::DoPlay).Interleaved(),
                       On(note, &Performer::DoNote),
                       On(second, &Performer::DoSecond),
                       On(small, &Performer::DoSmall),
                       On(ask, &Performer::DoAsk).Interleaved()};
  Behavior changed_{"changed", On(act, &Performer::DoAct), On(note, &Performer::DoNote)};
};

absl::string_view KindName(SpanKind kind) {
  switch (kind) {
    case SpanKind::kSend:
      return "send";
    case SpanKind::kCall:
      return "call";
    case SpanKind::kWait:
      return "wait";
    case SpanKind::kHandle:
      return "handle";
    case SpanKind::kWork:
      return "work";
    case SpanKind::kServe:
      return "serve";
  }
  return "?";
}

class ActorTracingTest : public ActorTest {
 protected:
  ActorTracingTest() { system().TraceTo(spans_); }

  void Act(Ref<Performer> performer, Performer::Act act) {
    performer[&Performer::act].Tell(std::move(act));
    system().RunUntilIdle();
  }
  // Each span as "kind<kind of its parent", sorted.
  std::vector<std::string> Tree() {
    const std::vector<Span> all = spans_.all();
    std::vector<std::string> texts;
    for (const Span& span : all) {
      const auto parent = std::find_if(all.begin(), all.end(), [&](const Span& other) {
        return other.trace == span.trace && other.id == span.parent;
      });
      texts.push_back(absl::StrCat(KindName(span.kind), "<", parent == all.end() ? "" : KindName(parent->kind)));
    }
    std::sort(texts.begin(), texts.end());
    return texts;
  }
  Span Only(SpanKind kind) {
    Span found;
    int count = 0;
    for (const Span& span : spans_.all()) {
      if (span.kind != kind) continue;
      found = span;
      ++count;
    }
    EXPECT_EQ(count, 1) << KindName(kind);
    return found;
  }
  int TracesOf(const std::vector<Span>& spans) {
    std::vector<uint64_t> traces;
    for (const Span& span : spans) traces.push_back(span.trace.low);
    std::sort(traces.begin(), traces.end());
    return static_cast<int>(std::unique(traces.begin(), traces.end()) - traces.begin());
  }

  KeptSpans spans_;
  Ref<Performer> first_ = system().Spawn<Performer>();
  Ref<Performer> other_ = system().Spawn<Performer>();
};

TEST_F(ActorTracingTest, AMessageOfATraceHasSpansForSendWaitAndHandler) {
  Act(first_, [this](Performer& self) {
    EXPECT_TRUE(self.context().StartTrace("work"));
    other_[&Performer::note].Tell(1);
  });
  EXPECT_THAT(Tree(), ElementsAre("handle<send", "send<work", "wait<send", "work<"));
  EXPECT_EQ(TracesOf(spans_.all()), 1);
  EXPECT_EQ(Only(SpanKind::kSend).actor, first_.pid());
  EXPECT_EQ(Only(SpanKind::kHandle).actor, other_.pid());
  EXPECT_EQ(internal::MailboxNames::Find(Only(SpanKind::kHandle).mailbox), "note");
  EXPECT_EQ(Only(SpanKind::kWork).name, "work");
}

TEST_F(ActorTracingTest, WithoutATraceThereAreNoSpans) {
  Act(first_, [this](Performer&) {
    EXPECT_FALSE(CurrentTrace().has_value());
    other_[&Performer::note].Tell(1);
  });
  EXPECT_THAT(spans_.all(), IsEmpty());
}

TEST_F(ActorTracingTest, ATraceGoesOnFromHandlerToHandler) {
  Ref<Performer> third = system().Spawn<Performer>();
  Act(other_, [third](Performer& self) {
    self.on_note = [third](Performer&, int value) { third[&Performer::note].Tell(value); };
  });
  Act(first_, [this](Performer& self) {
    (void)self.context().StartTrace("work");
    other_[&Performer::note].Tell(1);
  });
  EXPECT_THAT(Tree(),
              ElementsAre("handle<send", "handle<send", "send<handle", "send<work", "wait<send", "wait<send", "work<"));
  // The handlers that follow belong to none.
  Act(first_, [this](Performer&) { other_[&Performer::note].Tell(2); });
  EXPECT_THAT(Tree(), SizeIs(7));
}

TEST_F(ActorTracingTest, AHandlerThatAwaitsKeepsItsTraceAndOthersDoNotGetIt) {
  first_[&Performer::play].Tell([this](Performer& self) -> Task<> {
    (void)self.context().StartTrace("work");
    auto asked = other_[&Performer::ask].Ask(3, absl::Seconds(10));
    const absl::StatusOr<int> answer = co_await asked;
    EXPECT_EQ(*answer, 4);
    other_[&Performer::note].Tell(1);
  });
  system().RunUntilIdle();
  Act(first_, [this](Performer&) {
    EXPECT_FALSE(CurrentTrace().has_value());
    other_[&Performer::second].Tell(2);
  });
  system().Advance(absl::Seconds(4));
  EXPECT_THAT(Tree(),
              ElementsAre("call<work", "handle<call", "handle<send", "send<work", "wait<call", "wait<send", "work<"));
  EXPECT_EQ(Only(SpanKind::kWork).end - Only(SpanKind::kWork).begin, absl::Seconds(3));
}

TEST_F(ActorTracingTest, TheSpanOfACallEndsWithItsAnswerAndSoDoesItsHandlers) {
  first_[&Performer::play].Tell([this](Performer& self) -> Task<> {
    (void)self.context().StartTrace("work");
    auto asked = other_[&Performer::ask].Ask(11, absl::Seconds(60));
    (void)co_await asked;
  });
  system().RunUntilIdle();
  system().Advance(absl::Seconds(12));
  const Span call = Only(SpanKind::kCall);
  EXPECT_EQ(call.end - call.begin, absl::Seconds(11));
  EXPECT_EQ(call.status, absl::StatusCode::kDataLoss);
  EXPECT_TRUE(call.is_call);
  const Span handle = Only(SpanKind::kHandle);
  EXPECT_EQ(handle.end - handle.begin, absl::Seconds(11));
  EXPECT_EQ(handle.status, absl::StatusCode::kDataLoss);
  EXPECT_TRUE(handle.is_call);
}

TEST_F(ActorTracingTest, HandlersThatAwaitAtOnceHaveEachItsOwnTrace) {
  for (const int question : {1, 2}) {
    first_[&Performer::play].Tell([this, question](Performer& self) -> Task<> {
      (void)self.context().StartTrace("work");
      const TraceId own = CurrentTrace()->trace;
      auto asked = other_[&Performer::ask].Ask(question, absl::Seconds(60));
      (void)co_await asked;
      EXPECT_EQ(CurrentTrace()->trace, own);
    });
  }
  system().RunUntilIdle();
  system().Advance(absl::Seconds(3));
  EXPECT_EQ(TracesOf(spans_.all()), 2);
  EXPECT_THAT(spans_.all(), SizeIs(8));
}

TEST_F(ActorTracingTest, ARefusedMessageHasASpanThatSaysSo) {
  Act(first_, [](Performer& self) {
    (void)self.context().StartTrace("work");
    EXPECT_FALSE(Channel<int>().Send(1).ok());
    EXPECT_FALSE(Channel<int>(self.context().Self(), 17).Send(1).ok());
  });
  EXPECT_THAT(Tree(), ElementsAre("send<work", "send<work", "work<"));
  EXPECT_NE(spans_.all()[0].status, absl::StatusCode::kOk);
}

TEST_F(ActorTracingTest, AForwardedMessageKeepsItsTrace) {
  Act(other_,
      [](Performer& self) { self.on_note = [](Performer& it, int value) { it.context().Forward(it.second, value); }; });
  Act(first_, [this](Performer& self) {
    (void)self.context().StartTrace("work");
    other_[&Performer::note].Tell(1);
  });
  EXPECT_THAT(Tree(), ElementsAre("handle<handle", "handle<send", "send<work", "wait<handle", "wait<send", "work<"));
}

TEST_F(ActorTracingTest, APostponedMessageIsHandledAgainInItsTrace) {
  Act(other_, [](Performer& self) {
    self.on_note = [](Performer& it, int) {
      if (it.notes.size() == 1) it.context().Postpone();
    };
  });
  Act(first_, [this](Performer& self) {
    (void)self.context().StartTrace("work");
    other_[&Performer::note].Tell(1);
  });
  Act(other_, [](Performer& self) { self.Change(); });
  EXPECT_THAT(Tree(), ElementsAre("handle<send", "handle<send", "send<work", "wait<send", "wait<send", "work<"));
}

TEST_F(ActorTracingTest, ASenderThatWaitsForRoomSendsInItsTrace) {
  first_[&Performer::play].Tell([this](Performer& self) -> Task<> {
    (void)self.context().StartTrace("work");
    for (int i = 0; i < 3; ++i) {
      auto sending = other_[&Performer::small].SendWhenRoom("text", absl::Seconds(1));
      const absl::Status sent = co_await sending;
      EXPECT_TRUE(sent.ok()) << sent;
    }
  });
  system().RunUntilIdle();
  EXPECT_THAT(Tree(), ElementsAre("handle<send", "handle<send", "handle<send", "send<work", "send<work", "send<work",
                                  "wait<send", "wait<send", "wait<send", "work<"));
}

TEST_F(ActorTracingTest, AMessageBeforeTheStartKeepsItsTrace) {
  Act(first_, [](Performer& self) {
    (void)self.context().StartTrace("work");
    Ref<Performer> born = self.context().Spawn<Performer>();
    born[&Performer::note].Tell(1);
  });
  EXPECT_THAT(Tree(), ElementsAre("handle<send", "send<work", "wait<send", "work<"));
}

TEST_F(ActorTracingTest, MessagesSentAfterEndTraceBelongToNoTrace) {
  Act(first_, [this](Performer& self) {
    (void)self.context().StartTrace("work");
    self.context().EndTrace();
    EXPECT_FALSE(CurrentTrace().has_value());
    other_[&Performer::note].Tell(1);
    self.context().EndTrace();
  });
  EXPECT_THAT(Tree(), ElementsAre("work<"));
}

TEST_F(ActorTracingTest, StartTraceInATraceChangesNothing) {
  Act(first_, [](Performer& self) {
    EXPECT_TRUE(self.context().StartTrace("work"));
    const TraceContext before = *CurrentTrace();
    EXPECT_TRUE(self.context().StartTrace("other"));
    EXPECT_EQ(*CurrentTrace(), before);
  });
  EXPECT_THAT(Tree(), ElementsAre("work<"));
}

TEST_F(ActorTracingTest, ATimerBelongsToNoTrace) {
  Act(first_, [this](Performer& self) {
    (void)self.context().StartTrace("work");
    EXPECT_TRUE(self.context()
                    .StartTimer("later", absl::Seconds(1),
                                [this](const TimerEvent&) {
                                  EXPECT_FALSE(CurrentTrace().has_value());
                                  other_[&Performer::note].Tell(1);
                                })
                    .ok());
  });
  system().Advance(absl::Seconds(2));
  EXPECT_THAT(Tree(), ElementsAre("work<"));
}

TEST_F(ActorTracingTest, TwoActorsThatAlwaysAnswerEndTheirTraceAtTheBound) {
  static constexpr int kRounds = 200;
  const auto answer = [this](Ref<Performer> from, Ref<Performer> to) {
    Act(from, [to](Performer& self) {
      self.on_note = [to](Performer&, int left) {
        if (left > 0) to[&Performer::note].Tell(left - 1);
      };
    });
  };
  answer(first_, other_);
  answer(other_, first_);
  Act(first_, [this](Performer& self) {
    (void)self.context().StartTrace("work");
    other_[&Performer::note].Tell(kRounds);
  });
  const std::vector<Span> spans = spans_.all();
  EXPECT_EQ(std::count_if(spans.begin(), spans.end(), [](const Span& span) { return span.kind == SpanKind::kHandle; }),
            limits::kTraceHopsMax);
}

TEST_F(ActorTracingTest, AHandlerThatFailsHasASpanThatSaysSo) {
  Ref<Performer> doomed = system().Spawn<Performer>();
  Act(first_, [doomed](Performer& self) {
    (void)self.context().StartTrace("work");
    doomed[&Performer::act].Tell([](Performer& it) { (void)it.Fail(absl::DataLossError("gone")); });
  });
  EXPECT_EQ(Only(SpanKind::kHandle).status, absl::StatusCode::kAborted);
}

TEST_F(ActorTracingTest, ASuspendedHandlerOfAnActorThatEndsHasASpan) {
  Ref<Performer> doomed = system().Spawn<Performer>();
  doomed[&Performer::play].Tell([this](Performer& self) -> Task<> {
    (void)self.context().StartTrace("work");
    auto asked = other_[&Performer::ask].Ask(5, absl::Seconds(60));
    (void)co_await asked;
  });
  system().RunUntilIdle();
  system().Kill(doomed.pid());
  system().RunUntilIdle();
  EXPECT_EQ(Only(SpanKind::kCall).status, absl::StatusCode::kCancelled);
  (void)Only(SpanKind::kWork);
}

TEST_F(ActorTracingTest, APlainThreadBeginsATrace) {
  {
    TraceScope scope(system(), "request");
    EXPECT_TRUE(scope.is_sampled());
    EXPECT_EQ(*CurrentTrace(), scope.context());
    other_[&Performer::note].Tell(1);
    EXPECT_EQ(*Ask(other_[&Performer::ask], 1, absl::Seconds(5)), 2);
    TraceScope inner(system(), "part");
    EXPECT_EQ(inner.context().trace, scope.context().trace);
  }
  EXPECT_FALSE(CurrentTrace().has_value());
  EXPECT_THAT(Tree(), ElementsAre("call<work", "handle<call", "handle<send", "send<work", "wait<call", "wait<send",
                                  "work<", "work<work"));
}

TEST_F(ActorTracingTest, APlainThreadContinuesTheTraceOfItsCaller) {
  const TraceContext caller = *TraceContext::FromTraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
  {
    TraceScope scope(system(), "request", caller);
    other_[&Performer::note].Tell(1);
    system().RunUntilIdle();
  }
  EXPECT_EQ(Only(SpanKind::kWork).parent, caller.span);
  for (const Span& span : spans_.all()) EXPECT_EQ(span.trace, caller.trace);
  TraceContext unsampled = caller;
  unsampled.is_sampled = false;
  TraceScope scope(system(), "request", unsampled);
  EXPECT_FALSE(scope.is_sampled());
}

TEST(NoTracingTest, ASystemWithoutItBeginsNoTrace) {
  TestSystem system;
  Ref<Performer> performer = system.Spawn<Performer>();
  performer[&Performer::act].Tell([](Performer& self) { EXPECT_FALSE(self.context().StartTrace("work")); });
  system.RunUntilIdle();
  TraceScope scope(system, "request");
  EXPECT_FALSE(scope.is_sampled());
}

// A traced message's block is larger, an untraced one's is not.
TEST(TracedEnvelopeTest, OnlyATracedMessageIsLonger) {
  const internal::MessageType& type = internal::TypeOf<int>();
  internal::Envelope* const plain =
      internal::Envelope::Make(internal::EnvelopeKind::kMessage, type, /*has_call_part=*/false);
  EXPECT_EQ(plain->units, 1);
  internal::Envelope::Delete(plain);
  const TraceContext context{.trace = {.high = 1, .low = 2}, .span = 3, .hops = 4};
  internal::Envelope* const traced = internal::Envelope::MakeTraced(type, {.context = context, .accepted = {}});
  EXPECT_EQ(traced->units, 2);
  new (traced->value()) int(5);
  EXPECT_EQ(traced->trace().context, context);
  internal::Envelope::Delete(traced);
}

}  // namespace
}  // namespace understudy
