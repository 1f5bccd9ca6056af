// Every form of handler, for tells and calls, and what each form's result does to its message.
#include "understudy/actors/internal/turn/handler.h"

#include <climits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "understudy/actors/actor.h"
#include "understudy/actors/testing/actor_test.h"
#include "understudy/actors/testing/probe.h"

namespace understudy {
namespace {

using ::testing::ElementsAre;

using HandlerTest = ActorTest;
using Text = std::string;
using Box = std::unique_ptr<int>;

// Each mailbox has a handler of another form. A negative number is an error.
class TellForms final : public Actor {
 public:
  Mailbox<"void", int> plain{this};
  Mailbox<"none", int> none{this};
  Mailbox<"noexcept", int> nothrow{this};
  Mailbox<"const", int> constant{this};
  Mailbox<"reference", Text> reference{this};
  Mailbox<"value", Box> value{this};
  Mailbox<"status", int> status{this};
  Mailbox<"behavior", int> behavior{this};
  Mailbox<"either", int> either{this};
  Mailbox<"task", int> task{this};
  Mailbox<"task status", int> task_status{this};
  Mailbox<"task behavior", int> task_behavior{this};
  Mailbox<"task either", int> task_either{this};
  Mailbox<"lambda", int> lambda{this};
  Mailbox<"moves", Box> moves{this};

  explicit TellForms(Channel<Text> out) : out_(out) {}
  StartResult Start() override { return first_; }

 private:
  void Note(const char* what) const { out_.Tell(what); }
  absl::Status Check(int n) const { return n < 0 ? absl::InvalidArgumentError("negative") : absl::OkStatus(); }

  void Plain(int) { Note("plain"); }
  void None() { Note("none"); }
  void NoThrow(int) noexcept { Note("noexcept"); }
  void Constant(const int&) const { Note("const"); }
  void Reference(const Text& text) { out_.Tell(text); }
  void Value(Box box) { out_.Tell(std::to_string(*box)); }
  absl::Status Status(int n) {
    Note("status");
    return Check(n);
  }
  Behavior Become1(int) { return second_; }
  absl::StatusOr<Behavior> Either(int n) {
    if (n < 0) return Check(n);
    return second_;
  }
  Task<> Later(int) {
    Note("task");
    co_return;
  }
  Task<absl::Status> LaterStatus(int n) { co_return Check(n); }
  Task<Behavior> LaterBehavior(int) { co_return second_; }
  Task<absl::StatusOr<Behavior>> LaterEither(int n) {
    if (n < 0) co_return Check(n);
    co_return second_;
  }

  Channel<Text> out_;
  std::unique_ptr<int> owned_ = std::make_unique<int>(40);
  Behavior first_{"first",
                  On(plain, &TellForms::Plain),
                  On(none, &TellForms::None),
                  On(nothrow, &TellForms::NoThrow),
                  On(constant, &TellForms::Constant),
                  On(reference, &TellForms::Reference),
                  On(value, &TellForms::Value),
                  On(status, &TellForms::Status),
                  On(behavior, &TellForms::Become1),
                  On(either, &TellForms::Either),
                  On(task, &TellForms::Later),
                  On(task_status, &TellForms::LaterStatus),
                  On(task_behavior, &TellForms::LaterBehavior),
                  On(task_either, &TellForms::LaterEither),
                  On(lambda, [this, held = std::make_unique<int>(2)](int n) { out_.Tell(std::to_string(n + *held)); }),
                  On(moves, [this](Box box) { out_.Tell(std::to_string(*box)); })};
  Behavior second_{"second", On(plain, [this](int) {
                     Note("second");
                     Become(first_);
                   })};
};

class TellFormsTest : public ActorTest {
 protected:
  template <class M, class Box>
  void Send(M mailbox, Box message) {
    EXPECT_TRUE(forms_[mailbox].Send(std::move(message)).ok());
  }
  // The behaviour that the last message led to, which it leaves again.
  std::string Current() {
    Send(&TellForms::plain, 1);
    return out_.Receive().value_or("nothing");
  }

  Probe<Text> out_{system()};
  Ref<TellForms> forms_ = system().Spawn<TellForms>(out_.channel());
};

TEST_F(TellFormsTest, TheMessageComesByValueOrByReferenceOrNotAtAll) {
  Send(&TellForms::plain, 1);
  Send(&TellForms::none, 1);
  Send(&TellForms::nothrow, 1);
  Send(&TellForms::constant, 1);
  Send(&TellForms::reference, Text("text"));
  Send(&TellForms::value, std::make_unique<int>(7));
  Send(&TellForms::lambda, 1);
  Send(&TellForms::moves, std::make_unique<int>(8));
  Send(&TellForms::task, 1);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("plain", "none", "noexcept", "const", "text", "7", "3", "8", "task"));
}

TEST_F(TellFormsTest, AStatusThatIsNotOkRejectsTheTellAndLeavesTheActor) {
  // semantics 3.1
  Send(&TellForms::status, 1);
  EXPECT_EQ((system().RunUntilIdle(), Ledger().of(Disposition::kRejected)), 0);
  Send(&TellForms::status, -1);
  Send(&TellForms::task_status, -1);
  Send(&TellForms::either, -1);
  Send(&TellForms::task_either, -1);
  EXPECT_THAT(out_.ReceiveAll(), ElementsAre("status", "status"));
  EXPECT_EQ(Ledger().of(Disposition::kRejected), 4);
  EXPECT_EQ(Current(), "plain");
}

TEST_F(TellFormsTest, ABehaviourThatIsReturnedIsEntered) {
  Send(&TellForms::behavior, 1);
  EXPECT_EQ(Current(), "second");
  Send(&TellForms::either, 1);
  EXPECT_EQ(Current(), "second");
  Send(&TellForms::task_behavior, 1);
  EXPECT_EQ(Current(), "second");
  Send(&TellForms::task_either, 1);
  EXPECT_EQ(Current(), "second");
  EXPECT_EQ(Current(), "plain");
}

struct Shape {
  int corners = 0;
};
struct Square : Shape {
  Square() : Shape{4} {}
};

class Converted final : public Actor {
 public:
  Mailbox<"flag", bool> flag{this};
  Mailbox<"text", Text> text{this};
  Mailbox<"shape", Shape> shape{this};
  explicit Converted(Channel<Text> out) : out_(out) {}
  StartResult Start() override { return taking_; }

 private:
  Channel<Text> out_;
  Behavior taking_{"taking", On(flag, [this](bool is_set) { out_.Tell(is_set ? "set" : "not set"); }),
                   On(text, [this](const Text& got) { out_.Tell(got); }),
                   On(shape, [this](const Shape& got) { out_.Tell(std::to_string(got.corners)); })};
};

TEST_F(HandlerTest, WhatConvertsToTheMessageWithoutACastMayBeSent) {
  Probe<Text> out(system());
  Ref<Converted> converted = system().Spawn<Converted>(out.channel());
  converted[&Converted::flag].Tell(2);
  converted[&Converted::text].Tell("literal");
  converted[&Converted::shape].Tell(Square());
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("set", "literal", "4"));
}

struct Answered {
  int value = 0;
};

// Negative numbers are errors, and INT_MIN fails the actor.
class CallForms final : public Actor {
 public:
  using Form = Call<int, Answered>;
  Mailbox<"reply", Form> reply{this};
  Mailbox<"either", Form> either{this};
  Mailbox<"task", Form> task{this};
  Mailbox<"task either", Form> task_either{this};
  Mailbox<"replier", Form> replier{this};
  Mailbox<"replier status", Form> replier_status{this};
  Mailbox<"replier task", Form> replier_task{this};
  Mailbox<"lambda", Form> lambda{this};
  Mailbox<"box", Call<Box, Box>> box{this};
  StartResult Start() override { return answering_; }

 private:
  absl::StatusOr<Answered> Check(int n) {
    if (n == INT_MIN) return Fail(absl::DataLossError("gone"));
    if (n < 0) return absl::OutOfRangeError("negative");
    return Answered{n};
  }
  Answered Reply(int n) { return {n}; }
  absl::StatusOr<Answered> Either(const int& n) { return Check(n); }
  Task<Answered> Later(int n) { co_return Answered{n}; }
  Task<absl::StatusOr<Answered>> LaterEither(const int& n) { co_return Check(n); }
  void With(int n, Replier<Answered> right) {
    absl::StatusOr<Answered> answer = Check(n);
    if (n != INT_MIN) right.Reply(std::move(answer));
  }
  // An error without an answer: the status is the answer.
  absl::Status WithStatus(int n, Replier<Answered> right) {
    absl::StatusOr<Answered> answer = Check(n);
    if (!answer.ok()) return answer.status();
    right.Reply(*answer);
    return absl::OkStatus();
  }
  Task<absl::Status> WithTask(int n, Replier<Answered> right) {
    absl::StatusOr<Answered> answer = Check(n);
    if (!answer.ok()) co_return answer.status();
    right.Reply(*answer);
    co_return absl::OkStatus();
  }
  Box Return(Box sent) { return sent; }

  Behavior answering_{"answering",
                      On(reply, &CallForms::Reply),
                      On(either, &CallForms::Either),
                      On(task, &CallForms::Later),
                      On(task_either, &CallForms::LaterEither),
                      On(replier, &CallForms::With),
                      On(replier_status, &CallForms::WithStatus),
                      On(replier_task, &CallForms::WithTask),
                      On(lambda, [this](int n) { return Check(n); }),
                      On(box, &CallForms::Return)};
};

class CallFormsTest : public ActorTest {
 protected:
  std::vector<Channel<CallForms::Form>> All(Ref<CallForms> ref) {
    std::vector<Channel<CallForms::Form>> all = Fallible(ref);
    all.push_back(ref[&CallForms::reply]);
    all.push_back(ref[&CallForms::task]);
    return all;
  }
  std::vector<Channel<CallForms::Form>> Fallible(Ref<CallForms> ref) {
    return {ref[&CallForms::either],         ref[&CallForms::task_either],  ref[&CallForms::replier],
            ref[&CallForms::replier_status], ref[&CallForms::replier_task], ref[&CallForms::lambda]};
  }
};

TEST_F(CallFormsTest, EachFormAnswers) {
  Ref<CallForms> ref = system().Spawn<CallForms>();
  for (const auto& channel : All(ref)) {
    absl::StatusOr<Answered> answer = Ask(channel, 7);
    ASSERT_TRUE(answer.ok()) << channel << answer.status();
    EXPECT_EQ(answer->value, 7);
  }
  EXPECT_EQ(**Ask(ref[&CallForms::box], std::make_unique<int>(9)), 9);
  EXPECT_EQ(Ledger().of(Disposition::kHandled), 9);
}

TEST_F(CallFormsTest, AStatusThatIsNotOkIsTheAnswer) {
  // semantics 3.1
  Ref<CallForms> ref = system().Spawn<CallForms>();
  for (const auto& channel : Fallible(ref)) {
    EXPECT_EQ(Ask(channel, -1).status(), absl::OutOfRangeError("negative")) << channel;
  }
  EXPECT_EQ(Ask(ref[&CallForms::reply], 1)->value, 1) << "and the actor lives";
}

TEST_F(CallFormsTest, FailEndsTheActorAndTheCallGetsTheExitReason) {
  // semantics 3.1
  for (size_t form = 0; form < 6; ++form) {
    Ref<CallForms> ref = system().Spawn<CallForms>();
    const Channel<CallForms::Form> channel = Fallible(ref)[form];
    const absl::Status status = Ask(channel, INT_MIN).status();
    EXPECT_TRUE(IsCalleeExited(status)) << channel << status;
    EXPECT_EQ(ExitReasonOf(status), ExitReason::Failed(absl::DataLossError("gone"))) << channel;
    EXPECT_TRUE(IsNoProcess(Ask(channel, 1).status()));
  }
  EXPECT_EQ(Ledger().of(Disposition::kFailed), 6);
}

TEST_F(CallFormsTest, AFailureWithAnOkStatusIsOneAllTheSame) {
  class Confused final : public Actor {
   public:
    Mailbox<"ask", Call<int, int>> ask{this};
    StartResult Start() override { return open_; }

   private:
    absl::StatusOr<int> Answer(int) { return Fail(absl::OkStatus()); }
    Behavior open_{"open", On(ask, &Confused::Answer)};
  };
  const absl::Status status = Ask(system().Spawn<Confused>()[&Confused::ask], 1).status();
  EXPECT_EQ(ExitReasonOf(status), ExitReason::Failed(absl::InternalError("failed with an OK status"))) << status;
}

// Ends itself in different ways, in the middle of a handler.
class Ender final : public Actor {
 public:
  Mailbox<"end", Call<std::string, int>> end{this};
  explicit Ender(Channel<Text> out) : out_(out) {}
  StartResult Start() override { return ending_; }
  void OnExit(const ExitReason& reason) override { out_.Tell(reason.ToString()); }

 private:
  absl::StatusOr<int> End(const std::string& how) {
    if (how == "stop, then fail") {
      context().Stop();
      return Fail(absl::InternalError("second"));
    }
    if (how == "fail, then go on") {
      (void)Fail(absl::InternalError("first"));
      out_.Tell("goes on");
      return 7;
    }
    if (how == "stop") {
      context().Stop(ExitReason::Shutdown());
      out_.Tell("goes on");
      return 7;
    }
#if defined(__cpp_exceptions)
    if (how == "throw") throw std::logic_error("oops");
    if (how == "throw an int") throw 5;
    if (how == "throw a status") throw absl::InternalError("x");
    if (how == "throw a string") throw std::string("text");
    if (how == "throw a literal") throw "literal";
#endif
    return 0;
  }
  Channel<Text> out_;
  Behavior ending_{"ending", On(end, &Ender::End)};
};

TEST_F(HandlerTest, ExitsTakeEffectWhenTheHandlerReturnsAndTheFirstWins) {
  // semantics 3.2
  Probe<Text> out(system());
  const auto end = [&](const char* how) {
    Ref<Ender> ender = system().Spawn<Ender>(out.channel());
    return Ask(ender[&Ender::end], Text(how));
  };
  EXPECT_EQ(end("stop").value_or(-1), 7) << "the answer of a handler that stops its actor counts";
  EXPECT_TRUE(IsCalleeExited(end("fail, then go on").status()));
  EXPECT_EQ(*ExitReasonOf(end("stop, then fail").status()), ExitReason::Normal());
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("goes on", "Shutdown", "goes on", "Failed(INTERNAL: first)", "Normal"));
}

#if defined(__cpp_exceptions)
TEST_F(HandlerTest, AnExceptionIsTheExitReason) {
  Probe<Text> out(system());
  Ref<Ender> one = system().Spawn<Ender>(out.channel());
  EXPECT_EQ(*ExitReasonOf(Ask(one[&Ender::end], Text("throw")).status()),
            ExitReason::Exception("std::logic_error", "oops"));
  Ref<Ender> other = system().Spawn<Ender>(out.channel());
  EXPECT_EQ(*ExitReasonOf(Ask(other[&Ender::end], Text("throw an int")).status()), ExitReason::Exception("int", ""));
}

TEST_F(HandlerTest, AnExceptionThatIsAStatusOrAStringKeepsItsText) {
  Probe<Text> out(system());
  const auto thrown = [&](const char* how) {
    Ref<Ender> ender = system().Spawn<Ender>(out.channel());
    return std::string(ExitReasonOf(Ask(ender[&Ender::end], Text(how)).status())->detail());
  };
  EXPECT_EQ(thrown("throw a status"), "INTERNAL: x");
  EXPECT_EQ(thrown("throw a string"), "text");
  EXPECT_EQ(thrown("throw a literal"), "literal");
}
#endif

// The message and its behaviour live until a handler that awaits has ended,
// even when it became another, and its clause was the only owner of a lambda.
class Keeper final : public Actor {
 public:
  Mailbox<"go", Text> go{this};
  Keeper(Channel<Text> out, Channel<Call<int, int>> oracle) : out_(out), oracle_(oracle) {}
  StartResult Start() override { return Make("made"); }

 private:
  Behavior Make(Text name) {
    return Behavior(name, On(go, [this, name](const Text& text) -> Task<> {
                      auto asked = oracle_.Ask(1, absl::Seconds(1));
                      Become(last_);
                      (void)co_await asked;
                      out_.Tell(name + " " + text);
                    }));
  }
  void Last(const Text& text) { out_.Tell("last " + text); }
  Channel<Text> out_;
  Channel<Call<int, int>> oracle_;
  Behavior last_{"last", On(go, &Keeper::Last)};
};

TEST_F(HandlerTest, MessageAndBehaviourLiveUntilTheHandlerHasEnded) {
  // semantics 3.6
  Probe<Text> out(system());
  Probe<Call<int, int>> oracle(system());
  Ref<Keeper> keeper = system().Spawn<Keeper>(out.channel(), oracle.channel());
  keeper[&Keeper::go].Tell(Text(100, 'a'));
  keeper[&Keeper::go].Tell("b");
  auto asked = oracle.Receive();
  out.ExpectNothing();  // the actor is held
  asked->replier.Reply(1);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("made " + Text(100, 'a'), "last b"));
}

// Two handlers that await at once.
class Weaver final : public Actor {
 public:
  Mailbox<"slow", int> slow{this};
  Mailbox<"quick", int> quick{this};
  Weaver(Channel<Text> out, Channel<Call<int, int>> oracle) : out_(out), oracle_(oracle) {}
  StartResult Start() override { return weaving_; }

 private:
  Task<> Slow(int n) {
    auto asked = oracle_.Ask(n, absl::Seconds(1));
    absl::StatusOr<int> answer = co_await asked;
    out_.Tell("slow " + std::to_string(*answer));
  }
  void Quick(int n) { out_.Tell("quick " + std::to_string(n)); }
  Channel<Text> out_;
  Channel<Call<int, int>> oracle_;
  Behavior weaving_{"weaving", On(slow, &Weaver::Slow).Interleaved(), On(quick, &Weaver::Quick)};
};

TEST_F(HandlerTest, AnInterleavedHandlerHoldsNobodyWhileItAwaits) {
  // semantics 3.5
  Probe<Text> out(system());
  Probe<Call<int, int>> oracle(system());
  Ref<Weaver> weaver = system().Spawn<Weaver>(out.channel(), oracle.channel());
  weaver[&Weaver::slow].Tell(1);
  weaver[&Weaver::slow].Tell(2);
  weaver[&Weaver::quick].Tell(3);
  auto first = oracle.Receive();
  auto second = oracle.Receive();
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(Ledger().waiting, 2) << "two tells are in hand";
  EXPECT_TRUE(Ledger().balances()) << Ledger().ToString();
  second->replier.Reply(20);
  first->replier.Reply(10);
  EXPECT_THAT(out.ReceiveAll(), ElementsAre("quick 3", "slow 20", "slow 10"));
}

}  // namespace
}  // namespace understudy
